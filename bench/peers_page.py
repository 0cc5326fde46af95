"""The page that compares duerow with its peers: a table for each scenario, the fastest first."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from statistics import median
from typing import Any

from bench import peers, report
from bench.results import Result

BUSY = 1.0
"""A load before the run above which the page says that the machine was busy with other work."""

OTHER_WORK = "The machine was busy with other work, so rely on the ratios, not on the absolute figures."
"""What the page says after a load above `BUSY`."""

SERVER = "server, µs"
"""The column by which the tables of costs are sorted."""


def page(text: str, results: Sequence[Result], size: str, on: Mapping[str, Any], server: Mapping[str, str]) -> str:
    """Return the page with this run between its two marks."""
    tables = "\n".join(_section(title, list(lines)) for title, lines in groupby(results, lambda line: line.scenario))
    return report.replaced(text, f"{_circumstances(size, on, server)}\n\n{_settings(results)}\n{tables}")


def _circumstances(size: str, on: Mapping[str, Any], server: Mapping[str, str]) -> str:
    used = report.versions()
    database = f"PostgreSQL {server['server_version']} with `synchronous_commit=on`, " if server else ""
    load = f"The load average before the run was {on['load_before']:.1f}."
    said = (
        f"Measured on {datetime.now(UTC):%d %B %Y} by `{report.command()}` (size `{size}`): {on['cores']} cores, "
        f"{on['memory_gb']:g} GB, {database}SQLite {used['sqlite']}, Python {used['python']}, "
        f"psycopg {used['psycopg']}; an fdatasync took {on['fdatasync_microseconds']:g} µs. "
        + (f"{load} {OTHER_WORK}" if on["load_before"] > BUSY else load)
    )
    return _wrapped(said)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _settings(results: Sequence[Result]) -> str:
    used = report.versions()
    measured = {"duerow", *(line.beside for line in results)}
    names = [name for name in (*peers.CONTESTANTS, *peers.POSTGRESQL, *peers.SQLITE) if name in measured]
    rows = [f"| {name} | {used.get(name, '')} | {peers.load(name).SETTINGS} |" for name in names]
    return "\n".join(["| queue | version | how it is driven |", "|---|---|---|", *rows]) + "\n"


def _section(title: str, lines: Sequence[Result]) -> str:
    """Return the table of one scenario."""
    if lines[0].unit not in ("messages/s", "ms"):
        return _costs(title, lines)
    slower_is_more = lines[0].unit == "ms"
    worst, column = (max, "ms") if slower_is_more else (min, "messages/s")
    samples = {name: values for line in lines for name, values in line.samples.items()}
    ours = median(samples["duerow"])
    rows = [f"### {title[:1].upper()}{title[1:]}", ""]
    rows += [f"| | median, {column} | worst round | duerow is … times as fast |", "|---|---|---|---|"]
    for name in sorted(samples, key=lambda name: median(samples[name]), reverse=not slower_is_more):
        middle = median(samples[name])
        ratio = middle / ours if slower_is_more else ours / middle
        shown = "" if name == "duerow" else f"{ratio:.2f}"
        rows.append(f"| {name} | {report.number(middle)} | {report.number(worst(samples[name]))} | {shown} |")
    note = next((line.note for line in lines if line.note), "")
    return "\n".join([*rows, *(["", _wrapped(f"{note[:1].upper()}{note[1:]}.")] if note else [])]) + "\n"


def _costs(title: str, lines: Sequence[Result]) -> str:
    """Return the table of what a message costs: a row for each contestant, the cheapest for the server first."""
    columns = list(dict.fromkeys(line.unit for line in lines))
    costs: dict[str, dict[str, float]] = {}
    for line in lines:
        costs.setdefault("duerow", {})[line.unit] = line.value
        costs.setdefault(str(line.beside), {})[line.unit] = line.beside_value or 0.0
    rows = [f"### {title[:1].upper()}{title[1:]}", "", f"| | {' | '.join(columns)} |", f"|---{'|---' * len(columns)}|"]
    for name, cost in sorted(costs.items(), key=lambda one: one[1].get(SERVER, 0.0)):
        rows.append(f"| {name} | {' | '.join(report.number(cost[column]) for column in columns)} |")
    return "\n".join(rows) + "\n"
