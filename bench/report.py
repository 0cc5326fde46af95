"""The table for people and the JSON for everything else."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import peers
from bench.peers.missing import PeerMissing
from bench.results import Result

BEGIN, END = "<!-- the benchmark's table begins -->", "<!-- the benchmark's table ends -->"

LIBRARIES = ("duerow", "sqlalchemy", "psycopg", "msgspec", "pyspark", "asyncpg")


def table(results: Sequence[Result]) -> Table:
    """Return all lines as a table, those with a bar marked."""
    shown = Table(
        "what", "duerow", "worst round", "beside", "ratio", "bar", "", title="duerow's benchmark", title_justify="left"
    )
    for result in results:
        shown.add_row(
            result.scenario,
            f"{number(result.value)} {result.unit}",
            _worst(result),
            "" if result.beside_value is None else f"{result.beside} {number(result.beside_value)}",
            "" if result.ratio is None else f"{result.ratio:.2f}",
            bar(result),
            {True: "[green]reached", False: "[red]missed", None: ""}[result.passed],
        )
    return shown


def number(value: float) -> str:
    """Return three digits or more, with thousands set apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _worst(result: Result) -> str:
    return "" if result.worst is None else number(result.worst)


def bar(result: Result) -> str:
    """Return what had to be reached."""
    if result.bar is None:
        return ""
    return f"{'at most' if result.at_most else 'at least'} {result.bar:g}"


def page(text: str, results: Sequence[Result], size: str, on: Mapping[str, Any], server: Mapping[str, str]) -> str:
    """Return a page of the documentation with this run between its two marks."""
    return replaced(text, f"{_circumstances(size, on, server)}\n\n{_markdown(results)}")


def replaced(text: str, between: str) -> str:
    """Return a page with other lines between its two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no place for a table: write {BEGIN} and {END} on lines of their own")
    return f"{before}{begin}\n\n{between}\n{end}{after}"


def _circumstances(size: str, on: Mapping[str, Any], server: Mapping[str, str]) -> str:
    used = versions()
    database = f"PostgreSQL {server['server_version']} with `synchronous_commit=on`, " if server else ""
    return (
        f"Measured on {datetime.now(UTC):%d %B %Y} by `{command()}` (size `{size}`): {on['cores']} cores, "
        f"{on['memory_gb']:g} GB, {database}SQLite {used['sqlite']}, Python {used['python']}, "
        f"psycopg {used['psycopg']}, pgqueuer {used['pgqueuer']}, pgmq {used['pgmq']}; "
        f"an fdatasync of the disk took {on['fdatasync_microseconds']:g} µs, and "
        f"the load was {on['load_before']:.1f} before the run."
    )


def _markdown(results: Sequence[Result]) -> str:
    lines = [
        "| what | duerow | worst round | compared with (same run) | ratio | bar | |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in results:
        beside = "" if result.beside_value is None else f"{result.beside}: {number(result.beside_value)}"
        ratio = "" if result.ratio is None else f"{result.ratio:.2f}"
        verdict = {True: "reached", False: "**missed**", None: ""}[result.passed]
        value = f"{number(result.value)} {result.unit}"
        lines.append(
            f"| {result.scenario} | {value} | {_worst(result)} | {beside} | {ratio} | {bar(result)} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def command() -> str:
    """Return what was typed, without the files that the results went to."""
    words = iter(sys.argv[1:])
    said = [word for word in words if word not in ("--json", "--page") or next(words, None) is None]
    return " ".join(["python -m bench", *said])


def document(
    results: Sequence[Result],
    failures: Mapping[str, str],
    size: str,
    on: Mapping[str, Any],
    server: Mapping[str, str],
) -> str:
    """Return the whole run as JSON."""
    whole = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command(),
        "size": size,
        "machine": dict(on),
        "versions": versions(),
        "postgresql": dict(server),
        "results": [{**asdict(result), "passed": result.passed} for result in results],
        "failures": dict(failures),
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "fdatasync_microseconds": round(_fdatasync_microseconds(), 1),
        "load_before": os.getloadavg()[0],
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that take part."""
    import sqlite3

    found = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    for name in (*peers.POSTGRESQL, *peers.SQLITE):
        try:
            found[name] = peers.version(name)
        except PeerMissing:
            found[name] = "not installed"
    return found


def write(path: Path, text: str) -> None:
    """Write the file, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def show(results: Sequence[Result], failures: Mapping[str, str]) -> None:
    """Print the table, then what could not be measured."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table(results))
    for name, why in failures.items():
        console.print(f"[red]{name} could not be measured:[/red]", highlight=False)
        console.print(why, markup=False, highlight=False)


def _processor() -> str:
    with open("/proc/cpuinfo") as lines:
        names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        return next(names, platform.machine())


def _fdatasync_microseconds() -> float:
    """The median time that the disk takes for one durable write of 8 kB."""
    taken = []
    with TemporaryFile() as file:
        for _ in range(100):
            os.pwrite(file.fileno(), bytes(8_192), 0)
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - start)
    return median(taken) * 1e6
