"""A task claims the next chunk of a quick station while it calls the function for the current one."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

import duerow
from duerow import Relay
from duerow.errors import StoreUnavailable
from duerow.retry import Fixed, Limited
from duerow.spark import consumer as consumers
from duerow.spark.apart import ApartConsumer
from duerow.spark.consumer import Claimed, Tally, TaskConsumer
from duerow.spark.task_service import TaskService, Terms
from duerow.testing.clock import minutes, seconds
from tests.spark.test_stations import found, pushed

CHUNK = 10
ONCE = Limited(policy=Fixed(seconds(1)), limit=1)


class Noting(TaskConsumer):
    """Notes how many messages each claim finds, and whether it is made beside the calls of the function."""

    def __init__(
        self, db: duerow.Database, function: Any = lambda message: message.payload, name: str = "a", **terms: Any
    ) -> None:
        super().__init__(Relay(name, function, to="z", **terms), db, max_hops=9, chunk=CHUNK)
        self._horizon = 3_600.0  # however busy the machine is, the function is quick
        self.claims: list[tuple[str, int]] = []

    def _claim(self, limit: int) -> Claimed:
        claimed = super()._claim(limit)
        beside = threading.current_thread() is not threading.main_thread()
        self.claims.append(("beside" if beside else "before", len(claimed.reservations)))
        return claimed


def test_each_full_chunk_lets_the_next_one_be_claimed_beside_it(db: duerow.Database) -> None:
    ids = pushed(db, "a", 3 * CHUNK + 5)
    consumer = Noting(db)
    tally = consumer.work(3_600)
    assert consumer.claims == [("before", CHUNK), *2 * [("beside", CHUNK)], ("beside", 5), ("before", 0)]
    assert (tally.claimed, tally.settled, tally.released) == (len(ids), len(ids), 0)
    assert sorted(found(db, "z")) == ids


@pytest.fixture
def slower(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function for which a full chunk takes two thirds of the time that it may take."""
    now = [0.0]
    monkeypatch.setattr(consumers, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep))

    def work(message: duerow.Message) -> Any:
        now[0] += consumers.HORIZON * 2 / 3 / CHUNK
        return message.payload

    return work


def test_no_more_is_claimed_ahead_when_the_turn_has_lasted_long_enough(db: duerow.Database, slower: Any) -> None:
    pushed(db, "a", 4 * CHUNK)
    consumer, tally = Noting(db, slower, lease=minutes(5)), Tally()
    consumer._horizon = consumers.HORIZON
    assert consumer.take(tally)
    assert consumer.claims == [("before", CHUNK), ("beside", CHUNK)]
    assert tally.settled == 2 * CHUNK


def test_nothing_stays_claimed_during_the_turns_of_other_stations(db: duerow.Database, slower: Any) -> None:
    there: list[tuple[int, int]] = []

    def looking(message: duerow.Message) -> Any:
        stats = db.queue("a").stats()
        there.append((stats.leased, stats.ready))
        return message.payload

    pushed(db, "a", 3 * CHUNK)
    pushed(db, "b", 1)
    quick, other = Noting(db, slower, lease=minutes(5)), Noting(db, looking, "b")
    quick._horizon = consumers.HORIZON
    TaskService(db, [quick, other], Terms("r/0", seconds=3_600)).work()
    assert ("beside", CHUNK) in quick.claims
    assert there == [(0, CHUNK)]
    assert len(found(db, "z")) == 3 * CHUNK + 1


def test_a_push_after_an_empty_claim_ahead_is_found_before_the_task_ends(db: duerow.Database) -> None:
    late: list[int] = []

    def pushing(message: duerow.Message) -> Any:
        if not late:
            while len(consumer.claims) < 2:
                time.sleep(0.01)
            late.extend(pushed(db, "a", 1))
        return message.payload

    ids = pushed(db, "a", CHUNK)
    consumer = Noting(db, pushing)
    assert consumer.work(3_600).settled == CHUNK + 1
    assert consumer.claims == [("before", CHUNK), ("beside", 0), ("before", 1), ("before", 0)]
    assert sorted(found(db, "z")) == [*ids, *late]


def test_after_a_claim_ahead_that_found_nothing_some_chunks_have_none(db: duerow.Database) -> None:
    consumer = Noting(db)
    for _ in range(consumers.IN_VAIN + 1):
        pushed(db, "a", CHUNK)
        assert consumer.take(Tally())
    assert [where for where, _ in consumer.claims].count("beside") == 2


def test_a_chunk_that_cannot_be_settled_does_not_keep_the_next_one_claimed(
    db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = pushed(db, "a", 2 * CHUNK)
    consumer, tally = Noting(db), Tally()
    settle, failed = consumer.settle, list[None]()

    def failing(*what: Any) -> None:
        if not failed:
            failed.append(None)
            raise StoreUnavailable("the database of relay 'a' has not answered for 30 s")
        settle(*what)

    monkeypatch.setattr(consumer, "settle", failing)
    with pytest.raises(StoreUnavailable):
        consumer.take(tally)
    assert tally.released == CHUNK
    held = {message.id: message.attempts for message in db.queue("a").find()}
    assert held == dict.fromkeys(ids[:CHUNK], 1) | dict.fromkeys(ids[CHUNK:], 0)


def test_what_was_claimed_ahead_long_ago_is_given_back_instead_of_begun(
    db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(consumers, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep))
    pushed(db, "a", 2 * CHUNK)
    consumer, tally = Noting(db, lease=minutes(5)), Tally()
    settle = consumer.settle

    def waiting(*what: Any) -> None:
        settle(*what)
        while len(consumer.claims) < 2:
            time.sleep(0.01)
        now[0] += 101

    monkeypatch.setattr(consumer, "settle", waiting)
    assert consumer.take(tally)
    assert (tally.settled, tally.released) == (CHUNK, CHUNK)


def test_after_a_claim_ahead_that_fails_the_next_take_claims(
    db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(db, "a", 2 * CHUNK)
    consumer, tally = Noting(db), Tally()
    claim, failed = consumer._claim, list[None]()

    def failing(limit: int) -> Claimed:
        if threading.current_thread() is not threading.main_thread():
            failed.append(None)
            raise StoreUnavailable("the database has not answered for 30 s")
        return claim(limit)

    monkeypatch.setattr(consumer, "_claim", failing)
    assert consumer.take(tally)
    assert failed
    assert tally.settled == CHUNK
    assert consumer.take(tally)
    assert tally.settled == 2 * CHUNK


def test_nothing_is_claimed_ahead_if_messages_are_counted_or_chunks_are_not_full(db: duerow.Database) -> None:
    pushed(db, "a", 3 * CHUNK)
    counted, few = Noting(db), Noting(db)
    counted.take(Tally(), most=CHUNK)
    few._limit = CHUNK - 1
    few.take(Tally())
    assert (counted.claims, few.claims) == ([("before", CHUNK)], [("before", CHUNK - 1)])


def test_nothing_is_claimed_ahead_for_a_function_in_a_child_process(db: duerow.Database) -> None:
    pushed(db, "a", 1)
    full = CHUNK * [*db.queue("a").reserve_many(1)]
    here = Noting(db)
    apart = ApartConsumer(here._station, db, 9, CHUNK, calls=None, key=("r", "a"), pickled=b"")  # type: ignore[arg-type]
    assert [consumer._may_claim_ahead(full) for consumer in (here, apart)] == [True, False]


def test_messages_with_a_single_attempt_are_never_claimed_ahead(db: duerow.Database) -> None:
    pushed(db, "a", 3)
    consumer = Noting(db, retry=ONCE)
    consumer.take(Tally())
    assert consumer.claims == [("before", 1)]
