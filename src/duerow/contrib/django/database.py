"""The queues of a Django project, in its own database and its own transactions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

from django.apps import apps
from django.db import connections
from django.utils.asyncio import async_unsafe

from duerow.contrib.django.conf import DjangoSettings, django_settings
from duerow.contrib.django.connections import DjangoConnections, store_of
from duerow.contrib.django.database_urls import url_of
from duerow.errors import DuerowError, SchemaOutdated, StoreRefused
from duerow.plan import Plan
from duerow.store import Settings
from duerow.sync.database import Database
from duerow.sync.queue import Queue

T = TypeVar("T")
P = TypeVar("P")
"""The declared type of a queue's payloads."""

APP: Final = "duerow.contrib.django"


class DjangoDatabase(Database):
    """The queues in a Django database.

    Inside `transaction.atomic()` of that database, every push, read, change and pop on its queues is part of that
    transaction, on Django's own connection. Outside it, duerow uses its own connections.

    Args:
        alias: the database.
        configured: the project's setting DUEROW.

    Attributes:
        alias: the database.
        prefix: the prefix of its tables' names.
        connections: its connections, duerow's own and Django's.
    """

    connections: DjangoConnections

    def __init__(self, alias: str, configured: DjangoSettings) -> None:
        settings = Settings(
            prefix=configured.prefix, schema=configured.schema, creates=True, read_timeout=configured.read_timeout
        )
        store = store_of(alias, settings)
        super().__init__(store, DjangoConnections(alias, store, settings), None, configured.sealing())
        self.alias, self.prefix = alias, configured.prefix

    @async_unsafe(
        "Queues of duerow.contrib.django block, so in a coroutine call them with sync_to_async, or use those of "
        "duerow.aio.connect(duerow.contrib.django.url())"
    )
    def run(self, plan: Callable[[], Plan[T]], within: Any = None, many: int = 1) -> T:
        """Execute a plan, in Django's open transaction if there is one; see `Executor.run`."""
        within = self._within(within)
        try:
            return super().run(plan, within, many)
        except SchemaOutdated as error:
            raise self._outdated() from error
        except StoreRefused as error:
            if self._lacks_tables(within):
                raise self._outdated() from error
            raise

    def claim(self, plan: Callable[[bool], Plan[T]], within: Any = None, many: int = 1) -> T:
        """Execute a claim, in Django's open transaction if there is one; see `Executor.claim`."""
        return super().claim(plan, self._within(within), many)

    def _lacks_tables(self, within: Any) -> bool:
        """Return whether a statement was refused because tables are missing, if the connection can still be used."""
        try:
            super().run(self.store.schema.check, within)
        except SchemaOutdated:
            return True
        except DuerowError:  # the transaction cannot be used any more, and the first error says why
            return False
        return False

    def _outdated(self) -> SchemaOutdated:
        tables = f"the tables {self.prefix}… in DATABASES[{self.alias!r}] are missing, or older than this duerow"
        if self.alias == django_settings().database:
            first = "" if apps.is_installed(APP) else f"add {APP!r} to INSTALLED_APPS, and "
            return SchemaOutdated(f"{tables}: {first}run manage.py migrate")
        return SchemaOutdated(f"{tables}: call duerow.contrib.django.database({self.alias!r}).migrate()")

    def _within(self, within: Any) -> Any:
        """Return the transaction to use: the one given, or Django's if it is inside `atomic`."""
        if within is not None:
            return within
        connection = connections[self.alias]
        if not connection.in_atomic_block:
            return None
        connection.validate_no_broken_transaction()  # as the ORM does: nothing in it would be committed
        return connection


_OPENED: Final[dict[tuple[str, DjangoSettings], DjangoDatabase]] = {}
_OPENING: Final = threading.Lock()


def _opened(alias: str, configured: DjangoSettings) -> DjangoDatabase:
    with _OPENING:
        if (alias, configured) not in _OPENED:
            _OPENED[alias, configured] = DjangoDatabase(alias, configured)
        return _OPENED[alias, configured]


def database(using: str | None = None) -> DjangoDatabase:
    """Return the queues in a Django database; each call returns the same object.

    It connects only when it is used, so modules may call this at import time.

    Args:
        using: the alias of the database; default: the one that DUEROW names, else `default`.

    Raises:
        ConfigurationError: the setting DUEROW is invalid, or duerow has no store for this database.
    """
    configured = django_settings()
    return _opened(configured.database if using is None else using, configured)


def databases() -> list[DjangoDatabase]:
    """Return the Django databases whose queues have been requested, starting with that of DUEROW."""
    configured, first = django_settings(), database()
    with _OPENING:
        return [first, *(one for (_, said), one in _OPENED.items() if said == configured and one is not first)]


@overload
def queue(name: str, *, using: str | None = ..., payload: type[P], **options: Any) -> Queue[P]: ...
@overload
def queue(name: str, *, using: str | None = ..., **options: Any) -> Queue[Any]: ...
def queue(name: str, *, using: str | None = None, **options: Any) -> Queue[Any]:
    """Return a queue in a Django database; see `duerow.Database.queue`.

    Args:
        name: its name.
        using: the alias of the database; default: the one that DUEROW names, else `default`.
        options: its settings, as `duerow.Database.queue` takes them.
    """
    return database(using).queue(name, **options)


def url(using: str | None = None) -> str:
    """Return the URL of a Django database, as the rest of duerow takes it: `duerow.aio.connect(url())`.

    Args:
        using: the alias of the database; default: the one that DUEROW names, else `default`.

    Raises:
        ConfigurationError: duerow has no store for it, or it is an in-memory database of one connection.
    """
    return url_of(django_settings().database if using is None else using)
