"""How the cost of a message grows: with the messages that wait, with queues, and with consumers."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from bench import floor_runs, ours
from bench.context import Context
from bench.processes import Prepared, together
from bench.results import Result
from bench.rounds import interleave
from bench.turns import TURN

MESSAGES = 12_800
QUEUES = (1, 10, 100, 1_000)
CONSUMERS = (1, 4, 16, 64)
UNITS = {"server_us": "server µs", "client_us": "client µs", "wal_bytes": "bytes of WAL"}
CONTESTANTS: dict[str, Callable[..., Prepared[dict[str, float]]]] = {
    "duerow": ours.take_in_turns,
    "floor": floor_runs.take_in_turns,
}

Cost = dict[str, float]

Point = tuple[int, int, int]
"""Waiting messages, queues and consumers."""


def of_a_message(context: Context) -> list[Result]:
    """Claim and settle the same number of messages each time, in batches of 100, and count what one costs."""
    least = 10 * min(context.size.waiting)
    curves: dict[str, dict[int, Point]] = {
        "waiting messages": {waiting: (waiting, 1, 1) for waiting in context.size.waiting},
        "queues": {queues: (max(least, 2 * TURN * queues), queues, 1) for queues in QUEUES},
        "consumers": {consumers: (least, 1, consumers) for consumers in CONSUMERS},
    }
    return [line for name, points in curves.items() for line in _curve(context, name, points)]


def _curve(context: Context, name: str, points: dict[int, Point]) -> list[Result]:
    costs: dict[str, dict[int, list[Cost]]] = {who: {size: [] for size in points} for who in CONTESTANTS}

    def contestant(who: str, size: int) -> Callable[[], float]:
        waiting, queues, consumers = points[size]

        def run() -> float:
            context.postgresql.crowd(waiting + MESSAGES, queues)
            [cost] = together(CONTESTANTS[who], context.postgresql.url, MESSAGES, queues, consumers).results
            costs[who][size].append(cost)
            return cost["server_us"]

        return run

    interleave({f"{who} {size}": contestant(who, size) for size in points for who in CONTESTANTS}, context.size.rounds)
    return [
        _line(f"growth: a message with {size:,} {name}", unit, costs, size, min(points))
        for unit in UNITS
        for size in points
    ]


def _line(title: str, unit: str, costs: dict[str, dict[int, list[Cost]]], size: int, least: int) -> Result:
    """Compare with the floor at the same size; the note and the bar compare with the smallest size."""
    samples = {who: [one[unit] for one in rounds[size]] for who, rounds in costs.items()}
    ours_, beside = median(samples["duerow"]), median(samples["floor"])
    smallest = {who: median(one[unit] for one in rounds[least]) for who, rounds in costs.items()}
    grown = (
        f"{ours_ / smallest['duerow']:.2f} times as much as with {least:,}; by hand {beside / smallest['floor']:.2f}"
    )
    return Result(title, UNITS[unit], ours_, "floor", beside, ours_ / beside, samples=samples, note=grown)
