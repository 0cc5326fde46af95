"""Which server, which database, and how its client is made: from a URL and options; or which client of the user's."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pymongo import AsyncMongoClient, MongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.database import Database
from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri

from duerow.errors import ConfigurationError
from duerow.store import Settings

TRANSACTIONS: Final = "transactions"
OWN_OPTIONS: Final = frozenset({TRANSACTIONS})

LONGEST_PREFIX: Final = 30
NO_DATABASE: Final = re.compile(r'[/\\. "$*<>:|?\x00]')
"""Characters that the name of a database cannot have."""

PATIENCE: Final = {"serverSelectionTimeoutMS": 5_000}
"""How long to look for a server that can write, unless the URL says otherwise: half a minute would be the driver's."""

GOODBYE: Final = 0.5
"""Seconds in which a client that is closed tells the server so; without a limit it would look for one that is gone."""

BLOCKING: Final = (MongoClient, Database)
AWAITED: Final = (AsyncMongoClient, AsyncDatabase)
"""What of the user's own the faces can be opened with."""


@dataclass(frozen=True)
class Target:
    """Where messages are kept.

    Attributes:
        url: what the client is made of.
        database: the database's name.
        transactions: whether to use transactions where the server has them.
        options: what else the client is made with.
        client: a client of the user's own instead, which is never closed here.
    """

    url: str
    database: str
    transactions: bool
    options: Mapping[str, Any] = field(default_factory=dict)
    client: Any = None

    def place(self, prefix: str) -> Hashable:
        """Return what tells these collections from others; clients of the same hosts are equal, says their driver."""
        if self.client is not None:
            return "mongodb", self.client, self.database, prefix
        hosts = urlsplit(self.url).netloc.rpartition("@")[2].lower().split(",")
        return "mongodb", tuple(sorted(hosts)), self.database, prefix

    def client_options(self) -> dict[str, Any]:
        """Return what a client is made with: nothing that the URL says is said again."""
        said = {name.lower() for name, _ in parse_qsl(urlsplit(self.url).query)}
        patience = {name: value for name, value in PATIENCE.items() if name.lower() not in said}
        return {**patience, **self.options, "appname": "duerow", "tz_aware": True}


def target_of(target: Any, settings: Settings, clients: tuple[type, ...]) -> Target:
    """Return what a URL, or a client or database of the user's own, and the options of `connect` say.

    Args:
        target: the first argument of `connect`.
        settings: the others.
        clients: what of the user's own this face takes.

    Raises:
        ConfigurationError: it is none of these, names no database, or an option cannot be.
    """
    prefix = settings.prefix
    if not prefix.isidentifier() or not prefix.isascii() or len(prefix) > LONGEST_PREFIX:
        raise ConfigurationError(
            f"prefix is {prefix!r}; collection names begin with it: 1 to {LONGEST_PREFIX} ASCII letters, digits and _"
        )
    if isinstance(target, str):
        return _of_url(target, settings)
    if not isinstance(target, clients):
        taken = " or ".join(kind.__name__ for kind in clients)
        raise ConfigurationError(
            f"this face opens queues in MongoDB by a URL or by {taken}, not by {type(target).__name__}"
        )
    return _of_client(target, settings)


def _of_client(given: Any, settings: Settings) -> Target:
    """Return what a client of the user's own says, or a database of one."""
    whole = isinstance(given, MongoClient | AsyncMongoClient)
    client, named = (given, _default_database(given)) if whole else (given.client, given.name)
    options = dict(settings.options)
    own = {name: options.pop(name) for name in OWN_OPTIONS & options.keys()}
    if options:
        raise ConfigurationError(
            f"{', '.join(sorted(options))}: a client of your own has its options already; beside it there are schema=, "
            "the database's name, and transactions="
        )
    for place, concern in (("client", client.write_concern), ("database", given.write_concern)):
        if not concern.acknowledged:
            raise ConfigurationError(
                f"the {place} given has the write concern w=0, so nobody would hear that a write failed: duerow writes "
                "with w=majority, and your own transactions, which it joins, must be acknowledged, too"
            )
    return Target("", _checked_name(settings.schema or named), _switch(own), client=client)


def _default_database(client: Any) -> str | None:
    try:
        return str(client.get_default_database().name)
    except PyMongoError:
        return None


def _of_url(target: str, settings: Settings) -> Target:
    url = urlsplit(target)
    options = dict(settings.options)
    own = {name: value for name, value in parse_qsl(url.query, keep_blank_values=True) if name in OWN_OPTIONS}
    own |= {name: options.pop(name) for name in OWN_OPTIONS & options.keys()}
    rest = [(name, value) for name, value in parse_qsl(url.query, keep_blank_values=True) if name not in OWN_OPTIONS]
    bare = urlunsplit(url._replace(query=urlencode(rest)))
    try:
        parsed = parse_uri(bare) if url.scheme == "mongodb" else {"database": url.path.strip("/")}
    except (PyMongoError, ValueError) as error:
        raise ConfigurationError(f"this URL cannot be: {error}") from error
    return Target(bare, _checked_name(settings.schema or parsed["database"]), _switch(own), options)


def _checked_name(database: str | None) -> str:
    if not database:
        raise ConfigurationError(
            "no database is named: write mongodb://host:27017/DATABASE, or give schema= its name, or connect() a "
            "database of your client"
        )
    if NO_DATABASE.search(database) or len(database.encode()) > 63:
        raise ConfigurationError(f"{database!r:.100} cannot be the name of a database of MongoDB")
    return database


def _switch(own: Mapping[str, Any]) -> bool:
    chosen = own.get(TRANSACTIONS, "on")
    if chosen not in ("on", "off"):
        raise ConfigurationError(f"transactions={chosen!r} of mongodb:// must be 'on' or 'off'")
    return bool(chosen == "on")
