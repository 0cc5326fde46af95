"""The options that commands share, and the database that they open."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
import typer

from duerow import store
from duerow.cli.completion import queue_names
from duerow.cli.failures import Missing
from duerow.errors import ConfigurationError, shown
from duerow.message import Message
from duerow.payload.encoding import Cipher
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
Prefix = Annotated[str, typer.Option(metavar="NAME", help="The prefix of duerow's table names.")]
Schema = Annotated[str | None, typer.Option(metavar="NAME", help="The database schema of the tables.")]
QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.", autocompletion=queue_names)]
MaybeQueueName = Annotated[
    str | None, typer.Argument(metavar="QUEUE", help="Only this queue.", autocompletion=queue_names)
]
MessageId = Annotated[int | None, typer.Argument(metavar="ID", help="The message's id.")]
MessageKey = Annotated[str | None, typer.Option(metavar="KEY", help="The key of a live message, instead of its id.")]
Create = Annotated[bool, typer.Option("--create", help="Accept a queue that the database does not know yet.")]
Until = Annotated[
    Literal["idle", "empty", "stopped"],
    typer.Option(help="End when nothing is due (idle), when nothing will become due (empty), or at SIGTERM (stopped)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

PREFIX = "duerow_"

KEYS = "DUEROW_KEYS"
"""The environment variable with the keys of encrypted payloads: other users could see the value of an option."""


READ_TIMEOUT = "DUEROW_READ_TIMEOUT"
"""The environment variable with the seconds that a read may take; `none` means no limit."""


def unchecked(url: str, prefix: str, schema: str | None) -> Database:
    """Open a database whose tables may be missing or of another version."""
    return Database(*find_backend(url).open(url, Settings(prefix=prefix, schema=schema)))


def connected(url: str, prefix: str, schema: str | None) -> Database:
    """Open a database, with the encryption keys and the read timeout from the environment.

    Raises:
        ConfigurationError: a key or the timeout is not valid, or the library for encryption is not installed.
    """
    return connect(url, prefix=prefix, schema=schema, encryption=encryption(), read_timeout=read_timeout())


def read_timeout() -> timedelta | None:
    """Return how long a read may take, from the environment; None: no limit.

    Raises:
        ConfigurationError: the variable is not a number of seconds.
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
            f"{READ_TIMEOUT}={shown(said)} is neither a number of seconds, such as 300, nor none"
        ) from error


def encryption() -> Cipher | None:
    """Return encryption with the keys from the environment, or None without keys; raises the errors of `connected`."""
    keys = os.environ.get(KEYS, "").replace(",", " ").split()
    if not keys:
        return None
    from duerow.encryption import Encryption

    return Encryption(keys)


def span(option: str, seconds: float) -> timedelta:
    """Return an option's time span, or raise ConfigurationError."""
    try:
        return timedelta(seconds=seconds)
    except (OverflowError, ValueError) as error:
        raise ConfigurationError(f"{option} {seconds} is not a number of seconds that duerow can wait") from error


def moment(option: str, text: str | None) -> datetime | None:
    """Return an option's time, or raise ConfigurationError. A missing time zone is refused later."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigurationError(
            f"{option} {shown(text)} is not a time in ISO 8601, such as 2026-03-01T12:00:00Z"
        ) from error


def json_of(what: str, text: str) -> Any:
    """Return the value of an option or argument in JSON, or raise ConfigurationError."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ConfigurationError(
            f"{what} is not valid JSON ({error}): {shown(text)}; text needs quotes: '\"hello\"'"
        ) from error
    except RecursionError as error:
        raise ConfigurationError(f"{what} is nested too deeply: {shown(text)}") from error


def queue_in(database: Database, name: str, create: bool = False) -> Queue[Any]:
    """Return a queue as its database defines it; the only place where commands check that the queue exists.

    Raises:
        UnknownName: the database does not know the queue, and `create` is not set.
    """
    return database.as_defined(name, known=not create)


def require_message(queue: Queue[Any], id: int | None, key: str | None) -> Message[Any]:
    """Return the message with this id, or the live one with this key; raise Missing if there is none."""
    found = queue.find(key=key, limit=100) if id is None else [queue.get(id)]
    messages = [one for one in found if one is not None]
    if not messages:
        raise missing(queue.name, id, key)
    return next((one for one in messages if one.status not in ("done", "dead")), messages[-1])


def missing(queue: str, id: int | None, key: str | None) -> Missing:
    """Return the error for a message that a queue does not have."""
    which = f"message with id {id}" if key is None else f"live message with key {shown(key)}"
    return Missing(f"queue {queue!r} has no {which}; it may be done, moved or removed")
