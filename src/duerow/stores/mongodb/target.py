"""Which server, which database, and how its client is made: from a URL and options."""

from __future__ import annotations

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

PATIENCE: Final = {"serverSelectionTimeoutMS": 5_000, "connectTimeoutMS": 5_000}
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
        return "mongodb", self.url.partition("?")[0], self.database, prefix

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
    return Target(bare, database, _switch(own), options)


def _switch(own: Mapping[str, Any]) -> bool:
    chosen = own.get(TRANSACTIONS, "on")
    if chosen not in ("on", "off"):
        raise ConfigurationError(f"transactions={chosen!r} of mongodb:// must be 'on' or 'off'")
    return bool(chosen == "on")
