"""How the cost of a message grows: with the messages that wait, with queues, and with consumers."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from bench import floor_runs, ours
from bench.context import Context
from bench.processes import Prepared, together
from bench.results import Result
from bench.rounds import interleave

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
    """Claim and settle the same number of messages each time, in batches of 100, and count what one costs.

    The curves share their middle, so that each begins with a setting that is measured once.
    """
    middle = 10 * min(context.size.waiting)
    curves: dict[str, dict[int, Point]] = {
        "waiting messages": {waiting: (waiting, 1, 1) for waiting in context.size.waiting},
        "queues": {queues: (middle, queues, 1) for queues in QUEUES},
        "consumers": {consumers: (middle, 1, consumers) for consumers in CONSUMERS},
    }
    costs: dict[str, dict[Point, list[Cost]]] = {who: {} for who in CONTESTANTS}

    def contestant(who: str, point: Point) -> Callable[[], float]:
        waiting, queues, consumers = point
        rounds = costs[who].setdefault(point, [])

        def run() -> float:
            context.postgresql.crowd(waiting + MESSAGES, queues)
            [cost] = together(CONTESTANTS[who], context.postgresql.url, MESSAGES, queues, consumers).results
            rounds.append(cost)
            return cost["server_us"]

        return run

    points = dict.fromkeys(point for curve in curves.values() for point in curve.values())
    interleave(
        {f"{who} {point}": contestant(who, point) for point in points for who in CONTESTANTS}, context.size.rounds
    )
    return [
        _line(f"growth: a message with {size:,} {name}", unit, costs, point, curve[min(curve)], f"{min(curve):,}")
        for name, curve in curves.items()
        for unit in UNITS
        for size, point in curve.items()
    ]


def _line(
    title: str, unit: str, costs: dict[str, dict[Point, list[Cost]]], point: Point, smallest: Point, least: str
) -> Result:
    """Compare with the floor at the same size; the note compares both with the smallest size."""
    samples = {who: [one[unit] for one in rounds[point]] for who, rounds in costs.items()}
    now = {who: median(figures) for who, figures in samples.items()}
    then = {who: median(one[unit] for one in rounds[smallest]) for who, rounds in costs.items()}
    grown = {who: f"{now[who] / then[who]:.2f}" if then[who] else "?" for who in now}
    note = f"{grown['duerow']} times as much as with {least}, by hand {grown['floor']}"
    ratio = now["duerow"] / now["floor"] if now["floor"] else None
    return Result(
        title, UNITS[unit], now["duerow"], "floor", now["floor"], ratio, at_most=True, samples=samples, note=note
    )
