"""The server and the database, and the client for them: created from a URL and options, or the user's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pymongo import AsyncMongoClient, MongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.database import Database
from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri

from duerow.errors import ConfigurationError, shown
from duerow.store import Settings
from duerow.store.backends import split

T = TypeVar("T")

TRANSACTIONS: Final = "transactions"
OWN_OPTIONS: Final = frozenset({TRANSACTIONS})

LONGEST_PREFIX: Final = 30
NO_DATABASE: Final = re.compile(r'[/\\. "$*<>:|?\x00]')
"""Characters that a database's name cannot contain."""

PATIENCE: Final = {"serverSelectionTimeoutMS": 5_000}
"""How long to look for a writable server, unless the URL says otherwise; the driver's default is 30 seconds."""

GOODBYE: Final = 0.5
"""The maximum seconds that a closing client spends notifying the server, which may be unreachable."""

BLOCKING: Final = (MongoClient, Database)
AWAITED: Final = (AsyncMongoClient, AsyncDatabase)
"""The types of a user's own objects that the blocking and async APIs accept."""


@dataclass(frozen=True)
class Target:
    """Where messages are stored.

    Attributes:
        url: the URL of the client.
        database: the database's name.
        transactions: whether to use transactions if the server has them.
        options: further options of the client.
        client: the user's own client to use instead; duerow never closes it.
    """

    url: str
    database: str
    transactions: bool
    options: Mapping[str, Any] = field(default_factory=dict)
    client: Any = None

    def place(self, prefix: str) -> Hashable:
        """Return the identity of these collections; the driver treats clients of the same hosts as equal."""
        if self.client is not None:
            return "mongodb", self.client, self.database, prefix
        hosts = urlsplit(self.url).netloc.rpartition("@")[2].lower().split(",")
        return "mongodb", tuple(sorted(hosts)), self.database, prefix

    def client_options(self) -> dict[str, Any]:
        """Return the options of the client, without those in the URL."""
        said = {name.lower() for name, _ in parse_qsl(urlsplit(self.url).query)}
        patience = {name: value for name, value in PATIENCE.items() if name.lower() not in said}
        return {**patience, **self.options, "appname": "duerow", "tz_aware": True}

    def opened(self, made: Callable[..., T]) -> T:
        """Return a new PyMongo client, blocking or async."""
        try:
            return made(self.url, **self.client_options())
        except (PyMongoError, TypeError, ValueError) as error:
            raise ConfigurationError(
                f"MongoDB's client cannot be created from this URL and these options: {error}"
            ) from error


def target_of(target: Any, settings: Settings, clients: tuple[type, ...]) -> Target:
    """Return the target for a URL or the user's client or database, with the options of `connect`.

    Args:
        target: the first argument of `connect`.
        settings: the other arguments.
        clients: the types of the user's objects that this API accepts.

    Raises:
        ConfigurationError: the target is none of these or names no database, or an option is invalid.
    """
    prefix = settings.prefix
    if not prefix.isidentifier() or not prefix.isascii() or len(prefix) > LONGEST_PREFIX:
        raise ConfigurationError(
            f"prefix must be 1 to {LONGEST_PREFIX} ASCII letters, digits and _, not {shown(prefix)}; collection names "
            "begin with it"
        )
    if isinstance(target, str):
        return _of_url(target, settings)
    if not isinstance(target, clients):
        taken = " or ".join(kind.__name__ for kind in clients)
        raise ConfigurationError(
            f"this face opens queues in MongoDB with a URL or with {taken}, not with {type(target).__name__}"
        )
    return _of_client(target, settings)


def _of_client(given: Any, settings: Settings) -> Target:
    """Return the target for a user's own client or database."""
    whole = isinstance(given, MongoClient | AsyncMongoClient)
    client, named = (given, _default_database(given)) if whole else (given.client, given.name)
    options = dict(settings.options)
    own = {name: options.pop(name) for name in OWN_OPTIONS & options.keys()}
    if options:
        raise ConfigurationError(
            f"{', '.join(sorted(options))}: a client of your own already has its options; with it, you can give only "
            "schema=, the name of the database, and transactions="
        )
    for place, concern in (("client", client.write_concern), ("database", given.write_concern)):
        if not concern.acknowledged:
            raise ConfigurationError(
                f"the {place} given has the write concern w=0, so a failed write would go unnoticed: duerow writes "
                "with w=majority, and your own transactions, which it joins, must be acknowledged too"
            )
    return Target("", _checked_name(settings.schema or named), _switch(own), client=client)


def _default_database(client: Any) -> str | None:
    try:
        return str(client.get_default_database().name)
    except PyMongoError:
        return None


def _of_url(target: str, settings: Settings) -> Target:
    url = split(target)
    options = dict(settings.options)
    own = {name: value for name, value in parse_qsl(url.query, keep_blank_values=True) if name in OWN_OPTIONS}
    own |= {name: options.pop(name) for name in OWN_OPTIONS & options.keys()}
    rest = [(name, value) for name, value in parse_qsl(url.query, keep_blank_values=True) if name not in OWN_OPTIONS]
    bare = urlunsplit(url._replace(query=urlencode(rest)))
    try:
        parsed = parse_uri(bare) if url.scheme == "mongodb" else {"database": url.path.strip("/")}
    except (PyMongoError, ValueError, TypeError) as error:
        raise ConfigurationError(f"this URL is not valid: {error}") from error
    return Target(bare, _checked_name(settings.schema or parsed["database"]), _switch(own), options)


def _checked_name(database: str | None) -> str:
    if not database:
        raise ConfigurationError(
            "no database is named: write mongodb://host:27017/DATABASE, or give schema= its name, or connect() a "
            "database of your client"
        )
    if NO_DATABASE.search(database) or len(database.encode()) > 63:
        raise ConfigurationError(f"{shown(database)} cannot be the name of a database of MongoDB")
    return database


def _switch(own: Mapping[str, Any]) -> bool:
    chosen = own.get(TRANSACTIONS, "on")
    if chosen not in ("on", "off"):
        raise ConfigurationError(f"transactions= must be 'on' or 'off', not {shown(chosen)}")
    return bool(chosen == "on")
