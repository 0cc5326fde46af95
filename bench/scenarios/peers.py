"""duerow, hand-written SQL and other queues, in the same rounds: single and bulk pushes, drains, and latency.

Every run of a contestant has a fresh copy of a database that holds its schema, so that nobody meets what an earlier
run has left behind.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from bench.context import Context, Scenario
from bench.peers import CONTESTANTS, POSTGRESQL, SQLITE, drained_by, load, present, runs
from bench.processes import Child, Prepared, start, together
from bench.results import Result, against, percentile
from bench.rounds import check_ids, interleave
from bench.scenarios import cost
from bench.sizes import Size

WARM_UP = 5


class Place(Protocol):
    """Where a contestant's database comes from."""

    def fresh(self, name: str) -> str:
        """Return the URL of a database that holds nothing but the contestant's schema."""

    def settle_down(self, url: str) -> None:
        """Let maintenance happen now, so that it does not fall into a measurement."""


@dataclass
class Files:
    """SQLite files in a folder, all opened with the same setting of `synchronous`."""

    folder: Path
    synchronous: str

    def fresh(self, name: str) -> str:
        """Return the URL of a new file with the contestant's tables."""
        folder = self.folder / f"{name}-{self.synchronous}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        url = f"sqlite:///{folder / 'peer.db'}?synchronous={self.synchronous}"
        load(name).set_up(url)
        return url

    def settle_down(self, url: str) -> None:
        """Leave the file as its fill left it."""


def push(context: Context) -> list[Result]:
    """One message after the other, each committed before the next."""
    size = context.size
    samples = _pushed(context.templates, _on_postgresql(), size.rounds, runs.push, size.pushes)
    return _lines("single push, own commit", samples)


def bulk(context: Context) -> list[Result]:
    """Many messages in calls of 10,000."""
    size = context.size
    samples = _pushed(context.templates, _on_postgresql(), size.rounds, runs.push_many, size.drain)
    return _lines(f"bulk push of {size.drain:,} in calls of {runs.CALL:,}", samples)


def drain(context: Context) -> list[Result]:
    """A handler that only notes the number, in one process."""
    samples = _drained(context.templates, _on_postgresql(), context.size)
    return _lines(f"drain of {context.size.drain:,}, one process", samples, _fewer(context.size, POSTGRESQL))


def latency(context: Context) -> list[Result]:
    """From the call of push in one process to the handler in another, the queue being empty."""
    place, size = context.templates, context.size
    waited: dict[str, list[list[float]]] = {}

    def contestant(name: str) -> Callable[[], float]:
        def run() -> float:
            waited.setdefault(name, []).append(_waited(name, place.fresh(name), size.latency))
            return median(waited[name][-1])

        return run

    p50 = interleave({name: contestant(name) for name in _on_postgresql()}, size.rounds)
    p99 = {name: [percentile(one, 99) for one in rounds] for name, rounds in waited.items()}
    return [
        *_lines("push to handler, p50", p50, unit="ms"),
        *_lines("push to handler, p99", p99, unit="ms"),
    ]


def sqlite(context: Context) -> list[Result]:
    """Pushes and drains on SQLite files, at FULL and at what litequeue sets; each connection is asked for it."""
    return [*_on_sqlite(context, "FULL", SQLITE), *_on_sqlite(context, "NORMAL", ("litequeue",))]


def _on_sqlite(context: Context, synchronous: str, names: tuple[str, ...]) -> list[Result]:
    place, all_of_them = Files(context.folder, synchronous), [*CONTESTANTS, *present(names)[0]]
    for name in all_of_them:
        _require_durability(name, place)
    title = f"SQLite, synchronous={synchronous}"
    pushed = _pushed(place, all_of_them, context.size.rounds, runs.push, context.size.pushes)
    drained = _drained(place, all_of_them, context.size)
    return [
        *_lines(f"{title}: single push, own commit", pushed),
        *_lines(f"{title}: drain of {context.size.drain:,}", drained, _fewer(context.size, names)),
    ]


def _require_durability(name: str, place: Files) -> None:
    adapter: Any = load(name)
    found = adapter.synchronous(place.fresh(name))
    if found != {"NORMAL": 1, "FULL": 2}[place.synchronous]:
        raise AssertionError(f"{name} has synchronous = {found} where {place.synchronous} is measured")


SCENARIOS: dict[str, Scenario] = {
    "push": push,
    "bulk": bulk,
    "drain": drain,
    "latency": latency,
    "sqlite": sqlite,
    "cost": cost.of_a_message,
}


def _on_postgresql() -> list[str]:
    return [*CONTESTANTS, *present(POSTGRESQL)[0]]


def _pushed(
    place: Place, names: Iterable[str], rounds: int, prepare: Callable[..., Prepared[None]], count: int
) -> dict[str, list[float]]:
    """Let each contestant push `count` messages in its way; return how many a second."""

    def contestant(name: str) -> Callable[[], float]:
        def run() -> float:
            url = place.fresh(name)
            place.settle_down(url)
            seconds = together(prepare, name, url, count).seconds
            _require(load(name).left(url), count, name)
            return count / seconds

        return run

    return interleave({name: contestant(name) for name in names}, rounds)


def _drained(place: Place, names: Iterable[str], size: Size) -> dict[str, list[float]]:
    def contestant(name: str) -> Callable[[], float]:
        count = drained_by(name, size)

        def run() -> float:
            url = place.fresh(name)
            together(runs.push_many, name, url, count)
            place.settle_down(url)
            timed = together(runs.drain, name, url, count)
            check_ids(list(range(count)), timed.results, name)
            _require(load(name).left(url), 0, name)
            return count / timed.seconds

        return run

    return interleave({name: contestant(name) for name in names}, size.rounds)


def _fewer(size: Size, names: tuple[str, ...]) -> str:
    slow = [name for name in present(names)[0] if load(name).ONE_BY_ONE]
    return f"{' and '.join(slow)}: {size.singly:,} messages, since one is taken at a time" if slow else ""


def _waited(name: str, url: str, count: int) -> list[float]:
    """Return how many milliseconds each of `count` messages waited, without those that warmed everything up."""
    waits = [random.uniform(0.02, 0.08) for _ in range(count + WARM_UP)]
    worker = Child(runs.note_times, name, url)
    sender = Child(runs.push_now_and_then, name, url, [1.0, *waits[1:]])
    try:
        start((worker, sender))
        pushed, _, _ = sender.result()
        handled, _, _ = worker.result()
    finally:
        for child in (worker, sender):
            child.end()
    if pushed.keys() != handled.keys():
        raise AssertionError(f"{name} was sent {len(pushed)} messages and handled {len(handled)}")
    return [(handled[number] - when) / 1e6 for number, when in pushed.items() if number >= WARM_UP]


def _require(found: int, expected: int, name: str) -> None:
    if found != expected:
        raise AssertionError(f"{name} has {found} messages waiting where there should be {expected}")


def _lines(title: str, samples: dict[str, list[float]], note: str = "", unit: str = "messages/s") -> list[Result]:
    """Return duerow beside each other contestant."""
    others = [name for name in samples if name != "duerow"]
    return [against(title, samples, name, None, unit=unit, note=note) for name in others]
