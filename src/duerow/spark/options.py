"""The options of Spark's data source: text, which is checked before the database is used.

The URL and the keys of payloads are secrets. They are read where the query is planned and travel inside the pickled
tasks; no plan, setting or representation shows them.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import ConfigurationError, InvalidMessage, NotSupported, StoreUnavailable, shown
from duerow.message import check_moment, check_queue_name, check_span

if TYPE_CHECKING:
    from duerow.payload.encoding import Cipher
    from duerow.sync.database import Database

WAYS: Final = ("url", "urlenv", "urlfile")
"""The options that say where the queues are: the URL itself, or where the driver finds it."""

REACH: Final = frozenset({*WAYS, "keysenv", "keysfile"})
SETTINGS: Final = frozenset({"prefix", "schema", "prepare_threshold", "synchronous", "busy_timeout"})
"""Other text arguments of `duerow.connect`."""

SPARKS: Final = frozenset({"checkpointlocation", "queryname"})
"""Options that Spark itself adds for streams."""

OF_TABLE: Final = "option."
"""Spark's prefix for the options of a table in its catalog."""

DIGITS: Final = 18
"""The most digits of a number, so that every database accepts it as a number of rows."""

SHORTEST: Final = timedelta(milliseconds=1)

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


@dataclass(frozen=True)
class Reach:
    """How to reach the queues, from wherever a task runs.

    Attributes:
        url: the URL of the database.
        settings: further arguments of `connect`.
        keys: the keys of payloads; without keys, encrypted payloads stay encrypted.
        host: the host on which the query was planned.
    """

    url: str = field(repr=False)
    settings: tuple[tuple[str, str], ...] = field(repr=False)
    keys: tuple[str, ...] = field(repr=False)
    host: str

    @property
    def database(self) -> Database:
        """This process's database.

        Raises:
            NotSupported: the database is a file on the host where the query was planned, and this is another host.
        """
        return _database(self)

    @property
    def sealing(self) -> Cipher | None:
        """The cipher; None without keys."""
        if not self.keys:
            return None
        from duerow.encryption import Encryption

        return Encryption(self.keys)

    def open(self) -> Database:
        """Return a new database, which the caller closes."""
        from duerow.sync.database import connect  # a task that reads Arrow needs no store

        settings: dict[str, Any] = {"read_timeout": None, **dict(self.settings)}  # no one waits at a screen for a job
        database = connect(self.url, encryption=self.sealing, **settings)
        capabilities = database.store.capabilities
        here = socket.gethostname()
        if not capabilities.processes or (not capabilities.hosts and here != self.host):
            database.close()
            raise NotSupported(
                f"these queues are in a file or in the memory of {self.host}, and Spark runs on {here}: use a local[*] "
                "master with a file, or a database server"
            )
        return database

    @contextmanager
    def planning(self) -> Iterator[Database]:
        """Lend a database whose tables were just checked.

        Spark keeps the process that plans queries for a while, so connections to a server are kept for the next query.
        A file is opened again, because a different one may have taken its place.
        """
        database = self._seen_again() or self.open()
        try:
            yield database
        except BaseException:
            database.close()
            raise
        if not database.store.capabilities.hosts:
            database.close()
            return
        _planned[self] = database
        while len(_planned) > KEPT:
            _planned.pop(next(iter(_planned))).close()

    def _seen_again(self) -> Database | None:
        """Return the database of the previous query, if the server still answers."""
        database = _planned.pop(self, None)
        if database is None:
            return None
        try:
            database.run(database.store.schema.check)
        except StoreUnavailable:  # it went away in between; a new connection shows whether it is back
            database.close()
            return None
        except BaseException:
            database.close()
            raise
        return database


KEPT: Final = 4
"""The databases to which a process keeps its connections."""

_planned: Final[dict[Reach, Database]] = {}


@lru_cache(maxsize=KEPT)
def _database(reach: Reach) -> Database:
    """Return this process's database; Spark keeps its Python processes from task to task."""
    return reach.open()


def url_of(given: Mapping[str, str]) -> str:
    """Return the URL of the database, which one of the options in WAYS gives.

    Raises:
        ConfigurationError: not exactly one is given, or what it names does not exist.
    """
    if len(given) != 1:
        raise ConfigurationError(
            "say where the queues are with one of the options url, urlenv (an environment variable of the driver) "
            f"and urlfile (a file on the driver), not with {' and '.join(given) or 'none'}"
        )
    url = (given.get("url") or _secret(given, "urlenv", "urlfile") or "").strip()
    if not url:
        raise ConfigurationError(f"option {next(iter(given))} is empty; it must give a URL")
    return url


def _secret(given: Mapping[str, str], by_variable: str, by_file: str) -> str | None:
    """Return the content of the environment variable or file that an option names; None if neither option is given."""
    if (variable := given.get(by_variable)) is not None:
        if variable not in os.environ:
            raise ConfigurationError(f"option {by_variable}: the driver has no environment variable {variable}")
        return os.environ[variable]
    if (file := given.get(by_file)) is not None:
        try:
            return Path(file).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"option {by_file}: {file} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError:
            raise ConfigurationError(f"option {by_file}: {file} is not text") from None  # its content is secret
    return None


class SourceOptions:
    """The options of a reader or writer.

    Args:
        given: the options as Spark passes them, with names in any case.
        known: the options that this reader or writer accepts, in addition to those that say where the queues are.

    Raises:
        ConfigurationError: an option is unknown.
    """

    def __init__(self, given: Mapping[str, str], known: Collection[str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        if any(name.startswith(OF_TABLE) for name in self._given):
            raise ConfigurationError(
                "Spark's catalog does not pass the options of a table to a source written in Python: use CREATE "
                "TEMPORARY VIEW … USING duerow OPTIONS (…), or spark.read.format('duerow')"
            )
        takes = {*known, *REACH, *SETTINGS}
        if "path" in self._given:
            raise ConfigurationError(
                f"duerow has no files, so load() and save() take no path; got {shown(self._given['path'])}: "
                "give options, such as url and queue"
            )
        if unknown := sorted(set(self._given) - takes - SPARKS):
            raise ConfigurationError(
                f"there is no option {', '.join(unknown)} here; the options are {', '.join(sorted(takes))}"
            )

    def reach(self) -> Reach:
        """Return how to reach the queues.

        Raises:
            ConfigurationError: not exactly one of url, urlenv and urlfile is given, or what it names does not exist.
        """
        url = url_of({name: self._given[name] for name in WAYS if name in self._given})
        settings = tuple(sorted((name, self._given[name]) for name in SETTINGS & self._given.keys()))
        return Reach(url, settings, self._keys(), socket.gethostname())

    def _keys(self) -> tuple[str, ...]:
        """Return the keys of payloads; none if no option asks for them, because then payloads are in clear text."""
        ways = [name for name in ("keysenv", "keysfile") if name in self._given]
        if len(ways) > 1:
            raise ConfigurationError("give one of the options keysenv and keysfile, not both")
        keys = tuple((_secret(self._given, "keysenv", "keysfile") or "").replace(",", " ").split())
        if ways and not keys:
            raise ConfigurationError(f"option {ways[0]} is empty; give a key, or leave it out for clear text")
        return keys

    def text(self, name: str) -> str | None:
        """Return an option as it is; None if it is not given."""
        return self._given.get(name)

    def one_of(self, name: str, choices: Collection[str]) -> str:
        """Return an option that must be one of these words; default: the first."""
        said = self._given.get(name, next(iter(choices))).lower()
        if said not in choices:
            raise ConfigurationError(f"option {name} must be one of {', '.join(choices)}, not {shown(said)}")
        return said

    def flag(self, name: str) -> bool:
        """Return whether an option is set; default: False."""
        return self.one_of(name, ("false", "true")) == "true"

    def number(self, name: str) -> int | None:
        """Return an option that must be a number above zero; None if it is not given."""
        said = self._given.get(name)
        if said is None:
            return None
        if not said.isascii() or not said.isdigit() or len(said) > DIGITS or int(said) < 1:
            raise ConfigurationError(
                f"option {name} must be a number above zero, of at most {DIGITS} digits, not {shown(said)}"
            )
        return int(said)

    def span(self, name: str, default: timedelta) -> timedelta:
        """Return an option that must be a time span, such as 30s, 10m or 1h."""
        said = self._given.get(name)
        if said is None:
            return default
        if not (found := _SPAN.fullmatch(said.strip().lower())):
            raise ConfigurationError(f"option {name} must be a time span such as 30s, 10m or 1h, not {shown(said)}")
        try:
            span = timedelta(seconds=float(found[1]) * _UNITS[found[2]])
            return check_span(f"option {name}", span, SHORTEST)
        except (OverflowError, InvalidMessage) as error:
            raise ConfigurationError(
                f"option {name} must be a time span from 1ms to 365000d, not {shown(said)}"
            ) from error

    def moment(self, name: str) -> datetime | None:
        """Return an option that must be a time with a zone; None if it is not given."""
        said = self._given.get(name)
        if said is None:
            return None
        try:
            return check_moment(name, datetime.fromisoformat(said))
        except (ValueError, InvalidMessage) as error:
            raise ConfigurationError(
                f"option {name} must be a time such as 2026-03-01T12:00:00Z, not {shown(said)}"
            ) from error

    def names(self, name: str) -> tuple[str, ...] | None:
        """Return an option that must be a list of names separated by commas; None if it is not given."""
        said = self._given.get(name)
        return None if said is None else tuple(part.strip() for part in said.split(",") if part.strip())

    def queues(self) -> tuple[str, ...] | None:
        """Return the named queues; None if the option is not given, which means all queues."""
        names = self.names("queue")
        if names == ():
            raise ConfigurationError("option queue names no queue: leave it out for all, or name one or several")
        return None if names is None else tuple(check_queue_name(name) for name in names)

    def queue(self) -> str | None:
        """Return the named queue; None if none is named."""
        said = self._given.get("queue")
        return None if said is None else check_queue_name(said.strip())
