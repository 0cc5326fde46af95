"""How commands print text, tables and JSON, so that stored text cannot control the terminal."""

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
from duerow.telemetry.log import harmless_json

SHORT: Final = 80
"""How many characters of a payload or an error a table on a terminal shows."""

_NARROW: Final = 20
"""Columns up to this many characters are not wrapped."""

_LEAST: Final = 10
"""The minimum width of a wider column, in characters."""

Shown = TypeVar("Shown", Message, Event)


def printable(text: str) -> str:
    """Return text for a terminal: characters that move the cursor, change colors or hide something are escaped."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def tell(text: object, err: bool = False) -> None:
    """Print text of one or more lines; characters that are not printable are escaped."""
    harmless = "".join(one if one in "\n\t" else printable(one) for one in re.split(r"([\n\t])", str(text)))
    print(harmless, file=sys.stderr if err else sys.stdout)


def print_json(value: object) -> None:
    """Print a value as one line of JSON; characters that cannot be shown, or could control a terminal, are escaped."""
    text = msgspec.json.encode(value).decode()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text))
    print(harmless_json(text))


def legible(message: Shown) -> Shown:
    """Return a message or a turn for people: a payload whose kind only the program knows is shown as JSON."""
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
    """Return the beginning of a text for a table on a terminal; all of it if the output is not a terminal."""
    return text if len(text) <= SHORT or not is_terminal() else f"{text[: SHORT - 1]}…"


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Iterable[str] = ()) -> None:
    """Print rows under the names of their columns; the columns in `numbers` are right-aligned.

    On a terminal the rows form a table or, if the terminal is too narrow, a list of fields for each row. Elsewhere they
    are plain lines that are never wrapped, with columns two spaces apart; an empty cell is a dash.
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
    """Print a table, without the columns that are empty in every row."""
    kept = [place for place in range(len(columns)) if any(row[place] is not None for row in rows)]
    shown = [[row[place] for place in kept] for row in rows]
    print_table([columns[place] for place in kept], shown, numbers=numbers)
