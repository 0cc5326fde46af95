"""What several commands have in common: their options, and how they print."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Annotated, Any, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from duerow.codec import BYTES, JSON
from duerow.errors import ConfigurationError
from duerow.history import Event
from duerow.message import Message
from duerow.payloads import Sealing
from duerow.store import Settings, find_backend
from duerow.sync.database import Database, connect

Url = Annotated[
    str,
    typer.Option(
        "--db", envvar="DUEROW_URL", metavar="URL", help="The database, such as sqlite:///app.db or postgresql://…"
    ),
]
Prefix = Annotated[str, typer.Option(metavar="NAME", help="What the names of duerow's tables begin with.")]
Schema = Annotated[str | None, typer.Option(metavar="NAME", help="The database schema that holds them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

PREFIX = "duerow_"

KEYS = "DUEROW_KEYS"
"""The environment variable that holds the keys of encrypted payloads; other users cannot see it, unlike an option."""


def unchecked(url: str, prefix: str, schema: str | None) -> Database:
    """Open a database whose tables may be missing or of another version."""
    return Database(*find_backend(url).open(url, Settings(prefix=prefix, schema=schema)))


def connected(url: str, prefix: str, schema: str | None) -> Database:
    """Open a database; with the keys of its payloads if the environment has them.

    Raises:
        ConfigurationError: a key is none, or the library for encryption is not installed.
    """
    return connect(url, prefix=prefix, schema=schema, encryption=encryption())


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


Shown = TypeVar("Shown", Message, Event)


def legible(message: Shown) -> Shown:
    """Return a message, or a turn, for people: a payload of a kind that only its program knows as JSON."""
    if message.kind in (JSON, BYTES) or not isinstance(message.payload, str):
        return message
    try:
        payload = msgspec.json.decode(message.payload)
    except msgspec.DecodeError:
        return message
    return msgspec.structs.replace(message, payload=payload)


def print_json(value: object) -> None:
    """Print a value as one line of JSON; what the place that it goes to cannot show is escaped."""
    text = msgspec.json.encode(value).decode()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text))
    typer.echo(text)


def printable(text: str) -> str:
    """Return text of a user's for a terminal: what moves its cursor, colours it or hides something is spelled out."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Iterable[str] = ()) -> None:
    """Print rows under their columns; those called numbers stand to the right."""
    table = Table()
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if cell is None else printable(str(cell))) for cell in row))
    Console().print(table)
