"""The checks of queues for `manage.py check`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Final

import django
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.db import connections

from duerow.contrib.django.conf import django_settings
from duerow.contrib.django.connections import family_of
from duerow.contrib.django.database import database
from duerow.contrib.django.database_urls import url_of
from duerow.errors import ConfigurationError, DuerowError, SchemaNewer, SchemaOutdated

TASK_BACKEND: Final = "duerow.contrib.django.tasks.DuerowBackend"


def check_settings(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Check the project's setting DUEROW, without connecting to anything."""
    try:
        configured = django_settings()
        family_of(configured.database)
        configured.sealing()
        if connections[configured.database].vendor != "sqlite":
            url_of(configured.database)
    except ConfigurationError as error:
        return [Error(str(error), id="duerow.E001")]
    try:
        url_of(configured.database)
    except ConfigurationError as error:
        return [Warning(str(error), id="duerow.W001")]
    return []


def check_tasks(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that there is a task framework for duerow's backend in TASKS; Django has its own from 6.0 on."""
    if django.VERSION >= (6, 0) or find_spec("django_tasks") is not None:
        return []
    said = getattr(settings, "TASKS", {}).values()
    if not any(isinstance(one, dict) and one.get("BACKEND") == TASK_BACKEND for one in said):
        return []
    what = f"TASKS names {TASK_BACKEND}, but Django {django.get_version()} has no task framework"
    return [Error(what, hint="Run pip install django-tasks, or upgrade to Django 6.0.", id="duerow.E005")]


def check_database(
    app_configs: Any = None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Check that the tables are those of this version; only for `manage.py check --database ALIAS`."""
    try:
        queues = database()
        if queues.alias not in (databases or ()):
            return []
        queues.run(queues.store.schema.check)
    except SchemaOutdated as error:
        # A warning: manage.py migrate runs this check too, and would stop after an error.
        return [Warning(str(error), hint="Run manage.py migrate.", id="duerow.W002")]
    except SchemaNewer as error:
        return [Error(str(error), hint="Upgrade duerow here as well.", id="duerow.E003")]
    except DuerowError as error:
        return [Error(str(error), id="duerow.E004")]
    return []
