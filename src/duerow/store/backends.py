"""How the store for a URL, an engine or a client is found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from duerow.clock import Clock
from duerow.errors import ConfigurationError, shown
from duerow.store.connections import AsyncConnections, Connections
from duerow.store.contract import Store

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


READ_TIMEOUT: Final = timedelta(seconds=30)
"""How long a search, a count or another read for people may take unless the call says otherwise."""

_SHORTEST: Final = timedelta(milliseconds=1)
_LONGEST: Final = timedelta(days=24)
"""Between which a read's limit is: databases count it in milliseconds, of which some hold no more than 31 bits."""


@dataclass(frozen=True)
class Settings:
    """How to open a store.

    Attributes:
        clock: tells the time instead of the database; for tests.
        prefix: what the names of all tables begin with.
        schema: the database schema that holds the tables; None: the connection's default.
        options: whatever else the URL or the call says, for the store's own use.
        creates: whether what does not exist yet, such as a file, may come into being.
        read_timeout: how long a read for people may take on connections of duerow's own; None: as long as it takes.
    """

    clock: Clock | None = None
    prefix: str = "duerow_"
    schema: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    creates: bool = True
    read_timeout: timedelta | None = READ_TIMEOUT

    def __post_init__(self) -> None:
        if self.clock is not None and not callable(getattr(self.clock, "now", None)):
            raise ConfigurationError(f"clock= is an object with now(), an aware datetime, not {self.clock!r:.80}")
        if not isinstance(self.prefix, str):
            raise ConfigurationError(f"prefix= is text that begins the names of all tables, not {self.prefix!r:.80}")
        if self.schema is not None and not isinstance(self.schema, str):
            raise ConfigurationError(f"schema= is the name of a database schema, not {self.schema!r:.80}")
        limit: object = self.read_timeout
        if limit is not None and not (isinstance(limit, timedelta) and _SHORTEST <= limit <= _LONGEST):
            raise ConfigurationError(
                f"read_timeout= is a timedelta of 1 ms to {_LONGEST.days} days, or None: no limit; not {shown(limit)}"
            )


class Backend(Protocol):
    """A family of databases, found by the entry point of its URL scheme in the group `duerow.stores`.

    One that can be opened by clients of a driver of its own has a method `takes(target) -> bool`, too, which tells
    whether something is one of these.
    """

    def open(self, target: Any, settings: Settings) -> tuple[Store, Connections]:
        """Open by URL or by an engine or client of the user's own, for blocking calls."""
        ...

    def aopen(self, target: Any, settings: Settings) -> tuple[Store, AsyncConnections]:
        """Open by URL or by an engine or client of the user's own, for awaited calls."""
        ...


def find_backend(target: Any) -> Backend:
    """Return the family of databases for a URL, an engine or a client.

    Raises:
        ConfigurationError: nothing that is installed knows this scheme, or the target is none of these.
    """
    if not isinstance(target, str) and not _is_engine(target):
        return _that_takes(target)
    return backend_named(_scheme(target))


def has_backend(scheme: str) -> bool:
    """Return whether a family of databases is installed whose URLs begin so."""
    return scheme in _installed()


def schemes() -> frozenset[str]:
    """Return how the URLs begin of which a family of databases is installed."""
    return frozenset(_installed())


def backend_named(scheme: str) -> Backend:
    """Return the family of databases whose URLs begin so; raises as `find_backend`."""
    found = _installed()
    if not has_backend(scheme):
        known = ", ".join(f"{name}://" for name in sorted(found))
        from difflib import get_close_matches

        alike = get_close_matches(scheme, found, n=1)
        meant = f": did you mean {alike[0]}://?" if alike else ""
        raise ConfigurationError(f"no store for {scheme}:// is installed{meant}; known are {known}")
    try:
        backend: Backend = found[scheme].load()
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{scheme}:// needs the module {error.name}: pip install 'duerow[{scheme}]'"
        ) from error
    return backend


@cache
def _installed() -> dict[str, EntryPoint]:
    """Return the entry points of all stores; looked up once, since that reads the whole list of packages."""
    from importlib.metadata import entry_points  # tasks that read as Arrow look for no store

    return {entry.name: entry for entry in entry_points(group="duerow.stores")}


def _is_engine(target: Any) -> bool:
    """Tell whether it is an engine of SQLAlchemy's. Not by asking it: a client may answer to every name."""
    return "dialect" in getattr(target, "__dict__", {}) or hasattr(type(target), "dialect")


def _that_takes(target: Any) -> Backend:
    """Return the family whose driver's client this is."""
    for entry in _installed().values():
        with suppress(ModuleNotFoundError):  # without that driver it is no client of it
            backend: Backend = entry.load()
            takes = getattr(backend, "takes", None)
            if takes is not None and takes(target):
                return backend
    raise ConfigurationError(
        f"connect() takes a URL, an SQLAlchemy Engine or a client of a store's own driver, not {type(target).__name__}"
    )


def _without_password(target: str) -> str:
    return re.sub(r":[^:@]*@", ":***@", target)


def _scheme(target: Any) -> str:
    if isinstance(target, str):
        scheme, colon, _ = target.partition("://")
        if not colon:
            raise ConfigurationError(
                f"{_without_password(target)!r:.200} is no URL; write for example sqlite:///app.db or "
                "postgresql://user@host/base"
            )
        return scheme.partition("+")[0]
    name: str = target.dialect.name
    return name
