"""Which server, which database, and how its client is made: from a URL and options."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

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


@dataclass(frozen=True)
class Target:
    """Where messages are kept.

    Attributes:
        url: what the client is made of.
        database: the database's name.
        transactions: whether to use transactions where the server has them.
        options: what else the client is made with.
    """

    url: str
    database: str
    transactions: bool
    options: Mapping[str, Any] = field(default_factory=dict)

    def place(self, prefix: str) -> Hashable:
        """Return what tells these collections from others."""
        hosts = urlsplit(self.url).netloc.rpartition("@")[2].lower().split(",")
        return "mongodb", tuple(sorted(hosts)), self.database, prefix

    def client_options(self) -> dict[str, Any]:
        """Return what a client is made with: nothing that the URL says is said again."""
        said = {name.lower() for name, _ in parse_qsl(urlsplit(self.url).query)}
        patience = {name: value for name, value in PATIENCE.items() if name.lower() not in said}
        return {**patience, **self.options, "appname": "duerow", "tz_aware": True}


def target_of(target: Any, settings: Settings) -> Target:
    """Return what a URL and the options of `connect` say.

    Raises:
        ConfigurationError: it is no URL, names no database, or an option cannot be.
    """
    if not isinstance(target, str):
        raise ConfigurationError(f"queues in MongoDB are opened by a URL, not by {type(target).__name__}")
    prefix = settings.prefix
    if not prefix.isidentifier() or not prefix.isascii() or len(prefix) > LONGEST_PREFIX:
        raise ConfigurationError(
            f"prefix is {prefix!r}; collection names begin with it: 1 to {LONGEST_PREFIX} ASCII letters, digits and _"
        )
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
    database = settings.schema or parsed["database"]
    if not database:
        raise ConfigurationError(
            "the URL names no database: write mongodb://host:27017/DATABASE, or give schema= its name"
        )
    if NO_DATABASE.search(database) or len(database.encode()) > 63:
        raise ConfigurationError(f"{database!r:.100} cannot be the name of a database of MongoDB")
    return Target(bare, database, _switch(own), options)


def _switch(own: Mapping[str, Any]) -> bool:
    chosen = own.get(TRANSACTIONS, "on")
    if chosen not in ("on", "off"):
        raise ConfigurationError(f"transactions={chosen!r} of mongodb:// must be 'on' or 'off'")
    return bool(chosen == "on")
