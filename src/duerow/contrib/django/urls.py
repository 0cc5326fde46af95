"""The URLs of the dashboard in a Django project: `path("queues/", include("duerow.contrib.django.urls"))`."""

from __future__ import annotations

from django.urls import path

from duerow.contrib.django.views import dashboard

app_name = "duerow"
urlpatterns = [path("", dashboard, name="dashboard"), path("<path:path>", dashboard, name="page")]
