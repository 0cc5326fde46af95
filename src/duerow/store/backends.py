"""Find the store for a URL, an engine or a client."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol
from unicodedata import category
from urllib.parse import SplitResult, quote, urlsplit

from duerow.clock import Clock
from duerow.errors import ConfigurationError, shown
from duerow.store.connections import AsyncConnections, Connections
from duerow.store.contract.store import Store

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


READ_TIMEOUT: Final = timedelta(seconds=30)
"""How long a search, a count or any other interactive read may take, unless the call sets a limit."""

_SHORTEST: Final = timedelta(milliseconds=1)
_LONGEST: Final = timedelta(days=24)
"""The range of a read's time limit: databases count it in milliseconds, some of them in 31 bits."""


@dataclass(frozen=True)
class Settings:
    """The settings with which a store is opened.

    Attributes:
        clock: provides the time instead of the database; for tests.
        prefix: the prefix of all table names.
        schema: the database schema that holds the tables; None: the connection's default.
        options: any other options from the URL or the call, for the store's own use.
        creates: whether to create a database that does not exist yet, such as a file.
        read_timeout: how long a read on behalf of people may take on duerow's own connections; None: no limit.
    """

    clock: Clock | None = None
    prefix: str = "duerow_"
    schema: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    creates: bool = True
    read_timeout: timedelta | None = READ_TIMEOUT

    def __post_init__(self) -> None:
        if self.clock is not None and not callable(getattr(self.clock, "now", None)):
            raise ConfigurationError(
                f"clock= must be an object whose now() returns an aware datetime, not {shown(self.clock)}"
            )
        if not isinstance(self.prefix, str):
            raise ConfigurationError(
                f"prefix= must be the text with which all table names begin, not {shown(self.prefix)}"
            )
        if self.schema is not None and not isinstance(self.schema, str):
            raise ConfigurationError(f"schema= must be the name of a database schema, not {shown(self.schema)}")
        check_read_timeout(self.read_timeout)


def check_read_timeout(limit: object) -> None:
    """Raise ConfigurationError unless the limit is None or one that all databases support."""
    if limit is not None and not (isinstance(limit, timedelta) and _SHORTEST <= limit <= _LONGEST):
        raise ConfigurationError(
            f"read_timeout= must be a timedelta of 1 ms to {_LONGEST.days} days, or None for no limit, not "
            f"{shown(limit)}"
        )


@dataclass(frozen=True)
class Naming:
    """How data catalogs name the databases of a family, by the naming rules of OpenLineage.

    Attributes:
        scheme: of a server's name; "file": a database is a file.
        port: the port of a server whose URL has none.
        schema: the schema of a table that is named without one; None: the family has no schemas.
    """

    scheme: str
    port: int | None = None
    schema: str | None = None


class Backend(Protocol):
    """A family of databases, found by the entry point for its URL scheme in the group `duerow.stores`.

    A family that can be opened with its own driver's clients also has a method `takes(target) -> bool`, which returns
    whether something is such a client. A family that data catalogs know has an attribute `naming`.
    """

    def open(self, target: Any, settings: Settings) -> tuple[Store, Connections]:
        """Open a store for blocking calls, given a URL or the user's own engine or client."""
        ...

    def aopen(self, target: Any, settings: Settings) -> tuple[Store, AsyncConnections]:
        """Open a store for async calls, given a URL or the user's own engine or client."""
        ...


def find_backend(target: Any) -> Backend:
    """Return the family of databases for a URL, an engine or a client.

    Raises:
        ConfigurationError: no installed family supports this scheme, or the target is not a URL, an engine or a client.
    """
    if not isinstance(target, str) and not _is_engine(target):
        return _that_takes(target)
    return backend_named(_scheme(target))


def has_backend(scheme: str) -> bool:
    """Return whether a family of databases is installed for URLs with this scheme."""
    return scheme in _installed()


def schemes() -> frozenset[str]:
    """Return the URL schemes for which a family of databases is installed."""
    return frozenset(_installed())


def backend_named(scheme: str) -> Backend:
    """Return the family of databases for URLs with this scheme; raise the same errors as `find_backend`."""
    found = _installed()
    if not has_backend(scheme):
        known = ", ".join(f"{name}://" for name in sorted(found))
        from difflib import get_close_matches

        alike = get_close_matches(scheme, found, n=1)
        meant = f": did you mean {alike[0]}://?" if alike else ""
        raise ConfigurationError(f"no store for {scheme}:// is installed{meant}; the installed stores are {known}")
    try:
        backend: Backend = found[scheme].load()
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{scheme}:// needs the module {error.name}; run pip install 'duerow[{found[scheme].attr}]'"
        ) from error
    return backend


@cache
def _installed() -> dict[str, EntryPoint]:
    """Return the entry points of all stores; cached, because finding them reads the metadata of all packages."""
    from importlib.metadata import entry_points  # imported here: tasks that read Arrow need no store

    return {entry.name: entry for entry in entry_points(group="duerow.stores")}


def _is_engine(target: Any) -> bool:
    """Return whether it is an SQLAlchemy engine, without accessing its attributes: a client may have any attribute."""
    return "dialect" in getattr(target, "__dict__", {}) or hasattr(type(target), "dialect")


def _that_takes(target: Any) -> Backend:
    """Return the family whose driver made this client."""
    for entry in _installed().values():
        with suppress(ModuleNotFoundError):  # without its driver, this cannot be its client
            backend: Backend = entry.load()
            takes = getattr(backend, "takes", None)
            if takes is not None and takes(target):
                return backend
    raise ConfigurationError(
        f"connect() takes a URL, an SQLAlchemy Engine or a client of a store's own driver, not {type(target).__name__}"
    )


def _without_password(target: str) -> str:
    """Return a URL without its password, and without its user, which may be a token."""
    return re.sub(r"[^:/@]*@", "***@", re.sub(r":[^:@]*@", ":***@", target))


def split(url: str) -> SplitResult:
    """Return the parts of a URL.

    Raises:
        ConfigurationError: it cannot be divided into parts.
    """
    try:
        return urlsplit(url)
    except ValueError:  # its text may contain a password
        raise ConfigurationError(
            "the host in this URL cannot be read: an IPv6 address is written in brackets, such as [::1], and brackets "
            "in a user or password as %5B and %5D"
        ) from None


def port_of(url: SplitResult) -> int | None:
    """Return the port of a URL; None: it names none.

    Raises:
        ConfigurationError: the port is not a number from 0 to 65535.
    """
    try:
        return url.port
    except ValueError:  # its text quotes what may be a part of a password
        raise ConfigurationError("the port in this URL is not a number from 0 to 65535") from None


def _check_characters(url: str) -> None:
    """Raise ConfigurationError if a URL has characters that no driver accepts."""
    place, odd = next(((place, one) for place, one in enumerate(url) if category(one) in ("Cc", "Cs")), (0, ""))
    if odd:
        instead = f"; write it as {quote(odd)}" if category(odd) == "Cc" else ""
        raise ConfigurationError(
            f"a URL cannot contain U+{ord(odd):04X}, which is at position {place} of this one{instead}"
        )


def _scheme(target: Any) -> str:
    if isinstance(target, str):
        scheme, colon, _ = target.partition("://")
        if not colon:
            raise ConfigurationError(
                f"{shown(_without_password(target), 200)} is not a URL; write for example sqlite:///app.db or "
                "postgresql://user@host/base"
            )
        _check_characters(target)
        return scheme.partition("+")[0]
    name: str = target.dialect.name
    return name
