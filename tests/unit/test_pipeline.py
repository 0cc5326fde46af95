"""What a pipeline refuses when it is made, what its stations do to a message, and that it runs on plain workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import UNSET

import duerow
from duerow import (
    Bury,
    Commit,
    Draft,
    Drop,
    Frame,
    Join,
    Message,
    Move,
    Pipeline,
    Relay,
    Retry,
    Rollback,
    Sink,
    Switch,
    aio,
)
from duerow.errors import ConfigurationError, InvalidMessage, InvalidOutcome
from duerow.payload.codec import Encoded, encode
from duerow.pipeline.frame import Row
from duerow.retry import fixed, limited
from duerow.settlement import Settlement
from duerow.testing.clock import MovableClock, seconds

ONCE_MORE = limited(2, fixed(timedelta(0)))


def same(message: Message) -> Any:
    return message.payload


def handed(payload: Any = None, attempts: int = 1, **headers: Any) -> Message:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    lease = (attempts, attempts, "w", at, at, at, None)
    return Message(7, "s", payload, "json", None, headers, None, 0, "new", at, at, *lease)


def settled(station: duerow.pipeline.Station, message: Message | None = None, max_hops: int = 100) -> Settlement:
    return station.settlement(message or handed(), max_hops)


def failure_of(settlement: Settlement) -> str:
    assert isinstance(settlement, Rollback)
    return str(settlement.error)


# What is refused when the graph is made.


def test_a_target_that_is_no_station_and_no_output_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"relay 'a' sends to the unknown queue 'b'.*outputs=\['b'\]"):
        Pipeline("p", [Relay("a", same, to="b")])


def test_an_unknown_target_of_a_switch_is_refused_with_its_label() -> None:
    with pytest.raises(ConfigurationError, match="'nowhere' for label 'large'"):
        Pipeline("p", [Switch("a", same, to={"small": "b", "large": "nowhere"}), Sink("b", same)])


def test_a_loop_that_no_entry_reaches_is_refused() -> None:
    loop = [Switch("a", same, to={"on": "b", "out": "c"}), Relay("b", same, to="a"), Sink("c", same)]
    with pytest.raises(ConfigurationError, match="no entry leads to 'a', 'b', 'c'"):
        Pipeline("p", loop)


def test_a_loop_that_an_entry_reaches_is_allowed() -> None:
    stations = [
        Relay("first", same, to="a"),
        Switch("a", same, to={"on": "b", "out": "c"}),
        Relay("b", same, to="a"),
        Sink("c", same),
    ]
    assert Pipeline("p", stations).entries == ["first"]


def test_a_station_that_sends_to_itself_may_be_an_entry() -> None:
    assert Pipeline("p", [Switch("a", same, to={"again": "a", "out": "b"})], outputs=["b"]).entries == ["a"]


def test_stations_with_no_way_out_are_refused() -> None:
    stations = [Relay("first", same, to="a"), Relay("a", same, to="b"), Relay("b", same, to="a")]
    with pytest.raises(ConfigurationError, match="no way out of 'first', 'a', 'b'"):
        Pipeline("p", stations)


@pytest.mark.parametrize(
    ("stations", "outputs"),
    [
        ([Sink("a", same), Sink("a", same)], []),
        ([Relay("a", same, to="b"), Sink("b", same)], ["b"]),
        ([Relay("a", same, to="b")], ["b", "b"]),
    ],
    ids=["two stations", "a station and an output", "two outputs"],
)
def test_a_name_twice_is_refused(stations: list[Any], outputs: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="twice"):
        Pipeline("p", stations, outputs=outputs)


def test_an_output_that_no_station_sends_to_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no station sends to the output 'b'"):
        Pipeline("p", [Sink("a", same)], outputs=["b"])


async def awaited(message: Message) -> Any:
    return message.payload


def generating(message: Message) -> Iterator[Any]:
    yield message.payload


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Relay("a b", same, to="c"), "'a b'"),
        (lambda: Relay("a", same, to=""), "target of relay 'a'"),
        (lambda: Relay("a", "same", to="c"), "relay 'a': its function is 'same'"),
        (lambda: Sink("a", awaited), "async function"),
        (lambda: Sink("a", generating), "sink 'a': .* is a generator function"),
        (lambda: Switch("a", same, to={}), "switch 'a'"),
        (lambda: Switch("a", same, to={1: "b"}), "a label must be text, not 1"),
        (lambda: Switch("a", same, to={"x": "b c"}), "for label 'x'"),
        (lambda: Sink("a", same, retry=5), "policy must be .*, not 5"),
        (lambda: Pipeline("p", []), "no stations"),
        (lambda: Pipeline("p", [same]), "is not a station"),
        (lambda: Pipeline("p", Sink("a", same)), "its stations must be a list, not Sink"),
        (lambda: Pipeline("p", [Sink("a", same)], outputs=None), "outputs must be a list of queues, not None"),
        (lambda: Pipeline("p q", [Sink("a", same)]), "'p q'"),
        (lambda: Pipeline("p", [Relay("a", same, to="b")], outputs="b"), r"outputs=\['b'\]"),
        (lambda: Pipeline("p", [Relay("a", same, to="b")], outputs=["b", "c d"]), "'c d'"),
        (lambda: Pipeline("p", [Sink("a", same)], max_hops=0), "max_hops must be an integer of at least 1, not 0"),
        (lambda: Pipeline("p", [Sink("a", same)]).station("b"), "no station 'b'"),
    ],
)
def test_what_a_definition_cannot_be_is_said(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()


@pytest.mark.parametrize("to", ["b", ["b"], {"on": "b"}])
def test_a_frame_with_one_way_on_needs_no_word_on_where_its_rows_go(to: Any) -> None:
    station = Frame("a", same, to)
    silent, told, wrong = (Row(1, way, None, UNSET, UNSET, UNSET, UNSET, UNSET, None) for way in (None, "b", "c"))
    assert station.target(silent) == station.target(told) == "b"
    with pytest.raises(InvalidOutcome, match="'c', which is not one of"):
        station.target(wrong)


def test_a_lease_or_a_timeout_out_of_bounds_is_refused_with_the_station_that_has_it() -> None:
    with pytest.raises(InvalidMessage, match="lease of sink 'a'"):
        Sink("a", same, lease=timedelta(0))
    with pytest.raises(InvalidMessage, match="timeout of sink 'a'"):
        Sink("a", same, timeout=timedelta(0))


# What a station does to a message.


def test_a_relay_sends_on_what_its_function_returns() -> None:
    assert settled(Relay("s", lambda m: [m.payload], to="t"), handed(5)) == Move("t", encode([5]))


def test_a_relay_that_returns_drop_ends_the_message() -> None:
    assert settled(Relay("s", lambda m: Drop, to="t")) == Commit(dropped=True)


def test_a_relay_that_returns_none_fails_unless_it_said_that_it_may() -> None:
    assert "null=True" in failure_of(settled(Relay("s", lambda m: None, to="t")))
    assert settled(Relay("s", lambda m: None, to="t", null=True)) == Move("t", encode(None))


def test_a_switch_sends_on_by_label() -> None:
    assert settled(Switch("s", lambda m: ("x", 1), to={"x": "t", "y": "u"})) == Move("t", encode(1))


@pytest.mark.parametrize("returned", [("z", 1), "x", ("x",), ("x", 1, 2), (["x"], 1), None, Drop])
def test_a_switch_that_returns_anything_but_a_known_label_and_a_payload_fails(returned: Any) -> None:
    error = failure_of(settled(Switch("s", lambda m: returned, to={"x": "t"})))
    assert "switch 's', message 7" in error
    assert repr(returned) in error


def test_what_a_sink_returns_is_ignored() -> None:
    assert settled(Sink("s", lambda m: {1, 2})) == Commit()


@pytest.mark.parametrize("returned", [{1}, (1,), 1 << 70, float("nan"), {"at": datetime(2026, 1, 1)}, Commit()])
def test_a_payload_that_is_not_json_is_a_failed_attempt_that_names_station_message_and_value(returned: Any) -> None:
    error = failure_of(settled(Relay("s", lambda m: returned, to="t")))
    assert "relay 's', message 7" in error
    assert repr(returned)[:200] in error


def raising(error: BaseException) -> Callable[[Message], Any]:
    def function(message: Message) -> Any:
        raise error

    return function


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), RecursionError()])
def test_an_exception_is_a_failed_attempt_and_after_the_last_one_the_message_is_dead(error: BaseException) -> None:
    station = Relay("s", raising(error), to="t", retry=ONCE_MORE)
    assert settled(station) == Rollback(timedelta(0), error)
    last = settled(station, handed(attempts=2))
    assert isinstance(last, Bury)
    assert last.reason is error


def test_retry_and_bury_may_be_raised_and_returned() -> None:
    after, reason = Retry(seconds(5)), Bury("never")
    for station in (Sink("s", raising(after)), Sink("s", lambda m: after), Relay("s", lambda m: after, to="t")):
        assert settled(station) == Rollback(seconds(5), after)
    for station in (Sink("s", raising(reason)), Relay("s", lambda m: reason, to="t")):
        assert settled(station) is reason


def test_a_policy_that_fails_gives_way_to_the_default() -> None:
    def broken(attempt: int, started_at: Any, error: Any) -> timedelta:
        raise ZeroDivisionError

    settlement = settled(Sink("s", raising(ValueError("no")), retry=broken))
    assert isinstance(settlement, Rollback)
    assert settlement.delay is not None


def test_a_move_beyond_max_hops_buries_the_message_with_the_reason() -> None:
    station = Relay("s", same, to="t")
    assert isinstance(settled(station, handed(1, hops=2), max_hops=3), Move)
    buried = settled(station, handed(1, hops=3), max_hops=3)
    assert isinstance(buried, Bury)
    assert "max_hops=3" in str(buried.reason)
    assert settled(Sink("s", same), handed(1, hops=3), max_hops=3) == Commit()


# Without Spark.


def test_the_local_twin_carries_messages_through_every_station() -> None:
    pipeline = Pipeline(
        "orders",
        [
            Relay("check", lambda m: Drop if m.payload == 3 else m.payload, to="price"),
            Switch(
                "price",
                lambda m: ("small" if m.payload < 5 else "large", m.payload * 10),
                to={"small": "b", "large": "c"},
            ),
        ],
        outputs=["b", "c"],
    )
    with duerow.connect("memory://") as db:
        db.queue("check").push_many([Draft(n) for n in range(10)])
        pipeline.run(db)
        found = {name: sorted(m.payload for m in db.queue(name).find()) for name in ("check", "price", "b", "c")}
    assert found == {"check": [], "price": [], "b": [0, 10, 20, 40], "c": [50, 60, 70, 80, 90]}


def test_the_local_twin_returns_when_nothing_is_due_though_something_will_be() -> None:
    with duerow.connect("memory://", clock=MovableClock()) as db:
        db.queue("a").push(1, delay=seconds(60))
        db.queue("a").push(2)
        Pipeline("p", [Relay("a", same, to="b")], outputs=["b"]).run(db, until="idle")
        assert (db.queue("a").count(), db.queue("b").count()) == (1, 1)


def test_the_local_twin_waits_for_delayed_messages_until_empty() -> None:
    with duerow.connect("memory://") as db:
        db.queue("a").push(1, delay=timedelta(milliseconds=30))
        Pipeline("p", [Relay("a", same, to="b")], outputs=["b"]).run(db, until="empty")
        assert (db.queue("a").count(), db.queue("b").count()) == (0, 1)


def test_the_local_twin_raises_what_trying_again_does_not_cure() -> None:
    with duerow.connect("memory://") as db, pytest.raises(ConfigurationError, match="until cannot be 'never'"):
        Pipeline("p", [Sink("a", same)]).run(db, until="never")  # type: ignore[arg-type]


async def test_the_local_twin_refuses_an_async_database() -> None:
    async with await aio.connect("memory://") as db:
        with pytest.raises(ConfigurationError, match=r"duerow\.connect\(\)"):
            Pipeline("p", [Sink("a", same)]).run(db)  # type: ignore[arg-type]


def test_a_pipeline_is_drawn_with_its_labels_and_outputs() -> None:
    drawn = Pipeline("p", [Switch("a", same, to={'"x"': "b", "y": "c"}), Sink("b", same)], outputs=["c"]).mermaid()
    assert drawn.splitlines() == [
        "flowchart LR",
        '    q0{"a"}',
        '    q1(["b"])',
        '    q2[("c")]',
        '    q0 -- "#quot;x#quot;" --> q1',
        '    q0 -- "y" --> q2',
    ]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda message: generating(message), "a generator, so none of it has run"),
        (lambda message: awaited(message), "a coroutine, which is never awaited"),
        (lambda message: Bury, "the class Bury"),
        (lambda message: (Move("b"), Move("c")), "a tuple with Move"),
    ],
    ids=["a generator", "a coroutine", "a class", "a tuple"],
)
def test_a_station_does_not_take_for_done_what_can_only_be_a_mistake(returned: Any, said: str) -> None:
    for station in (Sink("s", returned, retry=ONCE_MORE), Relay("s", returned, to="b", retry=ONCE_MORE)):
        assert f"message 7: its function returned {said}" in failure_of(settled(station))


@dataclass
class OldBill:
    cents: int
    of: str


@dataclass
class NewBill:
    euros: float
    of: str


UPGRADES: dict[Any, Any] = {
    OldBill: lambda old: NewBill(old.cents / 100, old.of),
    "NewBill": lambda plain: {"euros": float(plain["price"]), "of": plain["of"]},
}


def test_stations_read_payloads_of_older_shapes_with_their_upgrades() -> None:
    terms: dict[str, Any] = {"payload": NewBill, "upgrades": UPGRADES}
    pipeline = Pipeline(
        "p",
        [
            Relay("a", lambda message: message.payload, to="b", **terms),
            Join(
                "b",
                lambda parts: sorted(part.payload.euros for part in parts),
                to="c",
                by="payload.of",
                complete=lambda parts: len(parts) == 4,
                **terms,
            ),
        ],
        outputs=["c"],
    )
    with duerow.connect("memory://") as db:
        for queue, bill in [("a", OldBill(150, "x")), ("a", NewBill(2.5, "x")), ("b", OldBill(350, "x"))]:
            db.queue(queue, payload=type(bill)).push(bill)
        db.queue("b").push(Encoded("NewBill", '{"price": "4.5", "of": "x"}'))
        pipeline.run(db, until="empty")
        assert [message.payload for message in db.queue("c").find()] == [[1.5, 2.5, 3.5, 4.5]]


def test_upgrades_need_a_type_to_convert_to() -> None:
    with pytest.raises(ConfigurationError, match="relay 'a': upgrades convert payloads to the declared type"):
        Relay("a", print, to="b", upgrades={"Old": dict})
    with pytest.raises(ConfigurationError, match=r"the upgrade from 'Old' to .* is 3, not a function"):
        Relay("a", print, to="b", payload=NewBill, upgrades={"Old": 3})  # type: ignore[dict-item]
