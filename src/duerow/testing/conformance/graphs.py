"""Whatever a graph looks like and wherever its consumers fail, everything that goes in comes out exactly once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duerow import Database, Draft, Fork, Join, Message, Pipeline, Relay, Split, Switch, fixed
from duerow.errors import StoreUnavailable
from duerow.pipeline import Station
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.faces import unwrapped
from duerow.testing.faults import watch
from duerow.testing.pipeline_steps import carry

ALWAYS: Final = fixed(seconds(0))

KINDS: Final = ("relay", "switch", "fork", "split", "join by count", "join by predicate", "join by age")

ROUNDS: Final = 200
"""The number of rounds after which something must be hanging."""

numbers = itertools.count()


class Faults:
    """Raises an error at certain calls, given their numbers."""

    def __init__(self, error: type[Exception], when: Iterable[int]) -> None:
        self._error, self._when, self._calls = error, frozenset(when), itertools.count()

    def __call__(self) -> None:
        """Fail if it is time."""
        if next(self._calls) in self._when:
            raise self._error("a fault was injected")

    def at(self, point: str) -> None:
        """Fail at a point of a claim or settlement if it is time."""
        if point.startswith(("settle", "reserve")):
            self()


def stations_of(kinds: Sequence[str], jumps: Sequence[int], faults: Faults) -> Iterator[Station]:
    """Return the stations of a graph: each sends to the next, and some also further ahead; weights are preserved."""
    name = f"g{next(numbers)}"
    names = [*(f"{name}.{place}" for place in range(len(kinds))), f"{name}.out"]
    for place, kind in enumerate(kinds):
        ways = sorted({names[place + 1], names[min(place + 1 + jumps[place], len(kinds))]})
        yield station_of(kind, names[place], ways, faults)


def station_of(kind: str, name: str, ways: Sequence[str], faults: Faults) -> Station:
    def weight(message: Message) -> int:
        faults()
        return int(message.payload["w"])

    def shares(whole: int, count: int) -> list[int]:
        return [whole // count + (place < whole % count) for place in range(count)]

    def fork(message: Message) -> Any:
        return {to: {"w": share} for to, share in zip(ways, shares(weight(message), len(ways)), strict=True)}

    def merge(parts: list[Message]) -> Any:
        faults()
        return {"w": sum(part.payload["w"] for part in parts)}

    def by(message: Message) -> int:
        return int(message.payload["w"]) % 2

    terms: dict[str, Any] = {"retry": ALWAYS, "lease": minutes(1)}
    joining: dict[str, Any] = {"to": ways[0], "by": by, "late": "new", "within": hours(1), **terms}
    makers: dict[str, Callable[[], Station]] = {
        "relay": lambda: Relay(name, lambda m: {"w": weight(m)}, to=ways[0], **terms),
        "switch": lambda: Switch(
            name, lambda m: (ways[weight(m) % len(ways)], m.payload), to={way: way for way in ways}, **terms
        ),
        "fork": lambda: Fork(name, fork, to=ways, **terms),
        "split": lambda: Split(name, lambda m: [{"w": w} for w in shares(weight(m), 3)], to=ways[0], **terms),
        "join by count": lambda: Join(name, merge, count=3, **joining),
        "join by predicate": lambda: Join(
            name, merge, complete=lambda parts: sum(p.payload["w"] for p in parts) % 3 == 0, **joining
        ),
        "join by age": lambda: Join(name, merge, **joining),
    }
    return makers[kind]()


graphs = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 2)), min_size=1, max_size=4)
weights = st.lists(st.integers(0, 1 << 40), min_size=1, max_size=6)
failing = st.frozensets(st.integers(0, 120), max_size=12)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(graph=graphs, weights=weights, chunk=st.integers(1, 7), in_store=failing, in_functions=failing)
def test_what_goes_into_a_graph_comes_out_of_it_whatever_fails_meanwhile(
    db: Database,
    open_database: OpenDatabase,
    clock: MovableClock,
    graph: list[tuple[str, int]],
    weights: list[int],
    chunk: int,
    in_store: frozenset[int],
    in_functions: frozenset[int],
) -> None:
    if not db.store.capabilities.transactions:
        return
    kinds, jumps = zip(*graph, strict=True)
    if not db.store.capabilities.interactive:
        kinds = tuple("join by count" if kind == "join by predicate" else kind for kind in kinds)
    stations = list(stations_of(kinds, jumps, Faults(ValueError, in_functions)))
    out = f"{stations[0].name.partition('.')[0]}.out"
    pipeline = Pipeline("graph", stations, outputs=[out])
    db.queue(stations[0].name).push_many([Draft({"w": weight}) for weight in weights])
    with open_database() as failing_database:
        watch(unwrapped(failing_database), Faults(StoreUnavailable, in_store).at)
        carry_to_the_end(failing_database, pipeline, clock, chunk)
    assert sum(message.payload["w"] for message in db.queue(out).find(limit=10_000)) == sum(weights)
    assert [name for name in db.queues() if name.startswith(out.removesuffix("out"))] == [out]


def carry_to_the_end(db: Database, pipeline: Pipeline, clock: MovableClock, chunk: int) -> None:
    """Run the stations until nothing is left, letting leases and deadlines of sets expire."""
    for _ in range(ROUNDS):
        clock.advance(hours(2))
        try:
            carry(db, pipeline, chunk)
            if not any(db.queue(consumer.name).count() for consumer in pipeline.consumers):
                return
        except StoreUnavailable:
            continue
    raise AssertionError("messages are left that nobody takes on")
