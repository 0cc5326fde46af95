"""The report: tables for a terminal."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from examples.library.findings import Findings
from examples.library.payloads import Entry, Summary

ROWS: Final = 8

NUMBERS: Final = ("branches", "imports", "steps", "modules")
"""The columns that contain numbers."""


def show(console: Console, found: Findings) -> None:
    """Print the findings."""
    entries = list(found.entries.values())
    summaries = [entry.summary for entry in entries]
    console.print(_headline(summaries))
    _print(console, "The functions with the most branches", ["function", "branches"], _branching(summaries))
    _print(console, "The modules with the most transitive imports", ["module", "imports", "steps"], _bringing(entries))
    _print(console, "Functions that differ only in their names", ["function", "same as", "modules"], _copied(found))


def _headline(summaries: Sequence[Summary]) -> str:
    lines, functions = sum(one.lines for one in summaries), sum(one.functions for one in summaries)
    documented, annotated = sum(one.documented for one in summaries), sum(one.annotated for one in summaries)
    return (
        f"Python {platform.python_version()}: [bold]{len(summaries):,} modules[/bold] with {lines:,} lines and "
        f"[bold]{functions:,} functions[/bold], of which {documented / max(functions, 1):.0%} have a docstring and "
        f"{annotated / max(functions, 1):.0%} have types."
    )


def _branching(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    most = sorted(summaries, key=lambda one: (-one.longest_branches, one.module))
    return [(f"{one.module}.{one.longest}", str(one.longest_branches)) for one in most[:ROWS] if one.longest]


def _bringing(entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
    most = sorted(entries, key=lambda one: (-one.brings, one.summary.module))
    return [(one.summary.module, str(one.brings), str(one.rounds)) for one in most[:ROWS]]


def _copied(found: Findings) -> list[tuple[str, str, str]]:
    rows = []
    for places in found.copied[:ROWS]:
        first, second = places[0], next(place for place in places if place.module != places[0].module)
        number = len({place.module for place in places})
        rows.append((f"{first.module}.{first.name}", f"{second.module}.{second.name}", str(number)))
    return rows


def _print(console: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table()
    for column in columns:
        table.add_column(column, justify="right" if column in NUMBERS else "left")
    for row in rows:
        table.add_row(*row)
    if table.row_count:
        console.print(f"\n[bold]{title}[/bold]", table, sep="\n")
