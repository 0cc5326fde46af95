"""The page of queues in Django's admin."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import admin
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse

from duerow.contrib.django.conf import django_settings
from duerow.contrib.django.database import database
from duerow.contrib.django.models import QueueSummary
from duerow.contrib.django.viewers import role_of
from duerow.errors import DuerowError

COLUMNS: Final = ("ready", "delayed", "leased", "dead")
MOST: Final = 100
"""The maximum number of queues that the page shows; it reads the statistics of each."""


def dashboard_path() -> str | None:
    """Return the path of the dashboard; None: the project has none."""
    try:
        return reverse("duerow:dashboard")
    except NoReverseMatch:
        return django_settings().dashboard


@admin.register(QueueSummary)
class QueueSummaryAdmin(admin.ModelAdmin):
    """Lists the queues with their numbers of messages, and links to the dashboard."""

    def has_view_permission(self, request: Any, obj: Any = None) -> bool:
        """Return whether the user may view or operate queues."""
        return role_of(request.user) is not None

    def has_module_permission(self, request: Any) -> bool:
        """Return whether the admin's first page lists the queues."""
        return role_of(request.user) is not None

    def has_add_permission(self, request: Any) -> bool:
        """Return False: a queue is created by its first message."""
        return False

    def has_change_permission(self, request: Any, obj: Any = None) -> bool:
        """Return False: messages are changed on the dashboard."""
        return False

    def has_delete_permission(self, request: Any, obj: Any = None) -> bool:
        """Return False: messages are removed on the dashboard."""
        return False

    def changelist_view(self, request: Any, extra_context: Any = None) -> TemplateResponse:
        """Show the queues."""
        if not self.has_view_permission(request):
            return self.admin_site.login(request) if not request.user.is_authenticated else self._denied()
        queues = database()
        link = dashboard_path()
        try:
            names = queues.known_queues()
            rows = [self._row(name, queues.queue(name).stats(), link) for name in names[:MOST]]
            problem = ""
        except DuerowError as error:
            names, rows, problem = [], [], str(error)
        context = {
            **self.admin_site.each_context(request),
            "title": "Queues",
            "columns": COLUMNS,
            "rows": rows,
            "more": len(names) - len(rows),
            "dashboard": link,
            "problem": problem,
            "opts": self.model._meta,
        }
        return TemplateResponse(request, "admin/duerow/queues.html", context)

    @staticmethod
    def _row(name: str, stats: Any, link: str | None) -> dict[str, Any]:
        numbers = [stats.shown(column) for column in COLUMNS]
        address = None if link is None else f"{link.rstrip('/')}/queues/{name}"
        return {"name": name, "numbers": numbers, "oldest": stats.oldest_due_at, "paused": stats.paused, "url": address}

    @staticmethod
    def _denied() -> Any:
        from django.core.exceptions import PermissionDenied

        raise PermissionDenied
