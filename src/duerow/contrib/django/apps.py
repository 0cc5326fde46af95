"""The app `duerow.contrib.django`."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks
from django.utils.module_loading import autodiscover_modules


class DuerowConfig(AppConfig):
    """Checks the setting DUEROW, and finds the queues that the project's apps declare."""

    name = "duerow.contrib.django"
    label = "duerow"
    verbose_name = "Queues"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the checks."""
        from duerow.contrib.django.checks import check_database, check_settings, check_tasks

        checks.register(check_settings, "duerow")
        checks.register(check_tasks, "duerow")
        checks.register(check_database, checks.Tags.database)

    @staticmethod
    def discover() -> None:
        """Import the modules `queues` and `tasks` of all apps, where handlers are declared."""
        autodiscover_modules("queues", "tasks")
