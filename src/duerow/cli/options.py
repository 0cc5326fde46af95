"""What several commands have in common: their options, and the database that they open."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
import typer

from duerow import store
from duerow.cli.failures import Missing
from duerow.errors import ConfigurationError
from duerow.message import Message
from duerow.payload.encoding import Sealing
from duerow.store import Settings, find_backend
from duerow.sync.database import Database, connect
from duerow.sync.queue import Queue

Url = Annotated[
    str,
    typer.Option(
        "--db", envvar="DUEROW_URL", metavar="URL", help="The database, such as sqlite:///app.db or postgresql://…"
    ),
]
MaybeUrl = Annotated[
    str | None,
    typer.Option(
        "--db", envvar="DUEROW_URL", metavar="URL", help="The database, such as sqlite:///app.db or postgresql://…"
    ),
]
Prefix = Annotated[str, typer.Option(metavar="NAME", help="What the names of duerow's tables begin with.")]
Schema = Annotated[str | None, typer.Option(metavar="NAME", help="The database schema that holds them.")]
Create = Annotated[bool, typer.Option("--create", help="Also a queue that the database knows nothing of yet.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

PREFIX = "duerow_"

KEYS = "DUEROW_KEYS"
"""The environment variable that holds the keys of encrypted payloads; other users cannot see it, unlike an option."""


READ_TIMEOUT = "DUEROW_READ_TIMEOUT"
"""The environment variable that says how many seconds a read may take; `none`: as long as it takes."""


def unchecked(url: str, prefix: str, schema: str | None) -> Database:
    """Open a database whose tables may be missing or of another version."""
    return Database(*find_backend(url).open(url, Settings(prefix=prefix, schema=schema)))


def connected(url: str, prefix: str, schema: str | None) -> Database:
    """Open a database; with the keys of its payloads if the environment has them.

    Raises:
        ConfigurationError: a key or the limit of reads is none, or the library for encryption is not installed.
    """
    return connect(url, prefix=prefix, schema=schema, encryption=encryption(), read_timeout=read_timeout())


def read_timeout() -> timedelta | None:
    """Return how long a read may take, as the environment says; None: as long as it takes.

    Raises:
        ConfigurationError: that is no number of seconds.
    """
    said = os.environ.get(READ_TIMEOUT)
    if not said:
        return store.READ_TIMEOUT
    if said == "none":
        return None
    try:
        return span(READ_TIMEOUT, float(said))
    except ValueError as error:
        raise ConfigurationError(
            f"{READ_TIMEOUT}={said!r:.80} is no number of seconds, such as 300, or none"
        ) from error


def encryption() -> Sealing | None:
    """Return the encryption with the keys that the environment has; None if it has none. Errors as in `connected`."""
    keys = os.environ.get(KEYS, "").replace(",", " ").split()
    if not keys:
        return None
    from duerow.encryption import Encryption

    return Encryption(keys)


def span(option: str, seconds: float) -> timedelta:
    """Return how long an option says, else raise ConfigurationError."""
    try:
        return timedelta(seconds=seconds)
    except (OverflowError, ValueError) as error:
        raise ConfigurationError(f"{option} {seconds} is no number of seconds that can be waited for") from error


def moment(option: str, text: str | None) -> datetime | None:
    """Return the time that an option says, else raise ConfigurationError; its time zone is checked with all others."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigurationError(
            f"{option} {text!r:.80} is no time in ISO 8601, such as 2026-03-01T12:00:00Z"
        ) from error


def json_of(option: str, text: str) -> Any:
    """Return what an option says as JSON, else raise ConfigurationError."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ConfigurationError(
            f"{option} is no JSON ({error}): {text!r:.80}; text needs quotes: '\"hello\"'"
        ) from error
    except RecursionError as error:
        raise ConfigurationError(f"{option} is JSON that is nested too deep to be read: {text!r:.80}") from error


def queue_in(database: Database, name: str, create: bool = False) -> Queue[Any]:
    """Return a queue on the terms that its database says: the one place where commands find out whether there is one.

    Raises:
        UnknownName: the database knows nothing of such a queue, and none is to be made.
    """
    return database.as_defined(name, known=not create)


def require_message(queue: Queue[Any], id: int | None, key: str | None) -> Message[Any]:
    """Return the message of this id, or the live one that holds the key; raise Missing if there is none."""
    found = queue.find(key=key, limit=100) if id is None else [queue.get(id)]
    messages = [one for one in found if one is not None]
    if not messages:
        raise missing(queue.name, id, key)
    return next((one for one in messages if one.status not in ("done", "dead")), messages[-1])


def missing(queue: str, id: int | None, key: str | None) -> Missing:
    """Return the error for a message that a queue does not have."""
    which = f"with id {id}" if key is None else f"that is live and has the key {key!r:.80}"
    return Missing(f"queue {queue!r} has no message {which}; it may be done, moved or removed")
