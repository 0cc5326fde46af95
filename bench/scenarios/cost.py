"""What a message costs the server and the client: duerow, hand-written SQL and the other queues on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from statistics import median
from typing import Any

from bench.context import Context
from bench.cost import count
from bench.peers import CONTESTANTS, POSTGRESQL, drained_by, present, runs
from bench.peers.templates import Templates
from bench.processes import Prepared, together
from bench.results import Result
from bench.rounds import interleave

UNITS = {
    "wal_bytes": "bytes of WAL",
    "updated": "rows updated",
    "hot": "of them HOT",
    "dead": "dead rows",
    "buffers": "buffer hits",
    "server_us": "server, µs",
    "client_us": "client, µs",
}
"""The figures of a message, and the columns of the table."""

Cost = dict[str, float]


def of_a_message(context: Context) -> list[Result]:
    """Single pushes, drains as each does them best, and drains that take one message at a time."""
    size, everybody = context.size, [*CONTESTANTS, *present(POSTGRESQL)[0]]
    place = context.templates

    def share(name: str) -> int:
        return drained_by(name, size)

    return [
        *_lines(context, place, "cost of a single push", everybody, runs.push_counted, lambda _: size.pushes, False),
        *_lines(context, place, "cost of a message drained", everybody, runs.drain_counted, share, True),
        *_lines(
            context,
            place,
            "cost of a message reserved and committed alone",
            list(CONTESTANTS),
            runs.drain_singly_counted,
            lambda _: size.singly,
            True,
        ),
    ]


def _lines(
    context: Context,
    place: Templates,
    title: str,
    names: list[str],
    prepare: Callable[..., Prepared[tuple[Any, float]]],
    messages: Callable[[str], int],
    filled: bool,
) -> list[Result]:
    costs: dict[str, list[Cost]] = {name: [] for name in names}

    def contestant(name: str) -> Callable[[], float]:
        def run() -> float:
            costs[name].append(_cost(place, name, prepare, messages(name), filled))
            return costs[name][-1]["wal_bytes"]

        return run

    interleave({name: contestant(name) for name in names}, context.size.rounds)
    samples = {unit: {name: [one[unit] for one in costs[name]] for name in names} for unit in UNITS}
    return [_line(title, UNITS[unit], samples[unit], name) for unit in UNITS for name in names if name != "duerow"]


def _line(title: str, unit: str, samples: dict[str, list[float]], beside: str) -> Result:
    ours, theirs = median(samples["duerow"]), median(samples[beside])
    kept = {name: samples[name] for name in ("duerow", beside)}
    return Result(title, unit, ours, beside, theirs, ours / theirs if theirs else None, at_most=True, samples=kept)


def _cost(place: Templates, name: str, prepare: Any, messages: int, filled: bool) -> Cost:
    """Return what each message of one run cost."""
    url = place.fresh(name)
    if filled:
        together(runs.push_many, name, url, messages)
    place.settle_down(url)
    before = count(url)
    [(_, client_us)] = together(prepare, name, url, messages).results
    spent = asdict(count(url).since(before)) | {"client_us": client_us}
    return {unit: value / messages for unit, value in spent.items()}
