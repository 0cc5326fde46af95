"""A station's output goes to a queue of another database, once, whatever breaks, and both faces show where it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import duerow
from duerow import Database, Draft, Elsewhere, Fork, Join, Pipeline, Relay, Split, StoreUnavailable, Switch
from duerow.encryption import Encryption
from duerow.errors import ConfigurationError, Conflict, NotSupported
from duerow.pipeline.crossing import UNSURE_AFTER, name_of
from duerow.testing.clock import hours, minutes
from duerow.testing.faces import AwaitedFace, unwrapped
from duerow.testing.faults import fail_at, watch
from tests.copies.conftest import Make, Pair


def same(message: Any) -> Any:
    return message.payload


def run(pair: Pair, source: Database, pipeline: Pipeline, until: Any = "idle") -> None:
    """Run a pipeline by the face."""
    if isinstance(pair.face, AwaitedFace):
        pair.face.run(pipeline.arun(unwrapped(source), until))  # type: ignore[arg-type]
    else:
        pipeline.run(source, until)


def queue_of(database: Database, name: str) -> Any:
    """A queue as a program of that face has it."""
    return unwrapped(database).queue(name)  # type: ignore[attr-defined]


def relay(there: Any, name: str = "pack", **more: Any) -> Pipeline:
    """One station that sends elsewhere."""
    return Pipeline("across", [Relay(name, same, to=there, **more)])


@pytest.fixture
def two(make_pair: Make) -> Callable[..., Pair]:
    """A function that makes two databases in memory, by the blocking face."""
    return lambda face="sync": make_pair("memory", "memory", face)


def test_what_stations_send_elsewhere_arrives_once_with_all_that_it_has(pair: Pair) -> None:
    source, target = pair.open("source"), pair.open("target")
    there = queue_of(target, "readings")
    stations = [
        Relay("relay", same, to=there),
        Switch("switch", lambda message: ("far", message.payload), to={"far": there, "near": "near"}),
        Fork("fork", lambda message: {"readings": message.payload, "near": 0}, to=[there, "near"]),
        Split("split", lambda message: [message.payload, Draft("second", key="s", priority=2)], to=there),
        Join("join", lambda parts: [part.payload for part in parts], by="headers.of", count=2, to=there),
    ]
    pipeline = Pipeline("across", stations, outputs=["near"])
    source.queue("relay").push("relay", key="k", headers={"trace": "t"}, group="g", priority=3)
    for name in ("switch", "fork", "split"):
        source.queue(name).push(name, headers={"trace": "t"})
    source.queue("join").push_many([Draft(n, headers={"of": "one", "trace": "t"}) for n in range(2)])
    for _ in range(2):
        run(pair, source, pipeline)
    found = {str(one.payload): one for one in target.queue("readings").find(limit=100)}
    assert sorted(found) == ["[0, 1]", "fork", "relay", "second", "split", "switch"]
    assert len(target.queue("readings").find(limit=100)) == 6
    assert source.queue("readings").find() == []
    assert len(source.queue("near").find()) == 1
    for one in found.values():
        assert one.headers["trace"] == "t"
        assert str(one.headers["came-from"]).startswith("readings/")
        assert {"parent", "parents", "set", "crossing"}.isdisjoint(one.headers)
        assert (one.status, one.attempts) == ("new", 0)
    relayed = found["relay"]
    assert (relayed.key, relayed.group, relayed.priority, relayed.headers["hops"]) == ("k", "g", 3, 2)
    assert found["second"].key == "s"
    assert sorted(one.message.priority for one in target.queue("readings").reserve_many(10)) == [0, 0, 0, 0, 2, 3]


def test_a_message_that_was_sent_and_not_settled_is_not_doubled(pair: Pair) -> None:
    source, target = pair.open("source"), pair.open("target")
    pipeline = relay(queue_of(target, "x"))
    source.queue("pack").push("a", key="k")
    broken = pair.open("target")
    watch(unwrapped(broken), fail_at("receive: committed", StoreUnavailable("lost", outcome="unknown")))  # type: ignore[arg-type]
    run(pair, source, relay(queue_of(broken, "x")))
    (waiting,) = source.queue("x").find()
    assert (waiting.status, waiting.attempts, len(target.queue("x").find())) == ("error", 1, 1)
    assert "lost" in str(waiting.last_error)
    taken = target.queue("x").pop()  # neither the message nor its key is there any more
    assert taken is not None
    assert pair.clock is not None
    pair.clock.advance(hours(1))
    run(pair, source, pipeline)
    assert source.queue("x").find() == []
    assert target.queue("x").find() == []
    assert taken.headers["came-as"] == name_of(waiting)


@pytest.mark.parametrize("face", ["sync", "async"])
def test_two_runs_of_one_pipeline_send_each_message_once(two: Callable[..., Pair], face: str) -> None:
    pair = two(face)
    source, target = pair.open("source"), pair.open("target")
    late = source.queue("x").reserve  # a run that was held up holds a reservation that it has lost
    source.queue("pack").push("a")
    run(pair, source, relay(Elsewhere("x", down)))
    held = late()
    assert held is not None
    assert pair.clock is not None
    pair.clock.advance(minutes(2))
    run(pair, source, relay(queue_of(target, "x")))
    assert [one.payload for one in target.queue("x").find()] == ["a"]
    with pytest.raises(duerow.LeaseLost):
        held.commit()


def down() -> Any:
    """A database that does not answer."""
    raise StoreUnavailable("no route to the centre")


@pytest.mark.parametrize("face", ["sync", "async"])
def test_while_the_other_database_does_not_answer_messages_wait_untouched_and_why_says_so(
    two: Callable[..., Pair], face: str
) -> None:
    pair = two(face)
    source, target = pair.open("source"), pair.open("target")
    source.queue("pack").push_many([Draft(n) for n in range(3)])
    run(pair, source, relay(Elsewhere("x", down, database="the centre")))
    waiting = source.queue("x").find()
    assert [(one.payload, one.status, one.attempts) for one in waiting] == [(n, "new", 0) for n in range(3)]
    assert source.queue("x").stats().ready == 3
    (reason,) = source.queue("x").why(waiting[0].id)
    assert (reason.code, str(reason.by).endswith(":x/unreachable")) == ("unreachable", True)
    run(pair, source, relay(queue_of(target, "x")))
    assert [one.payload for one in target.queue("x").find()] == [0, 1, 2]
    assert source.queue("x").stats().lifetime.done == 3
    source.queue("x").push("by hand", headers={"crossing": "c"})
    last = source.queue("x").find()[0].id
    assert "sends it to another database" in source.queue("x").why(last)[0].text


def test_a_run_goes_on_when_the_other_database_answers_again(two: Callable[..., Pair], tmp_path: Any) -> None:
    pair = two()
    source, target = pair.open("source"), pair.open("target")
    tries: list[int] = []
    closed: list[str] = []

    def connect() -> Any:
        tries.append(1)
        if len(tries) < 3:
            down()
        database = duerow.connect(f"sqlite:///{tmp_path}/there.db", migrate=True)
        close = database.close
        database.close = lambda: (closed.append("closed"), close())[1]  # type: ignore[method-assign]
        return database

    source.queue("pack").push("a")
    pipeline = relay(Elsewhere("x", connect))
    run(pair, source, pipeline, "empty")
    assert (len(tries), closed) == (3, ["closed"])
    with duerow.connect(f"sqlite:///{tmp_path}/there.db") as there:
        assert [one.payload for one in there.queue("x").find()] == ["a"]
    assert target.queues() == []


def test_a_run_that_waits_for_the_other_database_can_be_stopped() -> None:
    with duerow.connect("memory://") as source:
        source.queue("pack").push("a")
        tries: list[int] = []
        worker: Any = None

        def connect() -> Any:
            tries.append(1)
            if len(tries) == 3:
                worker.stop()
            down()

        worker = relay(Elsewhere("x", connect)).worker(source)
        worker.run()
        assert len(tries) == 3


def test_a_queue_that_is_being_drained_there_gets_nothing(two: Callable[..., Pair]) -> None:
    pair = two()
    source, target = pair.open("source"), pair.open("target")
    target.run(lambda: target.store.metadata.put_settings("x", draining=True))
    source.queue("pack").push("a")
    run(pair, source, relay(queue_of(target, "x")))
    assert (len(source.queue("x").find()), target.queue("x").find()) == (1, [])
    target.queue("x").resume()
    run(pair, source, relay(queue_of(target, "x")))
    assert len(target.queue("x").find()) == 1


def test_a_key_that_is_live_there_is_a_failed_attempt_until_it_is_free(two: Callable[..., Pair]) -> None:
    pair = two()
    source, target = pair.open("source"), pair.open("target")
    assert pair.clock is not None
    target.queue("x").push("holder", key="k")
    source.queue("pack").push_many([Draft("a", key="k"), Draft("b")])
    run(pair, source, relay(queue_of(target, "x")))
    (waiting,) = source.queue("x").find()
    assert waiting.last_error is not None
    assert (waiting.last_error.type, waiting.attempts) == ("DuplicateKey", 1)
    assert [one.payload for one in target.queue("x").find()] == ["holder", "b"]
    target.queue("x").pop()
    pair.clock.advance(UNSURE_AFTER + hours(24))  # a refusal leaves no doubt, however old it is
    run(pair, source, relay(queue_of(target, "x")))
    assert sorted(one.payload for one in target.queue("x").find()) == ["a", "b"]


def test_a_message_that_may_have_arrived_before_the_other_database_forgot_is_left_to_people(
    two: Callable[..., Pair],
) -> None:
    pair = two()
    source, target = pair.open("source"), pair.open("target")
    assert pair.clock is not None
    source.queue("pack").push("a")
    run(pair, source, relay(Elsewhere("x", down)))
    source.queue("x").reserve()  # by a run that was killed, perhaps after it had sent it
    pair.clock.advance(UNSURE_AFTER + hours(1))
    run(pair, source, relay(queue_of(target, "x")))
    (dead,) = source.queue("x").find()
    assert (dead.status, target.queues()) == ("dead", [])
    assert f"'{name_of(dead)}'" in str(dead.last_error)
    source.queue("x").requeue(dead.id)
    run(pair, source, relay(queue_of(target, "x")))
    assert [one.payload for one in target.queue("x").find()] == ["a"]


def test_what_no_station_has_sent_gets_its_name_first_and_keeps_its_order(two: Callable[..., Pair]) -> None:
    pair = two()
    source, target = pair.open("source"), pair.open("target")
    source.queue("x").push_many([Draft(n, key=f"k{n}", group="g") for n in range(3)])
    run(pair, source, relay(queue_of(target, "x")))
    assert [(one.payload, one.key) for one in target.queue("x").find()] == [(n, f"k{n}") for n in range(3)]
    names = [one.headers["came-as"] for one in target.queue("x").find()]
    assert len(set(names)) == 3


def test_copies_of_a_message_that_has_a_name_arrive_under_names_of_their_own(two: Callable[..., Pair]) -> None:
    pair = two()
    source, target = pair.open("source"), pair.open("target")
    source.queue("x").push_many([Draft(n, headers={"crossing": "same"}) for n in range(2)])
    run(pair, source, relay(queue_of(target, "x")))
    assert [one.payload for one in target.queue("x").find()] == [0, 1]


def test_a_message_that_goes_round_between_two_databases_is_buried_at_the_limit(two: Callable[..., Pair]) -> None:
    pair = two()
    source, target = pair.open("source"), pair.open("target")
    there = Pipeline("round", [Relay("x", same, to=queue_of(target, "back"))], max_hops=5)
    back = Pipeline("round", [Relay("back", same, to=queue_of(source, "x"))], max_hops=5)
    source.queue("x").push("a")
    for _ in range(4):
        run(pair, source, there)
        run(pair, target, back)
    dead = [one for db in (source, target) for name in db.queues() for one in db.queue(name).find(status="dead")]
    assert len(dead) == 1
    assert "max_hops=5" in str(dead[0].last_error)


def test_typed_and_encrypted_payloads_arrive_as_they_were(two: Callable[..., Pair]) -> None:
    pair = two()
    source = pair.open("source", encryption=Encryption([Encryption.new_key()]))
    target = pair.open("target", encryption=Encryption([Encryption.new_key()]))
    source.queue("pack").push({"secret": 1}, key="k")
    source.queue("pack").push(b"bytes")
    run(pair, source, relay(queue_of(target, "x")))
    assert [one.payload for one in target.queue("x").find()] == [{"secret": 1}, b"bytes"]
    clear = pair.open("target")
    source.queue("pack").push(2)
    with pytest.raises(ConfigurationError, match="would be in clear text in queue 'x'"):
        run(pair, source, relay(queue_of(clear, "x")))


def test_kinds_that_nobody_here_knows_go_through(two: Callable[..., Pair]) -> None:
    from tests.copies.kinds import Reading

    pair = two()
    source, target = pair.open("source"), pair.open("target")
    source.queue("pack", payload=Reading).push(Reading(7, 2.5))
    run(pair, source, relay(queue_of(target, "x"), payload=Reading))
    assert target.queue("x", payload=Reading).find()[0].payload == Reading(7, 2.5)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda db: Elsewhere("a b", down), "a queue in another database: a queue cannot be called 'a b'"),
        (lambda db: Elsewhere("x", "url"), "connect must be a function"),  # type: ignore[arg-type]
        (lambda db: Elsewhere("x", down, database=""), "database must be 1 to 100 printable characters, not ''"),
        (lambda db: Elsewhere("x", lambda url: url), r"connect of queue 'x' of another database is called with \(\)"),
        (
            lambda db: Pipeline("p", [Switch("s", same, to={"a": Elsewhere("x", down), "b": db.queue("x")})]),
            "would wait in the same queue 'x'; give one of them another name",
        ),
        (
            lambda db: Pipeline("p", [Relay("x", same, to=db.queue("x"))]),
            "has 'x' twice",
        ),
    ],
)
def test_a_queue_elsewhere_that_cannot_be_one_is_refused_when_it_is_made(
    make: Callable[[Database], Any], said: str
) -> None:
    with duerow.connect("memory://") as db, pytest.raises(ConfigurationError, match=said):
        make(db)


def test_where_a_message_went_and_where_it_came_from_can_be_looked_up(pair: Pair) -> None:
    source, target, other = pair.open("source"), pair.open("target"), pair.open("target")
    there = Elsewhere("readings", lambda: unwrapped(other), name="out", database="the centre", history=hours(1))
    sent = source.queue("pack").push("a")
    run(pair, source, relay(there))
    (gone,) = source.queue("out").history(id=sent.id)
    (arrived,) = target.queue("readings").find(f"headers.\"came-from\" = 'out/{sent.id}'")
    assert gone.outcome == "done"
    assert f"arrived in queue 'readings' of the centre as {arrived.headers['came-as']}" in str(gone.log)
    assert str(arrived.headers["came-as"]).startswith(str(gone.headers["crossing"]))


def test_two_databases_with_queues_of_one_name_are_told_apart(two: Callable[..., Pair], tmp_path: Any) -> None:
    pair = two()
    source, target = pair.open("source"), pair.open("target")

    def other() -> Database:
        return duerow.connect(f"sqlite:///{tmp_path}/other.db", migrate=True)

    parts = {"a": queue_of(target, "x"), "b": Elsewhere("x", other, name="x-of-b", database="b")}
    pipeline = Pipeline("parted", [Switch("sort", lambda message: (message.payload, 1), to=parts)])
    source.queue("sort").push_many([Draft("a"), Draft("b"), Draft("b")])
    run(pair, source, pipeline)
    with other() as there:
        assert (target.queue("x").count(), there.queue("x").count()) == (1, 2)


def test_a_target_that_cannot_keep_the_promise_is_refused_before_anything_is_sent(
    two: Callable[..., Pair],
) -> None:
    pair = two()
    source = pair.open("source")
    source.queue("pack").push("a")
    with pytest.raises(ConfigurationError, match="is in the database that the pipeline runs on"):
        run(pair, source, relay(queue_of(pair.open("source"), "x")))
    with duerow.connect("memory://?transactions=off") as poor, pytest.raises(NotSupported, match="exactly once"):
        run(pair, source, relay(poor.queue("x")))

    async def awaited() -> None:
        async with await duerow.aio.connect("memory://") as other:
            relay(other.queue("x")).run(source)

    with pytest.raises(ConfigurationError, match="both databases must be blocking, or both async"):
        asyncio.run(awaited())
    assert [one.payload for one in source.queue("pack").find()] == ["a"]


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_target_that_is_refused_is_closed_as_any_other(two: Callable[..., Pair], face: str) -> None:
    pair = two(face)
    source, poor, closed = pair.open("source"), duerow.connect("memory://?transactions=off"), list[str]()
    if isinstance(pair.face, AwaitedFace):
        poor = pair.face.run(duerow.aio.connect("memory://?transactions=off"))  # type: ignore[assignment]
    close = poor.close
    poor.close = lambda: (closed.append("closed"), close())[1]  # type: ignore[method-assign]
    with pytest.raises(NotSupported, match="exactly once"):
        run(pair, source, relay(Elsewhere("x", lambda: poor)))
    assert closed == ["closed"]


def test_the_graph_shows_where_messages_wait_and_where_they_go() -> None:
    graph = relay(Elsewhere("readings", down, name="out", database='the "centre"')).graph
    assert graph.mermaid().splitlines()[1:] == [
        '    q0["pack"]',
        '    q1[/"out"/]',
        '    q1x[("readings in the #quot;centre#quot;")]',
        "    q0 --> q1",
        "    q1 -.-> q1x",
    ]
    assert '    q1x [label="readings in the \\"centre\\"" shape=cylinder];' in graph.dot()
    assert "    q1 -> q1x [style=dashed];" in graph.dot()
    assert (graph.stations[1].kind, graph.queues) == ("crossing", ["pack", "out"])


def test_a_transaction_that_loses_to_another_one_there_counts_no_attempt(two: Callable[..., Pair]) -> None:
    pair = two()
    source, target, busy = pair.open("source"), pair.open("target"), pair.open("target")
    watch(unwrapped(busy), fail_at("receive: before", Conflict("lost", waited=True)))  # type: ignore[arg-type]
    source.queue("pack").push("a")
    run(pair, source, relay(queue_of(busy, "x")))
    assert [(one.status, one.attempts) for one in source.queue("x").find()] == [("new", 0)]
    run(pair, source, relay(queue_of(target, "x")))
    assert [one.payload for one in target.queue("x").find()] == ["a"]
