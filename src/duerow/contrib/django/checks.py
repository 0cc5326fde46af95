"""What `manage.py check` finds of queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from django.db import connections

from duerow.contrib.django.conf import django_settings
from duerow.contrib.django.connections import family_of
from duerow.contrib.django.database import database
from duerow.contrib.django.database_urls import url_of
from duerow.errors import ConfigurationError, DuerowError, SchemaNewer, SchemaOutdated


def check_settings(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Check what the project says in DUEROW, without connecting to anything."""
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
        # A warning: manage.py migrate makes this check too, and goes no further after an error.
        return [Warning(str(error), hint="Run manage.py migrate.", id="duerow.W002")]
    except SchemaNewer as error:
        return [Error(str(error), hint="Upgrade duerow here too.", id="duerow.E003")]
    except DuerowError as error:
        return [Error(str(error), id="duerow.E004")]
    return []
