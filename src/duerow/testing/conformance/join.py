"""Many messages become one, exactly once: when a number or an age is reached, or a predicate is true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from duerow import Database, Draft, Drop, Join, Message, Pipeline, fixed, limited
from duerow.encryption import Encryption
from duerow.errors import NotSupported
from duerow.pipeline import Station
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase, Place
from duerow.testing.conformance.races import race
from duerow.testing.contents import everything, payloads
from duerow.testing.faces import Face
from duerow.testing.pipeline_steps import carry, turns

THRICE = limited(3, fixed(seconds(0)))


def values(parts: list[Message]) -> list[Any]:
    return [part.payload["v"] for part in parts]


def joining(**terms: Any) -> Pipeline:
    """Return a pipeline that joins `pair` by order to `whole`; late parts can go to `late`."""
    named: dict[str, Any] = {"by": "payload.order", "count": 2, "retry": THRICE, "function": values, **terms}
    outputs = ["whole", "late"] if named.get("late") == "late" else ["whole"]
    return Pipeline("p", [Join("pair", to="whole", **named)], outputs=outputs)


def push(db: Database, *parts: tuple[Any, Any], **options: Any) -> list[int]:
    drafts = [Draft({"order": order, "v": value}, **options) for order, value in parts]
    return [one.id for one in db.queue("pair").push_many(drafts)]


def can_join(db: Database) -> bool:
    """Return whether the store has transactions over several messages; if not, check that it refuses joins."""
    if db.store.capabilities.transactions:
        return True
    push(db, (1, "a"))
    (reservation,) = db.queue("pair").reserve_many(1)
    lent = everything(db)
    settlement = joining().stations[0].settlement(reservation.message, 100)
    with pytest.raises(NotSupported, match="the join of message"):
        db.queue("pair").settle([(reservation, settlement)])
    assert everything(db) == lent
    return False


def can_decide(db: Database, pipeline: Pipeline) -> bool:
    """Return whether a function can decide in the store's transaction; if not, check that such a join is refused."""
    if not can_join(db):
        return False
    if db.store.capabilities.interactive:
        return True
    with pytest.raises(NotSupported, match="a function inside the database's transaction"):
        pipeline.check_store(db.store.capabilities)
    ids = push(db, ("Z", 1))
    (reservation,) = db.queue("pair").reserve_many(1)
    lent = everything(db)
    settlement = pipeline.stations[0].settlement(reservation.message, 100)
    with pytest.raises(NotSupported, match="complete="):
        db.queue("pair").settle([(reservation, settlement)])
    assert everything(db) == lent
    db.queue("pair").remove(ids[0], even_if_leased=True)
    return False


def test_a_set_is_merged_once_when_it_has_its_number_of_parts(db: Database) -> None:
    if not can_join(db):
        return
    ids = push(db, ("A", 1), ("B", 2), headers={"trace": "t", "hops": 1}, group=None, priority=4)
    ids += push(db, ("A", 3), headers={"trace": "t", "hops": 5, "own": True}, priority=4)
    carry(db, joining())
    (merged,) = db.queue("whole").find()
    stood = merged.headers["set"]
    assert isinstance(stood, int)
    assert ids[0] < stood < merged.id
    assert merged.payload == [1, 3]
    assert merged.headers == {"trace": "t", "parent": f"{ids[0]},{ids[2]}", "parents": 2, "set": stood, "hops": 6}
    assert (merged.key, merged.group, merged.priority, merged.attempts) == (None, None, 4, 0)
    assert merged.id > max(ids)
    assert db.queue("pair").count() == 0
    assert payloads(db.queue("pair/sets")) == [{"correlation": "B"}]
    carry(db, joining())
    assert db.queue("whole").count() == 1


def test_history_tells_of_each_part_which_set_it_joined(db: Database, clock: MovableClock) -> None:
    if not can_join(db):
        return
    pipeline = joining(late="new", history=hours(1), within=minutes(1))
    parts = push(db, *[(1, value) for value in range(5)], headers={"trace": "t"})
    carry(db, pipeline, chunk=3)
    clock.advance(minutes(1))
    carry(db, pipeline)
    told = {event.id: event for event in db.queue("pair").history()}
    sets = [told[id].headers["part-of"] for id in parts]
    assert sets == [sets[0]] * 2 + [sets[2]] * 2 + [sets[4]]
    assert {(event.outcome, event.moved_to, event.headers["trace"]) for event in told.values()} == {
        ("done", "pair/sets", "t")
    }
    stood = {event.id: event for event in db.queue("pair/sets").history()}
    assert set(stood) == set(sets)
    merged = {message.headers["set"]: message for message in db.queue("whole").find()}
    assert [merged[id].headers["parent"] for id in dict.fromkeys(sets)] == [
        f"{parts[0]},{parts[1]}",
        f"{parts[2]},{parts[3]}",
        f"{parts[4]}",
    ]
    db.queue("pair", history=hours(1)).replay(parts[0])
    (again,) = db.queue("pair").find()
    assert again.headers == {"trace": "t", "replay-of": parts[0]}


def test_parts_are_handed_over_as_they_were_the_oldest_id_first(db: Database, clock: MovableClock) -> None:
    if not can_join(db):
        return
    seen: list[Message] = []
    pipeline = joining(function=seen.extend, count=3, null=True, by=lambda message: message.headers["h"])
    drafts = [
        Draft({"deep": [{"ü": -0.0}], "n": None, "v": 1.0}, key="k1", headers={"h": 5}, group="g"),
        Draft(b"\x00\xff", headers={"h": 5, "x": "y"}, priority=-2),
        Draft([1 << 62, True, "1"], headers={"h": 5}),
    ]
    pushed = db.queue("pair").push_many(drafts)
    db.queue("pair").reserve_many(1, lease=minutes(1))
    carry(db, pipeline, chunk=1)
    clock.advance(minutes(2))
    carry(db, pipeline, chunk=1)
    assert [one.id for one in seen] == [one.id for one in pushed]
    for one, draft in zip(seen, drafts, strict=True):
        assert repr(one.payload) == repr(draft.payload)
        assert (one.key, one.headers, one.group, one.priority) == (
            draft.key,
            draft.headers,
            draft.group,
            draft.priority,
        )
        assert one.queue == "pair"
    assert sorted(one.attempts for one in seen) == [1, 1, 2]


def test_one_claim_may_hold_several_sets_and_parts_that_are_late_for_theirs(db: Database) -> None:
    if not can_join(db):
        return
    parts = [("A", 1), ("A", 2), ("B", 1), ("A", 3), ("A", 4), ("A", 5), ("C", 1), ("B", 2)]
    push(db, *parts)
    carry(db, joining(late="new"))
    assert sorted(payloads(db.queue("whole"))) == [[1, 2], [1, 2], [3, 4]]
    assert sorted(one["correlation"] for one in payloads(db.queue("pair/sets"))) == ["A", "C"]
    push(db, ("A", 6), ("D", 1), ("D", 2), ("D", 3))
    carry(db, joining(late="late"))
    assert sorted(payloads(db.queue("whole"))) == [[1, 2], [1, 2], [1, 2], [3, 4], [5, 6]]
    assert [one["v"] for one in payloads(db.queue("late"))] == [3]


def test_a_predicate_decides_on_the_parts_that_are_there(db: Database) -> None:
    asked: list[list[int]] = []

    def complete(parts: list[Message]) -> bool:
        asked.append([part.payload["v"] for part in parts])
        if 13 in asked[-1]:
            raise ValueError("unlucky")
        return sum(asked[-1]) >= 10

    pipeline = joining(count=None, complete=complete, late="new")
    if not can_decide(db, pipeline):
        return
    push(db, ("A", 4), ("A", 5))
    carry(db, pipeline)
    push(db, ("A", 13), ("B", 1), ("A", 1), ("A", 2))
    carry(db, pipeline)
    assert asked[:2] == [[4], [4, 5]]
    assert [4, 5, 1] in asked
    assert payloads(db.queue("whole")) == [[4, 5, 1]]
    (dead,) = db.queue("pair").find()
    assert (dead.payload["v"], dead.status) == (13, "dead")
    assert dead.last_error is not None
    assert "ValueError: unlucky" in dead.last_error.message
    assert sorted(one["correlation"] for one in payloads(db.queue("pair/sets"))) == ["A", "B"]


def test_a_predicate_is_given_each_part_again_without_decoding_it_again(db: Database) -> None:
    decoded: dict[int, list[Message]] = {}

    def complete(parts: list[Message]) -> bool:
        for part in parts:
            if all(part is not one for one in decoded.setdefault(part.id, [])):
                decoded[part.id].append(part)
        return len(parts) == 40

    pipeline = joining(count=None, complete=complete)
    if not can_decide(db, pipeline):
        return
    for first in (0, 20):
        push(db, *(("A", number) for number in range(first, first + 20)))
    carry(db, pipeline, chunk=7)
    assert payloads(db.queue("whole")) == [list(range(40))]
    assert {len(once) for once in decoded.values()} == {1}


def test_a_set_that_waited_long_enough_is_merged_with_what_has_come(db: Database, clock: MovableClock) -> None:
    if not can_join(db):
        return
    pipeline = joining(count=3, within=minutes(10), late="drop", remember=hours(1))
    push(db, ("A", 1))
    carry(db, pipeline)
    clock.advance(minutes(9))
    push(db, ("A", 2))
    carry(db, pipeline)
    assert payloads(db.queue("whole")) == []
    assert db.run(lambda: db.store.messages.next_due(["pair/sets"], seconds(0))) == minutes(1)
    clock.advance(minutes(1))
    carry(db, pipeline)
    assert payloads(db.queue("whole")) == [[1, 2]]
    push(db, ("A", 3))
    carry(db, pipeline)
    assert (payloads(db.queue("whole")), db.queue("pair").count()) == ([[1, 2]], 0)
    clock.advance(hours(2))
    push(db, ("A", 4))
    carry(db, pipeline)
    assert db.queue("pair/sets").count() == 1


def test_a_part_that_completes_a_set_while_its_time_is_up_is_part_of_it(db: Database, clock: MovableClock) -> None:
    if not can_join(db):
        return
    pipeline = joining(within=minutes(1), late="new")
    push(db, ("A", 1), ("B", 1))
    carry(db, pipeline)
    clock.advance(minutes(1))
    sets = db.queue("pair/sets")
    reservations = sets.reserve_many(2)
    merging = pipeline.consumers[1]
    closing = [(one, merging.settlement(one.message, 100)) for one in reservations]
    push(db, ("A", 2))
    list(turns(db, pipeline, pipeline.consumers[0]))
    assert [one.receipt.id for one in sets.settle(closing)] == [reservations[0].message.id]
    carry(db, pipeline)
    assert sorted(payloads(db.queue("whole"))) == [[1], [1, 2]]


def test_a_part_after_completion_is_a_dead_letter_unless_the_join_says_otherwise(db: Database) -> None:
    if not can_join(db):
        return
    push(db, ("A", 1), ("A", 2))
    carry(db, joining())
    late = push(db, ("A", 3))
    carry(db, joining())
    (dead,) = db.queue("pair").find()
    assert (dead.id, dead.status) == (late[0], "dead")
    assert dead.last_error is not None
    assert "it is late: the set 'A' was already complete" in dead.last_error.message
    assert payloads(db.queue("whole")) == [[1, 2]]


def test_a_set_has_no_more_parts_than_its_limit(db: Database) -> None:
    pipeline = joining(count=None, complete=lambda parts: parts[-1].payload["v"] == "last", limit=2)
    if not can_decide(db, pipeline):
        return
    push(db, ("A", 1), ("A", 2), ("A", "last"), ("B", 1), ("B", "last"))
    carry(db, pipeline)
    assert payloads(db.queue("whole")) == [[1, "last"]]
    (dead,) = db.queue("pair").find()
    assert dead.payload["v"] == "last"
    assert dead.last_error is not None
    assert "the set 'A' has reached limit=2 parts and is not complete" in dead.last_error.message


def test_a_merge_that_fails_is_tried_again_with_the_same_parts_and_at_last_kept_for_people(db: Database) -> None:
    if not can_join(db):
        return
    tried: list[list[int]] = []

    def merge(parts: list[Message]) -> Any:
        tried.append(values(parts))
        if tried[-1][0] == 0:
            raise ValueError("no")
        return Drop if tried[-1][0] == 1 else {1}

    push(db, (0, 0), (0, 1), (1, 1), (1, 1), (2, 2), (2, 2))
    carry(db, joining(function=merge))
    assert Counter(map(tuple, tried)) == {(0, 1): 3, (1, 1): 1, (2, 2): 3}
    dead = {one.payload["correlation"]: one for one in db.queue("pair/sets").find()}
    assert {name: one.status for name, one in dead.items()} == {"0": "dead", "2": "dead"}
    errors = [one.last_error.message for one in dead.values() if one.last_error]
    assert errors[0] == "ValueError: no"
    assert "join 'pair', set '2' (message" in errors[1]
    db.queue("pair/sets").requeue(id=dead["0"].id)
    carry(db, joining())
    assert payloads(db.queue("whole")) == [[0, 1]]


def test_what_tells_no_set_is_a_failed_attempt_and_values_of_different_types_are_different_sets(db: Database) -> None:
    if not can_join(db):
        return
    orders: Sequence[Any] = ["1", 1, True, "true", 1.5, "A"]
    push(db, *((order, number) for number, order in enumerate(orders)))
    push(db, (None, 0), ([1], 0), ({"a": 1}, 0))
    db.queue("pair").push("no object")
    carry(db, joining())
    assert db.queue("pair/sets").count() == len(orders)
    dead = db.queue("pair").find()
    assert [one.status for one in dead] == ["dead"] * 4
    assert all("payload.order must be text" in one.last_error.message for one in dead if one.last_error)
    orders = ["1", 1.0, True, "true", 1.5, "A"]  # 1.0 is the number 1, whichever program wrote it
    push(db, *((order, number) for number, order in enumerate(orders)))
    carry(db, joining())
    assert sorted(payloads(db.queue("whole"))) == [[number, number] for number in range(len(orders))]


def test_a_part_whose_lease_is_lost_is_in_its_set_once(db: Database, clock: MovableClock) -> None:
    if not can_join(db):
        return
    pipeline = joining(count=3)
    station: Station = pipeline.stations[0]
    push(db, ("A", 1), ("A", 2))
    queue = db.queue("pair")
    stale = queue.reserve_many(2, lease=minutes(1))
    late = [(one, station.settlement(one.message, 100)) for one in stale]
    assert queue.settle(late[:1]) == []
    clock.advance(minutes(2))
    carry(db, pipeline)
    assert [one.receipt.id for one in queue.settle(late)] == [one.message.id for one in stale]
    push(db, ("A", 3))
    carry(db, pipeline)
    assert payloads(db.queue("whole")) == [[1, 2, 3]]


def test_a_set_that_somebody_took_away_begins_anew(db: Database) -> None:
    if not can_join(db):
        return
    push(db, ("A", 1))
    carry(db, joining())
    db.queue("pair/sets").purge("pair/sets")
    push(db, ("A", 2))
    carry(db, joining())
    push(db, ("A", 3))
    carry(db, joining())
    assert payloads(db.queue("whole")) == [[2, 3]]


def test_parts_that_arrive_at_once_make_each_set_once(
    db: Database, face: Face, place: Place, clock: MovableClock, scale: int
) -> None:
    if not can_join(db):
        return
    orders, each = 12 * scale, 4
    parts = [(order, value) for order in range(orders) for value in range(each)]
    push(db, *sorted(parts, key=lambda part: hash((part, 7))))
    pipeline = joining(count=each, function=lambda parts: [values(parts), parts[0].payload["order"]])

    def work(queue: Any) -> None:
        carry(queue.database, pipeline, chunk=3)

    race(face, place, clock, [work] * 3)
    carry(db, pipeline)
    merged = payloads(db.queue("whole"))
    assert sorted(order for _, order in merged) == list(range(orders))
    assert all(sorted(values) == list(range(each)) for values, _ in merged)
    assert (db.queue("pair").count(), db.queue("pair/sets").count()) == (0, 0)


@dataclass
class Leg:
    """A declared payload with types that JSON does not have."""

    order: int
    price: Decimal


def test_parts_of_a_declared_type_and_encrypted_ones_come_back_as_they_were(open_database: OpenDatabase) -> None:
    db = open_database(encryption=Encryption([Encryption.new_key()]))
    if not can_join(db):
        return
    decided: dict[str, Any] = {"count": None, "complete": lambda parts: sum(part.payload.price for part in parts) > 3}
    pipeline = joining(
        payload=Leg,
        **(decided if db.store.capabilities.interactive else {"count": 2}),
        function=lambda parts: Leg(parts[0].payload.order, sum(part.payload.price for part in parts)),
    )
    legs = db.queue("pair", payload=Leg)
    legs.push_many([Draft(Leg(4_111_111_111, Decimal("1.10"))), Draft(Leg(4_111_111_111, Decimal("2.20")))])
    carry(db, pipeline, chunk=1)
    kept = everything(db)
    assert not any("4111111111" in record.payload or "1.10" in record.payload for record in kept)
    (merged,) = db.queue("whole", payload=Leg).find()
    assert merged.payload == Leg(4_111_111_111, Decimal("3.30"))
