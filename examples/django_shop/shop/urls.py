"""The pages of the shop."""

from django.contrib import admin
from django.urls import include, path
from shop.views import order

urlpatterns = [
    path("orders/", order),
    path("queues/", include("duerow.contrib.django.urls")),
    path("admin/", admin.site.urls),
]
