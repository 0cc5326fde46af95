"""Whatever the graph, a pipeline gives the same on plain workers, awaited workers and Spark."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import duerow
from duerow import Draft, Drop, Fork, Join, Message, Pipeline, Relay, Split, Switch, aio, fixed, limited, spark
from duerow.pipeline import Station

MESSAGES = 12

# So that the functions below travel to Spark's processes whole, as those of a notebook do.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

Block = tuple[Any, ...]
"""What to build, and of what: ("diamond", [blocks of one way], [blocks of the other])."""

numbers = st.integers(2, 3)
harmless = st.one_of(
    st.tuples(st.just("relay"), numbers),
    st.tuples(st.just("loop"), numbers),
)
nested = st.recursive(
    harmless,
    lambda inside: st.one_of(
        st.tuples(st.just("switch"), st.lists(inside, max_size=2), st.lists(inside, max_size=1)),
        st.tuples(
            st.just("diamond"), st.lists(inside, min_size=1, max_size=2), st.lists(inside, min_size=1, max_size=1)
        ),
        st.tuples(st.just("spread"), numbers, st.lists(inside, max_size=2)),
    ),
    max_leaves=4,
)
# These change how many messages there are, so they stand where no join waits for a whole set.
open_ended = st.one_of(st.tuples(st.sampled_from(["drop", "fail", "split"]), numbers), st.just(("fork",)))
graphs = st.lists(st.one_of(nested, open_ended), min_size=1, max_size=4)

EVERYTHING: list[Block] = [
    ("drop", 5),
    ("fail", 4),
    ("fork",),
    ("diamond", [("spread", 2, [("loop", 2)])], [("switch", [("relay", 3)], [])]),
    ("split", 2),
]


@dataclass
class Builder:
    """Builds stations from the last one to the first, since each must know where to send.

    A message carries an id of its own, a value, and the sets that it is a part of: the innermost last.
    """

    stations: list[Station] = field(default_factory=list)
    terms: dict[str, Any] = field(default_factory=lambda: {"retry": limited(2, fixed(timedelta(0)))})

    def chain(self, blocks: Iterable[Block], to: str) -> str:
        """The queue where a row of blocks begins that ends in another one."""
        for kind, *arguments in reversed([*blocks]):
            to = getattr(self, kind)(*arguments, to)
        return to

    def add(self, kind: Callable[..., Station], function: Any, to: Any, **more: Any) -> str:
        station = kind(f"s{len(self.stations)}", function, to=to, **self.terms, **more)
        self.stations.append(station)
        return station.name

    def relay(self, by: int, to: str) -> str:
        return self.add(Relay, lambda m: {**m.payload, "value": m.payload["value"] * by + 1}, to)

    def drop(self, every: int, to: str) -> str:
        return self.add(Relay, lambda m: m.payload if m.payload["value"] % every else Drop, to)

    def fail(self, every: int, to: str) -> str:
        return self.add(Relay, partial(fail, every), to)

    def switch(self, odd: list[Block], even: list[Block], to: str) -> str:
        ways = {"odd": self.chain(odd, to), "even": self.chain(even, to)}
        return self.add(Switch, lambda m: ("odd" if m.payload["value"] % 2 else "even", m.payload), ways)

    def loop(self, rounds: int, to: str) -> str:
        again = f"s{len(self.stations)}"
        return self.add(Switch, partial(turn, rounds), {"again": again, "on": to})

    def split(self, into: int, to: str) -> str:
        return self.add(Split, partial(parts, into), to)

    def fork(self, to: str) -> str:
        return self.add(Fork, lambda m: {to: m.payload, "copies": m.payload}, [to, "copies"])

    def spread(self, into: int, blocks: list[Block], to: str) -> str:
        join = self.add(Join, merged, to, by=innermost, complete=is_whole)
        return self.add(Split, partial(nest, into), self.chain(blocks, join))

    def diamond(self, left: list[Block], right: list[Block], to: str) -> str:
        join = self.add(Join, merged, to, by=innermost, count=2)
        ways = [self.chain(left, join), self.chain(right, join)]
        return self.add(Fork, lambda m: dict(zip(ways, nest(2, m), strict=True)), ways)


def fail(every: int, message: Message) -> Any:
    if message.payload["value"] % every == 0:
        raise ValueError(f"{message.payload['id']} is refused")
    return message.payload


def turn(rounds: int, message: Message) -> Any:
    went = message.payload.get("rounds", 0)
    if went < rounds:
        return "again", {**message.payload, "value": message.payload["value"] + went, "rounds": went + 1}
    return "on", {name: value for name, value in message.payload.items() if name != "rounds"}


def parts(into: int, message: Message) -> list[Any]:
    payload = message.payload
    return [{**payload, "id": f"{payload['id']}.{n}", "value": payload["value"] + n} for n in range(into)]


def nest(into: int, message: Message) -> list[Any]:
    sets = [*message.payload["sets"], [message.payload["id"], into]]
    return [{**part, "sets": sets} for part in parts(into, message)]


def innermost(message: Message) -> str:
    return str(message.payload["sets"][-1][0])


def is_whole(found: list[Message]) -> bool:
    return len(found) == found[0].payload["sets"][-1][1]


def merged(found: list[Message]) -> Any:
    """The sum of the parts, each by its place among them: by its own id, since they come in any order."""
    in_order = sorted((part.payload for part in found), key=lambda payload: payload["id"])
    [*outer, [id, _]] = in_order[0]["sets"]
    return {"id": id, "value": sum(place * part["value"] for place, part in enumerate(in_order, 1)), "sets": outer}


def build(blocks: list[Block]) -> Pipeline:
    builder = Builder()
    first = builder.chain(blocks, "end")
    if first == "end":
        first = builder.relay(2, "end")
    # A loop at the very beginning would be an entry that is sent to; so something goes before it.
    builder.stations.append(Relay("entry", lambda m: m.payload, to=first))
    copies = ["copies"] if any(isinstance(s, Fork) and "copies" in s.targets for s in builder.stations) else []
    return Pipeline("random", builder.stations, outputs=["end", *copies])


DRAFTS = [Draft({"id": f"m{n}", "value": n, "sets": []}) for n in range(MESSAGES)]


def everything(pipeline: Pipeline, find: Callable[[str], list[Message]]) -> Counter[str]:
    """All messages of all queues, whatever their ids are."""
    return Counter(
        json.dumps(
            [queue, one.payload, one.status, one.attempts, one.last_error and one.last_error.type], sort_keys=True
        )
        for queue in [*(consumer.name for consumer in pipeline.consumers), *pipeline.outputs]
        for one in find(queue)
    )


def on_workers(pipeline: Pipeline) -> Counter[str]:
    with duerow.connect("memory://") as db:
        db.queue("entry").push_many(DRAFTS)
        pipeline.run(db, until="empty")
        return everything(pipeline, lambda queue: db.queue(queue).find(limit=1_000))


async def awaited(pipeline: Pipeline) -> Counter[str]:
    async with await aio.connect("memory://") as db:
        await db.queue("entry").push_many(DRAFTS)
        await pipeline.arun(db, until="empty")
        names = [*(consumer.name for consumer in pipeline.consumers), *pipeline.outputs]
        found = {name: await db.queue(name).find(limit=1_000) for name in names}
        return everything(pipeline, found.__getitem__)


def on_spark(pipeline: Pipeline, url: str, session: SparkSession) -> Counter[str]:
    with duerow.connect(url, migrate=True) as db:
        db.queue("entry").push_many(DRAFTS)
        spark.run(pipeline, url, session)
        return everything(pipeline, lambda queue: db.queue(queue).find(limit=1_000))


def check(blocks: list[Block], url: str, session: SparkSession) -> None:
    pipeline = build(blocks)
    expected = on_workers(pipeline)
    assert asyncio.run(awaited(pipeline)) == expected
    assert on_spark(pipeline, url, session) == expected
    ended = [json.loads(line) for line in expected]
    assert {queue for queue, _, status, _, _ in ended if status != "dead"} <= {*pipeline.outputs}


few, many = (
    settings(max_examples=number, phases=[Phase.explicit, Phase.generate])  # without looking for a smaller graph
    for number in (1, 20)
)


@few
@example(EVERYTHING)
@given(graphs)
def test_a_pipeline_of_any_shape_gives_the_same_on_workers_awaited_and_on_spark(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, blocks: list[Block]
) -> None:
    check(blocks, f"sqlite:///{tmp_path_factory.mktemp('graph')}/queues.db", session)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@many
@given(graphs)
def test_many_pipelines_of_any_shape_give_the_same_on_workers_awaited_and_on_spark(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, blocks: list[Block]
) -> None:
    check(blocks, f"sqlite:///{tmp_path_factory.mktemp('graph')}/queues.db", session)
