"""How commands print: text, tables and JSON, in which nothing that is stored can steer a terminal."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from duerow.message import Message
from duerow.payload.codec import BYTES, JSON
from duerow.queue.history import Event

SHORT: Final = 80
"""Characters of a payload or an error that a table on a terminal shows."""

_NARROW: Final = 20
"""Characters up to which a column is not broken into lines."""

_LEAST: Final = 10
"""Characters of a line that a wider column has at least."""

Shown = TypeVar("Shown", Message, Event)


def printable(text: str) -> str:
    """Return text of a user's for a terminal: what moves its cursor, colours it or hides something is spelled out."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def tell(text: object, err: bool = False) -> None:
    """Print text of one or several lines; in each of them what is not printable is spelled out."""
    harmless = "".join(one if one in "\n\t" else printable(one) for one in re.split(r"([\n\t])", str(text)))
    print(harmless, file=sys.stderr if err else sys.stdout)


def print_json(value: object) -> None:
    """Print a value as one line of JSON; what cannot be shown, or could steer a terminal, is escaped as JSON has it."""
    text = msgspec.json.encode(value).decode()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text))
    print(harmless_json(text))


def harmless_json(text: str) -> str:
    """Return a line of JSON in which what is not printable is escaped as JSON has it."""
    return text if text.isprintable() else "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def legible(message: Shown) -> Shown:
    """Return a message, or a turn, for people: a payload of a kind that only its program knows as JSON."""
    if message.kind in (JSON, BYTES) or not isinstance(message.payload, str):
        return message
    try:
        payload = msgspec.json.decode(message.payload)
    except (msgspec.DecodeError, RecursionError):
        return message
    return msgspec.structs.replace(message, payload=payload)


def payload_text(payload: Any) -> str:
    """Return a payload as JSON."""
    return msgspec.json.encode(payload).decode()


def short(text: str) -> str:
    """Return the beginning of a text, for a table on a terminal; whole where a program reads it."""
    return text if len(text) <= SHORT or not is_terminal() else f"{text[: SHORT - 1]}…"


def is_terminal() -> bool:
    """Return whether a person reads what is printed."""
    return sys.stdout.isatty()


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Iterable[str] = ()) -> None:
    """Print rows under their columns; those called numbers stand to the right.

    On a terminal as a table, or each row as a list of its fields if it is too narrow for the columns. Elsewhere as
    lines without frames, in columns two spaces apart, none of them broken; an empty cell is a dash.
    """
    cells = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    if not is_terminal():
        _print_lines(columns, cells, set(numbers))
        return
    console = Console()
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    least = [width if width <= _NARROW else max(_LEAST, len(name)) for name, width in zip(columns, widths, strict=True)]
    if sum(least) + 3 * len(columns) + 1 > console.width:
        _print_fields(columns, cells)
        return
    table = Table()
    for name, width, smallest in zip(columns, widths, least, strict=True):
        table.add_column(
            name,
            justify="right" if name in numbers else "left",
            overflow="fold",
            no_wrap=width <= _NARROW,
            min_width=smallest,
        )
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _print_lines(columns: Sequence[str], cells: Sequence[Sequence[str]], numbers: set[str]) -> None:
    rows = [columns, *([cell or "-" for cell in row] for row in cells)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = [
            cell.rjust(width) if name in numbers else cell.ljust(width)
            for name, cell, width in zip(columns, row, widths, strict=True)
        ]
        print("  ".join(line).rstrip())


def _print_fields(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    width = max(map(len, columns))
    for row in cells:
        for name, cell in zip(columns, row, strict=True):
            if cell:
                print(f"{name.ljust(width)}  {cell}")
        print("")


def print_filled(columns: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[str] = ()) -> None:
    """Print a table without the columns that no row fills."""
    kept = [place for place in range(len(columns)) if any(row[place] is not None for row in rows)]
    shown = [[row[place] for place in kept] for row in rows]
    print_table([columns[place] for place in kept], shown, numbers=numbers)
