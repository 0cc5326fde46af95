"""The pages of the project."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls), path("queues/", include("duerow.contrib.django.urls"))]
