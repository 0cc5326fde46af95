"""Batches are lent without being read, and then read in ranges; staged entries are invisible until published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import pytest

from duerow import Database, Draft, Queue, fixed
from duerow.aio import bulk as aio_bulk
from duerow.errors import (
    BatchRefused,
    DuplicateKey,
    LeaseLost,
    NotSupported,
    QueueDraining,
    StagedLost,
    StoreUnavailable,
)
from duerow.message import OnDuplicate
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Committed,
    End,
    Entry,
    Lease,
    MessageHeader,
    Moved,
    Published,
    Refused,
    Retention,
    RolledBack,
    Turn,
)
from duerow.sync import bulk as sync_bulk
from duerow.testing.clock import START, MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase, Place
from duerow.testing.conformance.races import race
from duerow.testing.contents import everything, payloads, stored, take_all
from duerow.testing.faces import Face, unwrapped
from duerow.testing.faults import at, fail_at, watch

LEASE = minutes(10)


def entry(payload: object, queue: str = "billing", key: str | None = None, **more: Any) -> Entry:
    """Return an encoded entry, as an engine makes it."""
    terms: dict[str, Any] = {"headers": None, "due": None, "delay": None, **more}
    return Entry(queue, key, "json", str(payload), **terms)


def turns(lent: Lease, queue: str = "mail", end: Any = Committed()) -> list[Turn]:  # noqa: B008 - a frozen value
    """Return the turns that end lent messages."""
    named = lent.groups.get
    return [Turn(one, end, None if (group := named(one.id)) is None else (queue, group)) for one in lent.receipts]


def test_what_is_lent_unread_is_lent_as_by_a_reserve_and_read_by_the_claim_in_ranges_of_ids(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    pushed = [one.id for one in queue.push_many([Draft(n, key=f"k{n}", priority=n % 2) for n in range(6)])]
    queue.push("later", delay=hours(1))
    lent = queue.bulk.lend(4, lease=LEASE, consumer="a/1")
    first = sorted([*pushed[0::2], pushed[1]])
    assert lent == Lease([Receipt(id, 1) for id in first], {})
    assert [one.message.id for one in queue.reserve_many(9)] == [pushed[3], pushed[5]]
    found = queue.bulk.leased_range("a/1", first[1], first[-1])
    assert [(one.id, one.payload, one.key, one.attempts) for one in found] == [
        (id, str(pushed.index(id)), f"k{pushed.index(id)}", 1) for id in first[1:]
    ]
    assert found == [one for one in everything(db) if one.id in first[1:]]
    assert found[0].leased_until == clock.now() + LEASE
    assert [one.id for one in queue.bulk.leased_range("a/1", 0, first[-1], limit=2)] == first[:2]
    assert (
        db.queue("billing").bulk.leased_range("a/1", 0, first[-1]) == queue.bulk.leased_range("a/2", 0, first[-1]) == []
    )
    assert db.run(lambda: db.store.messages.settle(turns(lent)[:1])) == []
    assert [one.id for one in queue.bulk.leased_range("a/1", 0, first[-1])] == first[1:]


def test_what_is_lent_is_read_without_payloads_as_long_as_the_receipts_hold(
    db: Database, queue: Queue, other: Queue, clock: MovableClock
) -> None:
    full: dict[str, Any] = {"key": "k", "headers": {"t": 1.0, "a": "ž"}, "priority": -7}
    queue.push_many([Draft(0, **full), Draft(1, group="g"), Draft(2), Draft(3), Draft(4)])
    lent = queue.bulk.lend(9, lease=LEASE).receipts
    records = {one.id: one for one in everything(db)}
    wanted = [MessageHeader(one.id, one.key, one.headers, one.group, one.priority) for one in records.values()]
    found = queue.bulk.message_headers(lent)
    assert sorted(found, key=lambda one: one.id) == wanted
    assert [(one.key, one.group, one.priority) for one in wanted[:2]] == [("k", None, -7), (None, "g", 0)]
    assert (wanted[0].headers, wanted[2].headers) == ('{"a":"ž","t":1.0}', None)
    assert other.bulk.message_headers(lent) == queue.bulk.message_headers([]) == []
    ended = [Turn(lent[2], Committed()), Turn(lent[3], Moved("mail", None, None, None, None, None, None, "reject"))]
    assert queue.bulk.end_turns([*ended, Turn(lent[4], Committed()), Turn(Receipt(lent[4].id, 9), Committed())]) == [
        Refused(Receipt(lent[4].id, 9), ANY)
    ]
    assert queue.bulk.message_headers([*lent[2:], Receipt(lent[0].id, 9), *lent[:1]]) == wanted[:1]
    totals = queue.stats().lifetime
    assert (totals.done, totals.moved) == (2, 1)


def test_what_is_lent_unread_and_given_back_is_where_it_was_with_no_attempt_counted(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    queue.push_many([Draft("first"), Draft("second")])
    queue.push("third", due=START - hours(1))
    queue.push_many([Draft("one", group="g"), Draft("two", group="g")])
    before = {one.id: (one.due_at, one.attempts) for one in everything(db)}
    clock.advance(minutes(1))
    lent = queue.bulk.lend(9)
    assert len(lent.receipts) == 4
    assert list(lent.groups.values()) == ["g"]
    assert queue.bulk.lend(9).receipts == []
    assert queue.bulk.give_back(lent) == []
    assert {one.id: (one.due_at, one.attempts) for one in everything(db)} == before
    assert [one.receipt for one in queue.bulk.give_back(lent)] == lent.receipts
    assert [one.message.payload for one in queue.reserve_many(9)] == ["third", "first", "second", "one"]


def test_what_was_lent_unread_before_a_later_piece_failed_is_given_back(
    db: Database, open_database: OpenDatabase, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bulk in (aio_bulk, sync_bulk):
        monkeypatch.setattr(bulk, "PIECE", 2)
    queue.push_many([Draft(n) for n in range(6)])
    before = [(one.due_at, one.attempts) for one in everything(db)]
    assert len(queue.bulk.lend(3, consumer="a/1").receipts) == len(queue.bulk.leased_range("a/1", 0, 1 << 40)) == 3
    assert queue.bulk.give_back(queue.bulk.lend(9)) == []
    broken = open_database()
    watch(unwrapped(broken), fail_at("lend: before", StoreUnavailable("gone"), nth=2))
    with pytest.raises(StoreUnavailable, match="gone"):
        broken.queue("mail").bulk.lend(3)
    assert [(one.due_at, one.attempts) for one in everything(db) if one.leased_by is None] == before[3:]
    assert [one.message.payload for one in queue.reserve_many(9)] == [3, 4, 5]


def test_a_message_whose_attempts_are_used_up_is_buried_and_not_lent_unread(
    db: Database, mail: Queue, letters: Queue, clock: MovableClock
) -> None:
    mail.push_many([Draft("a", key="a", headers={"x": 1}), Draft("b", group="g")])
    for lent_now, buried_now in ((2, 0), (2, 0), (0, 2)):
        lent = mail.bulk.lend(9, lease=minutes(1), consumer="h:1:w/c")
        assert (len(lent.receipts), len(lent.buried)) == (lent_now, buried_now)
        clock.advance(minutes(1))
    dead = {one.payload: one for one in letters.find()}
    assert sorted(dead) == ["a", "b"]
    assert dead["a"].headers["dead-letter-key"] == "a"
    assert str(dead["a"].headers["dead-letter-reason"]).startswith(
        "was in hand when its worker died: lease of h:1:w/c ended at "
    )
    assert (dead["a"].headers["x"], dead["b"].group) == (1, "g")
    assert mail.find() == []


def test_history_tells_of_turns_that_were_lent_unread(db: Database, clock: MovableClock) -> None:
    keeping = db.queue("mail", history=hours(1), remember_keys=hours(1), retry=fixed(seconds(0)))
    keeping.push("a", key="k")
    keeping.bulk.lend(1, lease=minutes(1), consumer="lost")
    clock.advance(minutes(1))
    lent = keeping.bulk.lend(1, lease=minutes(1), consumer="kept")
    if db.store.capabilities.transactions:
        db.bulk.publish("b", {}, turns(lent), keep=keeping.keeping)
    else:
        db.run(lambda: db.store.messages.settle(turns(lent), keeping.keeping))
    told = [(one.outcome, one.worker) for one in keeping.history()]
    assert sorted(told) == [("done", "kept"), ("failed", "lost")]
    assert keeping.push("again", key="k").outcome == "ignored"


def test_what_is_staged_is_seen_when_it_is_published_in_the_order_of_parts_and_only_once(
    db: Database, queue: Queue, other: Queue, clock: MovableClock
) -> None:
    if not db.store.capabilities.transactions:
        with pytest.raises(NotSupported):
            db.bulk.publish("b", {})
        return
    queue.push_many([Draft(n) for n in range(3)])
    lent = queue.bulk.lend(3, lease=LEASE)
    full: dict[str, Any] = {"headers": '{"h":"x"}', "group": "g", "priority": -3, "delay": minutes(5)}
    db.bulk.stage("b", "2", [entry(1), entry(2, "mail", **full), entry(3, "mail", group="g")])
    db.bulk.stage("b", "1", [entry(5, due=START - hours(2))])
    db.bulk.stage("b", "failed", [entry('"never seen"')])
    db.bulk.stage("b", "2", [entry(4, key="k"), entry(6)])
    db.bulk.stage("another", "2", [entry(7)])
    db.bulk.stage("b", "none", [])
    before = everything(db)
    assert len(before) == 3
    clock.advance(minutes(1))
    assert db.bulk.publish("b", {"2": 5, "1": 1, "none": 0}, turns(lent)) == Published(repeated=False, entries=6)
    now = everything(db)
    assert [one.payload for one in now] == ["1", "2", "3", "4", "6", "5"]
    assert min(one.id for one in now) > max(one.id for one in before)
    assert {one.created_at for one in now} == {clock.now()}
    second = stored(queue, now[1].id)
    assert (second.headers, second.group, second.priority) == ({"h": "x"}, "g", -3)
    assert (second.due_at, second.first_due_at) == (clock.now() + minutes(5), clock.now() + minutes(5))
    assert (now[3].key, now[5].due_at) == ("k", START - hours(2))
    assert take_all(other) == [5, 1, 4, 6]
    assert take_all(queue) == []  # the head of the group is delayed
    clock.advance(minutes(5))
    assert take_all(queue) + take_all(queue) == [2, 3]
    with pytest.raises(StagedLost, match="its part '2' should have 5 entries, but has 0"):
        db.bulk.publish("b", {"2": 5})
    assert db.bulk.publish("another", {"2": 1}).entries == 1


def test_nothing_is_published_unless_all_of_it_can_be(db: Database, queue: Queue, other: Queue) -> None:
    if not db.store.capabilities.transactions:
        return
    queue.push_many([Draft(n) for n in range(3)])
    lent = queue.bulk.lend(3, lease=LEASE)
    other.push("held", key="k")
    db.bulk.stage("b", "1", [entry(1), entry(2, key="k")])
    lost = turns(lent)[1]
    db.run(lambda: db.store.messages.settle([lost]))
    before = everything(db)
    told = f"1 turn of the batch was refused .message {lost.receipt.id} is no"
    with pytest.raises(BatchRefused, match=told) as refused:
        db.bulk.publish("b", {"1": 2}, turns(lent), once="job")
    assert [(one.receipt, type(one.error)) for one in refused.value.refused] == [(lost.receipt, LeaseLost)]
    rest = [turn for turn in turns(lent) if turn is not lost and turn.receipt != lost.receipt]
    for wrong in (1, 3):
        with pytest.raises(StagedLost, match=f"should have {wrong} entr(y|ies), but has 2"):
            db.bulk.publish("b", {"1": wrong}, rest, once="job")
    with pytest.raises(DuplicateKey):
        db.bulk.publish("b", {"1": 2}, rest, once="job", on_duplicate="reject")
    db.run(lambda: db.store.metadata.put_settings("billing", draining=True))
    with pytest.raises(QueueDraining):
        db.bulk.publish("b", {"1": 2}, rest, once="job")
    db.run(lambda: db.store.metadata.put_settings("billing", draining=False))
    assert everything(db) == before
    assert not db.bulk.publish("b", {"1": 2}, rest, once="job").repeated
    assert db.bulk.publish("b", {"1": 2}, rest, once="job") == Published(repeated=True, entries=0)
    assert payloads(queue) == []
    assert sorted(map(str, payloads(other))) == ["1", "held"]


def test_a_batch_ends_its_turns_each_in_its_way_before_its_entries_meet_their_keys(
    db: Database, queue: Queue, other: Queue, clock: MovableClock
) -> None:
    if not db.store.capabilities.transactions:
        return
    drafts = [Draft("loop", key="k"), Draft("fail"), Draft("dead"), Draft("go"), Draft("g1", group="g")]
    queue.push_many([*drafts, Draft("g2", group="g")])
    lent = queue.bulk.lend(9, lease=LEASE)
    ends: list[End] = [
        Committed(),
        RolledBack(minutes(1), '{"message":"no","traceback":null,"type":"E"}'),
        Buried(None),
        Moved("billing", None, None, None, None, None, None, "reject"),
        Committed(),
    ]
    ended = [Turn(turn.receipt, end, turn.group) for turn, end in zip(turns(lent), ends, strict=True)]
    db.bulk.stage("b", "1", [entry(1, "mail", key="k"), entry(2, "mail", key="k"), entry(3, "mail", key="k2")])
    assert db.bulk.publish("b", {"1": 3}, ended).entries == 3
    assert payloads(other) == ["go"]
    assert sorted((str(one.payload), one.status) for one in queue.find()) == [
        ("1", "new"),
        ("3", "new"),
        ("dead", "dead"),
        ("fail", "error"),
        ("g2", "new"),
    ]
    assert sorted(map(str, take_all(queue))) == ["1", "3", "g2"]
    wanted: dict[OnDuplicate, list[int]] = {"replace": [10, 11], "earliest": [9, 11], "ignore": [11]}
    for mode, due in wanted.items():
        queue.push(9, key="k", delay=hours(1))
        db.bulk.stage(mode, "1", [entry(10, "mail", key="k", group=mode), entry(11, "mail", group=mode)])
        assert db.bulk.publish(mode, {"1": 2}, on_duplicate=mode).entries == 2
        assert sorted([*take_all(queue), *take_all(queue)]) == due


def test_a_push_that_is_named_happens_once_and_its_name_is_known_for_a_month(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    def push(*entries: Entry, once: str = "job/7") -> list[str]:
        return [one.outcome for one in db.run(lambda: db.store.messages.push(entries, "ignore", False, once))]

    assert push(entry(1, "mail"), entry(2, "mail", key="k")) == ["created", "created"]
    assert push(entry(1, "mail"), entry(2, "mail", key="k")) == push() == []
    assert push(entry(3, "mail", key="k"), once="job/8") == ["ignored"]
    db.run(lambda: db.store.metadata.put_settings("mail", draining=True))
    with pytest.raises(QueueDraining):
        push(entry(4, "mail"), once="job/9")
    db.run(lambda: db.store.metadata.put_settings("mail", draining=False))
    assert push(entry(4, "mail"), once="job/9") == ["created"]
    clock.advance(hours(29 * 24))
    assert db.prune() == 0
    assert push(entry(5, "mail")) == []
    clock.advance(hours(24))
    assert db.prune() == 3
    assert push(entry(6, "mail")) == ["created"]
    assert payloads(queue) == [1, 2, 4, 6]


def test_what_is_staged_and_never_published_is_gone_when_it_is_discarded_or_after_a_day(
    db: Database, clock: MovableClock
) -> None:
    for batch in ("discarded", "old", "old too"):
        db.bulk.stage(batch, "1", [entry(1), entry(2)])
    db.bulk.discard("discarded")
    db.bulk.discard("unknown")
    clock.advance(hours(23))
    db.bulk.stage("old", "1", [entry(3)])
    assert db.prune() == 0
    clock.advance(hours(1))
    assert db.prune() == 4
    assert db.prune() == 0
    if db.store.capabilities.transactions:
        for batch, found in (("discarded", 0), ("old", 1), ("old too", 0)):
            with pytest.raises(StagedLost, match=f"should have 2 entries, but has {found}"):
                db.bulk.publish(batch, {"1": 2})
        assert db.bulk.publish("old", {"1": 1}).entries == 1


def test_a_fault_at_any_point_of_a_publish_leaves_all_of_it_or_nothing(
    db: Database, open_database: OpenDatabase, queue: Queue, other: Queue
) -> None:
    if not db.store.capabilities.transactions:
        return
    keep = Retention(history=hours(1), keys=hours(1))
    points: list[str] = []
    faulty = open_database()
    watch(unwrapped(faulty), points.append)

    def batch(name: str, on: Database) -> Callable[[], Published]:
        queue.push_many([Draft(name, key=f"{name}-{n}") for n in range(2)])
        lent = db.queue("mail", history=hours(1)).bulk.lend(2, lease=LEASE)
        on.bulk.stage(name, "1", [entry(f'"{name}"', key=name), entry(f'"{name}"')])
        on.bulk.stage(name, "2", [entry(f'"{name}"', group="g")])
        return lambda: on.bulk.publish(name, {"1": 2, "2": 1}, turns(lent), once=name, keep=keep)

    batch("watched", faulty)()
    points = [point for point in points if point.startswith("publish: ")]
    assert len(points) > 5
    for number, point in enumerate(points):
        broken = open_database()

        def fail(point: str = point) -> None:
            raise ConnectionAbortedError(point)

        watch(unwrapped(broken), at(point, fail))
        publish = batch(f"b{number}", broken)
        before = (everything(db), len(db.queue("mail").history()))
        with pytest.raises(ConnectionAbortedError):
            publish()
        happened = point == "publish: committed"
        if not happened:
            assert (everything(db), len(db.queue("mail").history())) == before, point
        assert publish().repeated == happened
    assert Counter(payloads(other)) == dict.fromkeys(["watched", *(f"b{n}" for n in range(len(points)))], 3)
    assert payloads(queue) == []


def test_of_two_who_publish_one_batch_at_once_one_does(
    db: Database, queue: Queue, other: Queue, face: Face, place: Place, clock: MovableClock
) -> None:
    if not db.store.capabilities.transactions:
        return
    queue.push_many([Draft(n) for n in range(10)])
    lents = [queue.bulk.lend(1, lease=LEASE) for _ in range(5)]
    for n in range(10):
        db.bulk.stage(f"b{n}", "1", [entry(n), entry(n)])

    def publish(queue: Queue) -> list[int]:
        done = []
        for n in range(10):
            try:
                ended = turns(lents[n]) if n < 5 else []
                once = f"b{n}" if n % 2 else None
                if not queue.database.bulk.publish(f"b{n}", {"1": 2}, ended, once=once).repeated:
                    done.append(n)
            except (BatchRefused, StagedLost):
                pass
        return done

    results = race(face, place, clock, [publish, publish, publish])
    assert sorted(n for mine in results for n in mine) == list(range(10))
    assert sorted(payloads(other)) == sorted([*range(10), *range(10)])
    assert payloads(queue) == [*range(5, 10)]


def test_a_large_batch_is_lent_staged_and_published_past_every_limit_of_a_statement(
    db: Database, queue: Queue, other: Queue, crowd: int
) -> None:
    queue.push_many([Draft(n) for n in range(crowd)])
    lent = queue.bulk.lend(crowd + 1, lease=LEASE)
    ids = [one.id for one in lent.receipts]
    assert ids == sorted(set(ids))
    assert len(ids) == crowd
    half = ids[crowd // 2]
    read = [*queue.bulk.leased_range(queue.get(half).leased_by, 0, half - 1, crowd)]  # type: ignore[union-attr, arg-type]
    assert [one.id for one in read] == ids[: crowd // 2]
    if db.store.capabilities.transactions:
        db.bulk.stage("b", "1", [entry(n) for n in range(crowd)])
        assert db.bulk.publish("b", {"1": crowd}, turns(lent)).entries == crowd
        assert payloads(queue) == []
        assert payloads(other) == [*range(crowd)]
