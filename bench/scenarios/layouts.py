"""Rows against a log: what a message costs by hand in each layout, pushed in bulk and drained, beside duerow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from bench import floor_runs, log_layout, ours
from bench.context import Context
from bench.cost import count, with_client_time
from bench.databases import settle_down
from bench.processes import Prepared, together
from bench.results import Result
from bench.rounds import interleave

UNITS = {"rate": "messages/s", "server_us": "server, µs", "client_us": "client, µs", "wal_bytes": "bytes of WAL"}


@dataclass
class Layout:
    """Who pushes and drains, how the tables are made, and what each round cost for a message."""

    set_up: Callable[[str], None]
    push: Callable[..., Prepared[Any]]
    drain: Callable[..., Prepared[list[int]]]
    pushed: list[dict[str, float]] = field(default_factory=list)
    drained: list[dict[str, float]] = field(default_factory=list)


def rows_and_log(context: Context) -> list[Result]:
    """Push in bulk and drain in batches: duerow, by hand on its rows, and by hand on a log."""
    layouts = {
        "duerow": Layout(ours.migrate, ours.push_many, ours.drain),
        "rows by hand": Layout(ours.migrate, floor_runs.push_many, floor_runs.drain),
        "log by hand": Layout(log_layout.set_up, log_layout.push_many, log_layout.drain),
    }
    size = context.size
    interleave({name: _round(context, one, size.drain) for name, one in layouts.items()}, size.rounds)
    return [
        line
        for title, measured in (("pushed in bulk", "pushed"), ("drained in batches", "drained"))
        for unit in UNITS
        for line in _lines(f"layouts: {title}", unit, {name: getattr(one, measured) for name, one in layouts.items()})
    ]


def _lines(title: str, unit: str, costs: dict[str, list[dict[str, float]]]) -> list[Result]:
    samples = {name: [one[unit] for one in rounds] for name, rounds in costs.items()}
    ours_, beside = median(samples["duerow"]), {name: median(of) for name, of in samples.items() if name != "duerow"}
    return [
        Result(
            title,
            UNITS[unit],
            ours_,
            name,
            theirs,
            ours_ / theirs if theirs else None,
            at_most=unit != "rate",
            samples=samples,
        )
        for name, theirs in beside.items()
    ]


def _round(context: Context, layout: Layout, messages: int) -> Callable[[], float]:
    def run() -> float:
        url = context.server.database("bench_layout")
        layout.set_up(url)
        layout.pushed.append(_counted(url, layout.push, messages, messages)[0])
        settle_down(url)
        cost, ids = _counted(url, layout.drain, messages)
        if len(ids) != messages or len(set(ids)) != messages:
            raise AssertionError(f"{len(ids)} messages, {len(set(ids))} of them different, were handled of {messages}")
        layout.drained.append(cost)
        return cost["rate"]

    return run


def _counted(
    url: str, prepare: Callable[..., Prepared[Any]], messages: int, *arguments: Any
) -> tuple[dict[str, float], Any]:
    before = count(url)
    timed = together(_with_client_time, prepare, url, *arguments)
    spent = asdict(count(url).since(before))
    [(result, client_us)] = timed.results
    each = {unit: spent[unit] / messages for unit in ("server_us", "wal_bytes")}
    return each | {"client_us": client_us / messages, "rate": messages / timed.seconds}, result


def _with_client_time(prepare: Callable[..., Prepared[Any]], url: str, *arguments: Any) -> Prepared[tuple[Any, float]]:
    return with_client_time(prepare(url, *arguments))
