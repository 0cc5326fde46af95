"""Takes the same random steps on a store and on the in-memory reference: answers and contents must be equal.

    drive(database, clock)                              # a few short runs, as in the normal tests
    drive(database, clock, runs=500, steps=100, seed=7)

Hypothesis chooses pushes in all modes, reservations by several consumers, late and repeated settlements, moves onto
taken keys, removals, changes, damaged rows, and moves of the clock in both directions; it shrinks a failure to the
fewest steps. Granted leases must hold: the promises are checked as well as the agreement of both stores. Ids may
differ, because stores may leave gaps; they are compared by the order in which they were assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import duerow
from duerow import Database
from duerow.errors import DuplicateKey, NotSupported
from duerow.message import OnDuplicate, Pushed, Status
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Change,
    End,
    Entry,
    HistoryQuery,
    HistoryRow,
    Query,
    Record,
    Released,
    Removal,
    Reserved,
    Retention,
    RolledBack,
    Store,
    Turn,
)
from duerow.testing.clock import START, MovableClock, seconds
from duerow.testing.conformance.fixtures import Harm
from duerow.testing.conformance.undecodable import UNREADABLE
from duerow.testing.contents import empty, everything
from duerow.testing.strategies import (
    CHANGES,
    ENDS,
    ENTRIES,
    ERROR,
    FIRST,
    KEEPS,
    KEYS,
    LEASES,
    LONG,
    MODES,
    NAMES,
    PLACES,
    QUEUES,
    STEPS_OF_TIME,
    Given,
)


class _Both:
    """Runs the same plan on the store and on the reference."""

    def __init__(self, database: Database, clock: MovableClock) -> None:
        self.database = database
        transactions = "on" if database.store.capabilities.transactions else "off"
        self.reference = duerow.connect(f"memory://?transactions={transactions}", clock=clock)
        self.twins: dict[int, int] = {}
        """The store's id for each id of the reference."""

    def run(self, ours: Callable[[Store], Plan[Any]], theirs: Callable[[Store], Plan[Any]]) -> tuple[Any, Any]:
        """Return the answers of the store and of the reference; a refusal, such as DuplicateKey, is an answer too."""
        return (
            _answer(lambda: self.database.run(lambda: ours(self.database.store))),
            _answer(lambda: self.reference.run(lambda: theirs(self.reference.store))),
        )

    def twin(self, id: int) -> int:
        """Return the store's id for an id of the reference; an unknown id stays unknown."""
        return self.twins.get(id, 1 << 60)

    def receipt(self, receipt: Receipt) -> Receipt:
        """Return the store's receipt for a receipt of the reference."""
        return Receipt(self.twin(receipt.id), receipt.token)

    def past(self, past: HistoryRow) -> HistoryRow:
        """Return the store's turn for a turn of the reference."""
        return msgspec.structs.replace(past, id=self.twin(past.id))

    def record(self, record: Record) -> Record:
        """Return the store's record for a record of the reference."""
        return msgspec.structs.replace(record, id=self.twin(record.id))

    def learn(self, ours: Sequence[int], theirs: Sequence[int]) -> None:
        """Record new ids, which must grow like those of the reference."""
        known = set(self.twins.values())
        for mine, reference in zip(ours, theirs, strict=True):
            if reference not in self.twins:
                assert mine not in known, f"id {mine} was given twice"
                self.twins[reference] = mine
        order = sorted(self.twins.items())
        assert [mine for _, mine in order] == sorted(mine for _, mine in order), "ids do not grow with insertion"


def _group(record: Record) -> tuple[str, str | None]:
    return record.queue, record.group


def _answer(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except DuplicateKey as refused:
        return (DuplicateKey, refused.queue, refused.keys)
    except NotSupported:
        return (NotSupported,)


class StoreMachine(RuleBasedStateMachine):
    """The steps that Hypothesis may take; `drive` creates it for a store."""

    database: Database
    clock: MovableClock
    harms: Mapping[str, Harm] = {}
    harms_out_of_line: Mapping[str, Harm] = {}

    def __init__(self) -> None:
        super().__init__()
        self.clock.set(START + LONG)
        while self.database.run(lambda: self.database.store.history.prune(1_000)):
            pass  # what earlier runs left
        self.clock.set(START)
        empty(self.database)
        self.both = _Both(self.database, self.clock)
        self.lent: list[Record] = []
        self.granted: dict[Receipt, datetime] = {}
        """The last granted end of each lease, by the reference's receipts."""

    def teardown(self) -> None:
        """Close the reference."""
        self.both.reference.close()

    @rule(entries=st.lists(ENTRIES, min_size=1, max_size=5), mode=MODES, remembered=st.booleans())
    def push(self, entries: list[Entry], mode: OnDuplicate, remembered: bool) -> None:
        """Push in any mode, with keys that are free, taken or remembered, and with repeated keys."""
        ours, theirs = self.both.run(
            lambda store: store.messages.push(entries, mode, remembered),
            lambda store: store.messages.push(entries, mode, remembered),
        )
        if isinstance(theirs, tuple):
            assert ours == theirs
            return
        assert isinstance(ours, list), ours
        self.both.learn([one.id for one in ours], [one.id for one in theirs])
        assert ours == [Pushed(self.both.twin(one.id), one.outcome) for one in theirs]

    @rule(
        queue=QUEUES,
        limit=st.integers(1, 4),
        lease=LEASES,
        attempts=st.sampled_from([None, 1, 2, 3]),
        consumer=st.sampled_from(["here:1:a/1", "there:2:b/2"]),
        keep=KEEPS,
    )
    def reserve(
        self, queue: str, limit: int, lease: timedelta, attempts: int | None, consumer: str, keep: Retention | None
    ) -> None:
        """Reserve as one of two consumers, with any limit of attempts."""
        ours, theirs = self.both.run(
            lambda store: store.messages.reserve(queue, limit, lease, attempts, consumer, keep=keep),
            lambda store: store.messages.reserve(queue, limit, lease, attempts, consumer, keep=keep),
        )
        buried = [msgspec.structs.replace(one, id=self.both.twin(one.id)) for one in theirs.buried]
        assert ours == Reserved([self.both.record(record) for record in theirs.records], buried)
        self.lent += theirs.records
        for record in theirs.records:
            assert record.leased_until is not None
            self.granted[Receipt(record.id, record.token)] = record.leased_until

    @precondition(lambda self: self.lent)
    @rule(turns=st.lists(st.tuples(PLACES, ENDS), min_size=1, max_size=5), keep=KEEPS)
    def settle(self, turns: list[tuple[int, End | Given]], keep: Retention | None) -> None:
        """End some turns, including lost, settled and expired ones."""
        chosen: dict[Receipt, Turn] = {}
        for place, end in turns:
            record = self.lent[place % len(self.lent)]
            assert record.due_at is not None
            receipt = Receipt(record.id, record.token)
            group = None if record.group is None else (record.queue, record.group)
            chosen[receipt] = Turn(receipt, Released(record.due_at) if isinstance(end, Given) else end, group)
        ours, theirs = self.both.run(
            lambda store: store.messages.settle(
                [msgspec.structs.replace(turn, receipt=self.both.receipt(turn.receipt)) for turn in chosen.values()],
                keep,
            ),
            lambda store: store.messages.settle([*chosen.values()], keep),
        )
        if isinstance(theirs, tuple):
            assert ours == theirs
            return
        refused = {self.both.receipt(one.receipt): type(one.error) for one in theirs}
        assert {one.receipt: type(one.error) for one in ours} == refused
        assert len(ours) == len(theirs)
        self._learn_followers()

    def _learn_followers(self) -> None:
        """Find the ids of the messages that `then` pushed: the newest in both stores, in order."""
        theirs = sorted(record.id for record in everything(self.both.reference) if record.id not in self.both.twins)
        known = set(self.both.twins.values())
        ours = sorted(record.id for record in everything(self.database) if record.id not in known)
        self.both.learn(ours, theirs)

    @precondition(lambda self: self.lent)
    @rule(places=st.lists(PLACES, min_size=1, max_size=4, unique=True), lease=LEASES)
    def extend(self, places: list[int], lease: timedelta) -> None:
        """Extend some leases, including lost ones."""
        chosen = list({Receipt(one.id, one.token): None for one in (self.lent[at % len(self.lent)] for at in places)})
        ours, theirs = self.both.run(
            lambda store: store.messages.extend([self.both.receipt(receipt) for receipt in chosen], lease),
            lambda store: store.messages.extend(chosen, lease),
        )
        assert ours == {self.both.receipt(receipt): until for receipt, until in theirs.items()}
        self.granted |= theirs

    @rule(queue=QUEUES, lease=LEASES, late=st.sampled_from(["extend", "settle", None]), keep=KEEPS, taken=st.booleans())
    def overtake(self, queue: str, lease: timedelta, late: str | None, keep: Retention | None, taken: bool) -> None:
        """Requeue the first of a group while the second's lease has ended: chosen on purpose, because it is rare."""
        pushed = [Entry(queue, None, "json", payload, None, None, None, "o", FIRST) for payload in ("1", "2")]
        self.push(pushed, "ignore", False)
        self._reserve_one(queue, lease, keep)
        if not self.lent:
            return
        first = self.lent[-1]
        self.settle([(len(self.lent) - 1, Buried(ERROR))], keep)
        self._reserve_one(queue, lease, keep)
        kept = [record for record in everything(self.both.reference) if record.id == first.id]
        self._change(first.queue, kept, {"delay": seconds(0), "anew": True}, False, False)
        place = len(self.lent) - 1
        self.clock.advance(lease)
        if taken:
            self._reserve_one(queue, lease, keep)
        else:
            self.pop(queue, 1, keep)
        if late == "extend":
            self.extend([place], lease)
        elif late == "settle":
            self.settle([(place, RolledBack(seconds(0), ERROR))], keep)
        self._reserve_one(queue, lease, keep)

    def _reserve_one(self, queue: str, lease: timedelta, keep: Retention | None) -> None:
        self.reserve(queue, 1, lease, None, "here:1:a/1", keep)

    @rule(queue=QUEUES, limit=st.integers(1, 3), keep=KEEPS)
    def pop(self, queue: str, limit: int, keep: Retention | None) -> None:
        """Pop messages."""
        ours, theirs = self.both.run(
            lambda store: store.messages.pop(queue, limit, keep), lambda store: store.messages.pop(queue, limit, keep)
        )
        assert ours == [self.both.record(record) for record in theirs]

    @rule(
        queue=QUEUES,
        places=st.lists(PLACES, max_size=3, unique=True),
        keys=st.lists(KEYS, max_size=2, unique=True),
        even_if_leased=st.booleans(),
        keep=KEEPS,
    )
    def remove(
        self, queue: str, places: list[int], keys: list[str], even_if_leased: bool, keep: Retention | None
    ) -> None:
        """Remove by id and by key, leased messages included or not."""
        known = sorted(self.both.twins)
        ids = list({known[place % len(known)] for place in places}) if known else []
        ours, theirs = self.both.run(
            lambda store: store.operations.remove(
                queue, [self.both.twin(id) for id in ids], keys, even_if_leased, keep
            ),
            lambda store: store.operations.remove(queue, ids, keys, even_if_leased, keep),
        )
        assert sorted(ours.removed) == sorted(self.both.twin(id) for id in theirs.removed)
        assert sorted(ours.leased) == sorted((self.both.twin(id), by) for id, by in theirs.leased)
        assert isinstance(ours, Removal)

    @rule(
        queue=QUEUES,
        places=st.lists(PLACES, min_size=1, max_size=4),
        change=CHANGES,
        more=st.tuples(*[st.booleans()] * 2),
    )
    def change(self, queue: str, places: list[int], change: dict[str, Any], more: tuple[bool, bool]) -> None:
        """Change messages in their current state, with or without leased ones, or as a dry run."""
        kept = everything(self.both.reference)
        records = {record.id: record for record in (kept[place % len(kept)] for place in places if kept)}
        self._change(queue, [records[id] for id in sorted(records)], change, *more)

    @precondition(lambda self: self.lent)
    @rule(place=PLACES, change=CHANGES, even_if_leased=st.booleans())
    def change_late(self, place: int, change: dict[str, Any], even_if_leased: bool) -> None:
        """Change a message with the token it had when it was reserved, which may be outdated."""
        record = self.lent[place % len(self.lent)]
        self._change(record.queue, [record], change, even_if_leased, False)

    def _change(
        self, queue: str, records: list[Record], change: dict[str, Any], even_if_leased: bool, dry_run: bool
    ) -> None:
        asked = [Change(record, **change) for record in records]
        mapped = [Change(self.both.record(record), **change) for record in records]
        ours, theirs = self.both.run(
            lambda store: store.operations.change(queue, mapped, even_if_leased, dry_run),
            lambda store: store.operations.change(queue, asked, even_if_leased, dry_run),
        )
        refused = [(self.both.receipt(one.receipt), type(one.error)) for one in theirs]
        assert [(one.receipt, type(one.error)) for one in ours] == refused

    @rule(
        queue=QUEUES,
        statuses=st.none() | st.lists(st.sampled_from(["new", "error", "done", "dead"]), unique=True).map(tuple),
        keys=st.none() | st.lists(KEYS, unique=True, max_size=2).map(tuple),
        by_id=st.booleans(),
        after=st.none() | PLACES,
        limit=st.integers(1, 5),
    )
    def find(
        self,
        queue: str,
        statuses: tuple[Status, ...] | None,
        keys: tuple[str, ...] | None,
        by_id: bool,
        after: int | None,
        limit: int,
    ) -> None:
        """Find messages in any way."""
        known = sorted(self.both.twins)
        after_id = known[after % len(known)] if by_id and after is not None and known else None
        query = Query(queue, None, keys, statuses, after_id, by_id, limit)
        mapped = msgspec.structs.replace(query, after_id=None if after_id is None else self.both.twin(after_id))
        ours, theirs = self.both.run(
            lambda store: store.messages.find(mapped), lambda store: store.messages.find(query)
        )
        assert ours == [self.both.record(record) for record in theirs]

    @rule(queue=QUEUES, limit=st.integers(1, 3))
    def peek(self, queue: str, limit: int) -> None:
        """Peek at the next messages."""
        ours, theirs = self.both.run(
            lambda store: store.operations.peek(queue, limit), lambda store: store.operations.peek(queue, limit)
        )
        assert ours == [self.both.record(record) for record in theirs]

    @rule(queue=QUEUES, limit=st.sampled_from([1, 1_000]), place=st.integers(0, 99))
    def damage(self, queue: str, limit: int, place: int) -> None:
        """Damage the first message in line; claims skip it, and an operator removes it.

        The reference does not have this message: all others must be claimed, found and counted as if it did not exist.
        """
        ways = [*UNREADABLE, *self.harms, *self.harms_out_of_line]
        way = ways[place % len(ways)]
        usual = Entry(queue, "odd", "json", '{"n":1}', None, None, None, None, FIRST)
        odd = msgspec.structs.replace(UNREADABLE.get(way, usual), queue=queue, key="odd", priority=FIRST)
        [pushed] = self.database.run(lambda: self.database.store.messages.push([odd], "ignore"))
        harm = self.harms.get(way) or self.harms_out_of_line.get(way)
        if harm is not None:
            harm(pushed.id)
        ours, theirs = self.database.queue(queue), self.both.reference.queue(queue)
        known = {self.both.twin(one.id) for one in theirs.find(limit=1_000)}
        assert {one.id for one in ours.find(limit=1_000)} == known | {pushed.id}, way
        assert ours.count() == len(known) + 1, way
        assert ours.why(pushed.id), way
        for _ in range(2):  # a second claim looks at priorities and groups again
            lent, wanted = ours.reserve_many(limit), theirs.reserve_many(limit)
            turns = [(self.both.twin(one.message.id), one.attempt) for one in wanted]
            assert [(one.message.id, one.attempt) for one in lent] == turns, way
            assert (ours.release_many(lent), theirs.release_many(wanted)) == ([], []), way
        # A priority that nobody pushed is noticed when nothing else is due, or within half a second.
        hidden = "priority" in way and len(wanted) > 0
        if limit > 1 and way not in self.harms_out_of_line and not hidden:
            buried = ours.get(pushed.id)
            assert buried is not None, way
            assert (buried.status, buried.last_error and buried.last_error.type) == ("dead", "CodecError"), way
        assert ours.remove(pushed.id, even_if_leased=True).count == 1, way

    @rule()
    def prune(self) -> None:
        """Delete what has expired."""
        self.both.run(lambda store: store.history.prune(100), lambda store: store.history.prune(100))

    @rule(step=STEPS_OF_TIME)
    def move_the_clock(self, step: timedelta) -> None:
        """Move the clock forward or back."""
        self.clock.advance(step)

    @invariant()
    def granted_leases_hold(self) -> None:
        """Until its granted end, each lease holds, and no other message of its group is leased."""
        now = self.clock.now()
        records = everything(self.both.reference)
        tokens = {record.id: record for record in records}
        for receipt, until in list(self.granted.items()):
            record = tokens.get(receipt.id)
            if record is None or record.token != receipt.token:
                del self.granted[receipt]  # that turn is over
            elif until > now:
                assert record.leased_until == until, f"the lease of {record} was granted until {until}"
                if record.group is not None:
                    lent = [one.id for one in records if one.leased_by is not None and _group(one) == _group(record)]
                    assert lent == [record.id], f"several messages of the group of {record} are leased: {lent}"

    @invariant()
    def both_hold_the_same(self) -> None:
        """After every step, both have the same messages, field by field, and the same counts and next due times."""
        assert everything(self.database) == [self.both.record(record) for record in everything(self.both.reference)]
        for name in NAMES:
            query = HistoryQuery(name, limit=1_000)
            ours, theirs = self.both.run(
                lambda store: store.history.find(query),  # noqa: B023 - run at once
                lambda store: store.history.find(query),  # noqa: B023 - run at once
            )
            assert ours == [self.both.past(past) for past in theirs]
            ours, theirs = self.both.run(
                lambda store: store.operations.count(name),  # noqa: B023 - run at once
                lambda store: store.operations.count(name),  # noqa: B023 - run at once
            )
            assert {status: n for status, n in ours.items() if n} == {status: n for status, n in theirs.items() if n}
            ours, theirs = self.both.run(
                lambda store: store.messages.next_due([name], seconds(0)),  # noqa: B023 - run at once
                lambda store: store.messages.next_due([name], seconds(0)),  # noqa: B023 - run at once
            )
            # A store may not yet have noticed that a message has to wait for others of its group.
            early = any(one.group is not None for one in everything(self.both.reference))
            early = early and ours is not None and (theirs is None or ours < theirs)
            assert ours == theirs or early, f"the next due time of {name} is in {ours}, not in {theirs}"


def drive(
    database: Database,
    clock: MovableClock,
    runs: int = 10,
    steps: int = 25,
    seed: int | None = None,
    harms: Mapping[str, Harm] | None = None,
    harms_out_of_line: Mapping[str, Harm] | None = None,
) -> None:
    """Compare the stores; raise AssertionError with the fewest steps after which they differ.

    Args:
        database: the empty database, opened with the clock.
        clock: the clock of the database, which the machine moves.
        runs: the number of runs.
        steps: the most steps of a run.
        seed: makes the choices repeatable; None: Hypothesis chooses.
        harms: ways to damage the stored row of a message, by name, as in the suite's fixture.
        harms_out_of_line: further ways, after which no claim finds the row.
    """
    given = {"harms": harms or {}, "harms_out_of_line": harms_out_of_line or {}}
    machine = type("StoreMachine", (StoreMachine,), {"database": database, "clock": clock, **given})
    chosen = machine if seed is None else seeded(seed)(machine)
    run_state_machine_as_test(
        chosen,
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
