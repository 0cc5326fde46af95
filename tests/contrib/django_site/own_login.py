"""The pages of the project, with a login at Django's default address."""

from django.http import HttpResponse
from django.urls import path

from tests.contrib.django_site.urls import urlpatterns as ours

urlpatterns = [*ours, path("accounts/login/", lambda request: HttpResponse())]
