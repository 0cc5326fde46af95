"""Processes that do everything at once to the same queues lose to each other in silence."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow import Commit, Draft, Move, Queue, Release, Rollback
from duerow.errors import Conflict, DuerowError, LeaseLost, MessageLeased
from duerow.message import OnDuplicate
from duerow.settlement import Bury, Settlement
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.conformance.fixtures import Begin, Place
from tests.processes import forking

QUEUES = ("orders", "bills")
KEYS, GROUPS = 40, 6
NO_TIME = timedelta(0)
OUT_OF_TURN = (LeaseLost, MessageLeased)
"""What a consumer is told of a message that somebody else removed, changed or has."""


@dataclass
class Told:
    """What one process did.

    Attributes:
        did: how often each operation was carried out.
        pushed: the ids of messages that it created.
        taken: the ids of messages that it committed or popped.
        removed: how many it removed by a condition.
        errors: what it was told that no user should be.
    """

    did: Counter[str] = field(default_factory=Counter)
    pushed: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    removed: int = 0
    errors: list[str] = field(default_factory=list)


class Contender:
    """One process: chooses what to do next, again and again.

    Args:
        database: where the queues are.
        chance: what is random.
    """

    def __init__(self, database: duerow.Database, chance: random.Random) -> None:
        self.database, self.chance, self.told = database, chance, Told()
        terms: dict[str, Any] = {"lease": timedelta(seconds=1), "retry": duerow.limited(6, duerow.fixed(NO_TIME))}
        kept = {"history": timedelta(seconds=1), "remember_keys": timedelta(seconds=1)}
        self.queues = [database.queue(name, **terms, **kept) for name in QUEUES]
        self.work: dict[Callable[[Queue[Any]], None], int] = {
            self.push: 6,
            self.push_many: 2,
            self.claim_and_settle: 12,
            self.pop: 2,
            self.edit: 2,
            self.edit_by_condition: 1,
            self.reschedule: 2,
            self.requeue: 1,
            self.reprioritise: 1,
            self.remove: 1,
            self.prune: 1,
        }

    def go_on(self, times: int, seconds: float) -> Told:
        """Work so many times and so long, whichever is more; note every error that is not the answer to a question."""
        works, weights = list(self.work), list(self.work.values())
        end = time.monotonic() + seconds
        while self.told.did.total() < times or time.monotonic() < end:
            work = self.chance.choices(works, weights)[0]
            try:
                work(self.chance.choice(self.queues))
            except OUT_OF_TURN:
                pass
            except DuerowError as error:
                self.told.errors.append(f"{work.__name__}: {type(error).__name__}: {error}")
            self.told.did[work.__name__] += 1
        return self.told

    def draft(self) -> Draft:
        """A message of any kind: with a key that others use, in a group that others use, due now or soon."""
        chance = self.chance
        return Draft(
            {"number": chance.randrange(100)},
            key=f"k-{chance.randrange(KEYS)}" if chance.random() < 0.4 else None,
            group=f"g-{chance.randrange(GROUPS)}" if chance.random() < 0.3 else None,
            priority=chance.choice((0, 0, 0, 5)),
            delay=timedelta(milliseconds=chance.choice((0, 0, 0, 200))),
        )

    def push(self, queue: Queue[Any]) -> None:
        self.note(queue.push_many([self.draft()], on_duplicate=self.mode()))

    def push_many(self, queue: Queue[Any]) -> None:
        drafts = [self.draft() for _ in range(self.chance.randrange(2, 30))]
        self.note(queue.push_many(drafts, on_duplicate=self.mode()))

    def mode(self) -> OnDuplicate:
        modes: list[OnDuplicate] = ["ignore", "replace", "earliest"]
        return self.chance.choice(modes)

    def note(self, answers: Iterable[duerow.Pushed]) -> None:
        self.told.pushed += [answer.id for answer in answers if answer.outcome == "created"]

    def claim_and_settle(self, queue: Queue[Any]) -> None:
        lent = queue.reserve_many(self.chance.choice((1, 5, 20)))
        if self.chance.random() < 0.2:
            queue.extend_many(lent, timedelta(seconds=2))
        ends: list[Settlement] = [Commit(), Rollback(NO_TIME, "again"), Bury("no"), Release(), Move(QUEUES[1])]
        pairs = [(one, self.chance.choices(ends, (6, 2, 1, 1, 1))[0]) for one in lent]
        lost = {refused.receipt for refused in queue.settle(pairs)}
        done = [one for one, end in pairs if isinstance(end, Commit) and one.receipt not in lost]
        self.told.taken += [one.message.id for one in done]

    def pop(self, queue: Queue[Any]) -> None:
        self.told.taken += [message.id for message in queue.pop_many(self.chance.choice((1, 4)))]

    def edit(self, queue: Queue[Any]) -> None:
        queue.edit(key=self.key(), patch={"edited": True}, even_if_leased=self.chance.random() < 0.5)

    def edit_by_condition(self, queue: Queue[Any]) -> None:
        queue.edit(where=f"payload.number = {self.chance.randrange(100)}", headers={"edited": True})

    def reschedule(self, queue: Queue[Any]) -> None:
        queue.reschedule(key=self.key(), delay=timedelta(milliseconds=self.chance.choice((0, 100))))

    def requeue(self, queue: Queue[Any]) -> None:
        queue.requeue(where=f"status = 'dead' and payload.number < {self.chance.randrange(30)}")

    def reprioritise(self, queue: Queue[Any]) -> None:
        queue.reprioritise(where=f"payload.number = {self.chance.randrange(100)}", priority=self.chance.choice((0, 5)))

    def remove(self, queue: Queue[Any]) -> None:
        gone = queue.remove(where=f"status = 'dead' and payload.number > {self.chance.randrange(70, 100)}")
        self.told.removed += gone.count

    def prune(self, queue: Queue[Any]) -> None:
        self.database.maintain()

    def key(self) -> str:
        return f"k-{self.chance.randrange(KEYS)}"


def contend(url: str, settings: dict[str, Any], seed: int, times: int, seconds: float, start: Any) -> Told:
    """What each of several processes does at once."""
    with duerow.connect(url, **settings) as database:
        contender = Contender(database, random.Random(seed))
        start.wait()
        return contender.go_on(times, seconds)


@pytest.mark.parametrize(
    ("processes", "times", "seconds"),
    [
        pytest.param(4, 30, 0.0, id="small"),
        pytest.param(
            8,
            1_000,
            float(os.environ.get("DUEROW_SOAK_SECONDS", "60")),
            id="full",
            marks=[pytest.mark.soak, pytest.mark.timeout(1_800)],
        ),
    ],
)
def test_no_conflict_reaches_those_who_push_claim_settle_edit_and_prune_at_once(
    place: Place, processes: int, times: int, seconds: float
) -> None:
    seed = int(os.environ.get("DUEROW_SOAK_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"seed {seed}")
    duerow.connect(place.url, migrate=True, **place.settings).close()
    context = forking()
    with context.Manager() as manager, context.Pool(processes) as pool:
        start = manager.Barrier(processes, timeout=600)
        jobs = [(place.url, place.settings, seed + number, times, seconds, start) for number in range(processes)]
        told = pool.starmap(contend, jobs, chunksize=1)
    print(dict(sum((one.did for one in told), Counter())))
    assert [error for one in told for error in one.errors] == []
    pushed = [id for one in told for id in one.pushed]
    taken = [id for one in told for id in one.taken]
    assert len({*pushed}) == len(pushed)
    assert len({*taken}) == len(taken)
    assert {*taken} <= {*pushed}
    with duerow.connect(place.url, **place.settings) as database:
        left = sum(sum(database.queue(name).count(by="status").values()) for name in QUEUES)
    assert len(pushed) - len(taken) - sum(one.removed for one in told) == left
    assert taken


def test_a_push_that_commits_late_comes_after_what_was_handed_out_meanwhile_and_before_the_rest_of_its_group(
    queue: Queue, begin: Begin
) -> None:
    with begin() as producer:
        late = queue.push("pushed first, committed last", group="g", within=producer.handle)
        queue.push("handed out meanwhile", group="g")
        queue.push("waits", group="g")
        lent = queue.reserve()
        assert lent is not None
        assert (lent.message.payload, lent.message.id > late.id) == ("handed out meanwhile", True)
        producer.commit()
    assert queue.reserve() is None
    lent.commit()
    rest = [queue.pop(), queue.pop()]
    assert [message and message.payload for message in rest] == ["pushed first, committed last", "waits"]


def test_of_a_group_one_is_out_also_if_a_callers_transaction_does_not_see_who_goes_before(
    db: duerow.Database, queue: Queue, begin: Begin
) -> None:
    with begin() as producer:
        queue.push("first, but seen late", group="g", within=producer.handle)
        queue.push("second", group="g", priority=5)
        with begin() as consumer:
            db.queue("elsewhere").push(0, within=consumer.handle)  # from here on it may see nothing new
            producer.commit()
            lent = queue.reserve()
            assert lent is not None
            assert lent.message.payload == "first, but seen late"
            with suppress(Conflict):
                assert queue.pop(within=consumer.handle) is None
            consumer.rollback()
    lent.commit()
    second = queue.pop()
    assert second is not None
    assert (second.payload, second.attempts) == ("second", 1)


@pytest.mark.parametrize("history", [None, hours(24)], ids=["plain", "history"])
def test_a_push_that_commits_late_takes_the_turn_of_a_lease_that_ended_and_that_turn_is_over(
    db: duerow.Database, clock: MovableClock, begin: Begin, history: timedelta | None
) -> None:
    queue = db.queue("mail", lease=minutes(1), history=history)
    with begin() as producer:
        queue.push("first, but seen late", group="g", within=producer.handle)
        queue.push("second", group="g")
        late = queue.reserve()
        assert late is not None
        assert late.message.payload == "second"
        producer.commit()
    clock.advance(minutes(1))
    first = queue.reserve()
    assert first is not None
    assert first.message.payload == "first, but seen late"
    with pytest.raises(LeaseLost):
        queue.extend(late)
    with pytest.raises(LeaseLost):
        queue.commit(late)
    queue.commit(first)
    again = queue.reserve()
    assert again is not None
    assert (again.message.payload, again.attempt) == ("second", 2)
    queue.commit(again)
    turns = [(event.payload, event.outcome) for event in reversed(queue.history())] if history else []
    assert sorted(turns) == (
        [("first, but seen late", "done"), ("second", "done"), ("second", "failed")] if history else []
    )
