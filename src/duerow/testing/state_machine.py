"""A store and the in-memory reference, driven by the same steps: every answer and all contents must be equal.

    drive(database, clock)                              # a few short runs, as in the everyday tests
    drive(database, clock, runs=500, steps=100, seed=7)

Hypothesis chooses pushes in all modes, reservations by several consumers, settlements that may come late or twice,
moves onto taken keys, removals, changes, and moves of the clock, also back; a failure is shrunk to the fewest steps.
Leases that were granted must hold: what is promised is checked, too, not only that both stores do the same.
Ids may differ, since stores may leave gaps; they are compared by the order in which they were given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import duerow
from duerow import Database
from duerow.errors import DuplicateKey, NotSupported
from duerow.message import ON_DUPLICATE, OnDuplicate, Pushed, Status
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Change,
    Committed,
    End,
    Entry,
    HistoryQuery,
    HistoryRow,
    Moved,
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
from duerow.testing.clock import START, MovableClock, hours, microseconds, minutes, seconds
from duerow.testing.contents import empty, everything

NAMES: Final = ("mail", "billing")
"""Two queues are enough for moves to meet."""

LONG: Final = timedelta(days=3_650)
"""Longer than anything is kept, and than any run lasts."""

FIRST: Final = -100
"""A priority before all others."""

ERROR: Final = '{"type":"Error","message":"no line","traceback":null}'

SPANS = st.sampled_from([seconds(0), microseconds(1), seconds(1), seconds(30), minutes(1), hours(1)])
LEASES = st.sampled_from([seconds(1), seconds(30), minutes(1), hours(1)])
STEPS_OF_TIME = st.sampled_from(
    [microseconds(1), seconds(1), seconds(29), seconds(30), minutes(1), hours(1), hours(24), seconds(-1), hours(-1)]
)
QUEUES = st.sampled_from(NAMES)
KEEPS = st.sampled_from(
    [None, None, Retention(history=hours(1)), Retention(keys=minutes(1)), Retention(history=hours(24), keys=hours(1))]
)
KEYS = st.sampled_from(["a", "b", "A", "a "])
PAYLOADS = st.sampled_from(["1", "2", '"1"', '{"a":1}'])
GROUPS = st.sampled_from([None, None, "g", "h"])
PRIORITIES = st.sampled_from([0, 0, 0, -1, 7])
HEADERS = st.sampled_from([None, '{"a":1}', '{"hops":1}'])
MODES: st.SearchStrategy[OnDuplicate] = st.sampled_from(ON_DUPLICATE)
TIMES = st.one_of(
    st.just((None, None)),
    SPANS.map(lambda span: (None, span)),
    SPANS.map(lambda span: (START + span, None)),
    SPANS.map(lambda span: (START - span, None)),
)
ENTRIES = st.builds(
    lambda queue, key, payload, headers, time, group, priority: Entry(
        queue, key, "json", payload, headers, time[0], time[1], group, priority
    ),
    QUEUES,
    st.none() | KEYS,
    PAYLOADS,
    HEADERS,
    TIMES,
    GROUPS,
    PRIORITIES,
)
MOVES = st.builds(
    lambda to, content, key, headers, time, mode, group, priority: Moved(
        to, content[0], content[1], key, headers, time[0], time[1], mode, group, priority
    ),
    QUEUES,
    st.sampled_from([(None, None), ("3", "json"), ('"AP8="', "bytes")]),
    st.none() | KEYS,
    HEADERS,
    TIMES,
    MODES,
    GROUPS,
    PRIORITIES,
)
PLACES = st.integers(0, 30)
"""Which of those there are: taken modulo their number."""


class _Given(msgspec.Struct, frozen=True):
    """A release whose due time is that of the reservation, filled in when the reservation is chosen."""


ENDS: st.SearchStrategy[End | _Given] = st.one_of(
    st.builds(Committed, st.lists(ENTRIES, max_size=2).map(tuple)),
    st.builds(RolledBack, SPANS, st.sampled_from([None, ERROR])),
    st.builds(Buried, st.sampled_from([None, ERROR])),
    st.builds(_Given),
    MOVES,
)


CHANGES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    PAYLOADS.map(lambda payload: {"payload": payload, "kind": "json"}),
    HEADERS.map(lambda headers: {"headers": headers}),
    PRIORITIES.map(lambda priority: {"priority": priority}),
    st.just({"due": None}),
    SPANS.map(lambda span: {"due": START + span}),
    SPANS.map(lambda span: {"delay": span}),
    st.just({"delay": seconds(0), "anew": True}),
)


class _Both:
    """The same plan on the store and on the reference."""

    def __init__(self, database: Database, clock: MovableClock) -> None:
        self.database = database
        transactions = "on" if database.store.capabilities.transactions else "off"
        self.reference = duerow.connect(f"memory://?transactions={transactions}", clock=clock)
        self.twins: dict[int, int] = {}
        """The store's id of a message by the reference's."""

    def run(self, ours: Callable[[Store], Plan[Any]], theirs: Callable[[Store], Plan[Any]]) -> tuple[Any, Any]:
        """Return what the store and the reference answer; that a key is taken or a wish refused is an answer too."""
        return (
            _answer(lambda: self.database.run(lambda: ours(self.database.store))),
            _answer(lambda: self.reference.run(lambda: theirs(self.reference.store))),
        )

    def twin(self, id: int) -> int:
        """The store's id for one of the reference; an id that nobody has stays one."""
        return self.twins.get(id, 1 << 60)

    def receipt(self, receipt: Receipt) -> Receipt:
        """The store's receipt for one of the reference."""
        return Receipt(self.twin(receipt.id), receipt.token)

    def past(self, past: HistoryRow) -> HistoryRow:
        """The store's turn for one of the reference."""
        return msgspec.structs.replace(past, id=self.twin(past.id))

    def record(self, record: Record) -> Record:
        """The store's record for one of the reference."""
        return msgspec.structs.replace(record, id=self.twin(record.id))

    def learn(self, ours: Sequence[int], theirs: Sequence[int]) -> None:
        """Note ids that were given now, which must grow as the reference's do."""
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
    """The steps that Hypothesis may take. Made for one store by `drive`."""

    database: Database
    clock: MovableClock

    def __init__(self) -> None:
        super().__init__()
        self.clock.set(START + LONG)
        while self.database.run(lambda: self.database.store.prune(1_000)):
            pass  # what earlier runs kept
        self.clock.set(START)
        empty(self.database)
        self.both = _Both(self.database, self.clock)
        self.lent: list[Record] = []
        self.granted: dict[Receipt, datetime] = {}
        """Until when each lease was granted at last, by the reference's receipts."""

    def teardown(self) -> None:
        """Give the reference back."""
        self.both.reference.close()

    @rule(entries=st.lists(ENTRIES, min_size=1, max_size=5), mode=MODES, remembered=st.booleans())
    def push(self, entries: list[Entry], mode: OnDuplicate, remembered: bool) -> None:
        """Push in any mode, keys taken, remembered or not, several times the same."""
        ours, theirs = self.both.run(
            lambda store: store.push(entries, mode, remembered), lambda store: store.push(entries, mode, remembered)
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
        """Reserve as one of two consumers, under any limit of attempts."""
        ours, theirs = self.both.run(
            lambda store: store.reserve(queue, limit, lease, attempts, consumer, keep=keep),
            lambda store: store.reserve(queue, limit, lease, attempts, consumer, keep=keep),
        )
        buried = [msgspec.structs.replace(one, id=self.both.twin(one.id)) for one in theirs.buried]
        assert ours == Reserved([self.both.record(record) for record in theirs.records], buried)
        self.lent += theirs.records
        for record in theirs.records:
            assert record.leased_until is not None
            self.granted[Receipt(record.id, record.token)] = record.leased_until

    @precondition(lambda self: self.lent)
    @rule(turns=st.lists(st.tuples(PLACES, ENDS), min_size=1, max_size=5), keep=KEEPS)
    def settle(self, turns: list[tuple[int, End | _Given]], keep: Retention | None) -> None:
        """End some turns, lost, settled and expired ones among them."""
        chosen: dict[Receipt, Turn] = {}
        for place, end in turns:
            record = self.lent[place % len(self.lent)]
            assert record.due_at is not None
            receipt = Receipt(record.id, record.token)
            group = None if record.group is None else (record.queue, record.group)
            chosen[receipt] = Turn(receipt, Released(record.due_at) if isinstance(end, _Given) else end, group)
        ours, theirs = self.both.run(
            lambda store: store.settle(
                [msgspec.structs.replace(turn, receipt=self.both.receipt(turn.receipt)) for turn in chosen.values()],
                keep,
            ),
            lambda store: store.settle([*chosen.values()], keep),
        )
        if isinstance(theirs, tuple):
            assert ours == theirs
            return
        refused = {self.both.receipt(one.receipt): type(one.error) for one in theirs}
        assert {one.receipt: type(one.error) for one in ours} == refused
        assert len(ours) == len(theirs)
        self._learn_followers()

    def _learn_followers(self) -> None:
        """Find the ids of what was pushed by `then`: the newest of both, in order."""
        theirs = sorted(record.id for record in everything(self.both.reference) if record.id not in self.both.twins)
        known = set(self.both.twins.values())
        ours = sorted(record.id for record in everything(self.database) if record.id not in known)
        self.both.learn(ours, theirs)

    @precondition(lambda self: self.lent)
    @rule(places=st.lists(PLACES, min_size=1, max_size=4, unique=True), lease=LEASES)
    def extend(self, places: list[int], lease: timedelta) -> None:
        """Extend some leases, lost ones among them."""
        chosen = list({Receipt(one.id, one.token): None for one in (self.lent[at % len(self.lent)] for at in places)})
        ours, theirs = self.both.run(
            lambda store: store.extend([self.both.receipt(receipt) for receipt in chosen], lease),
            lambda store: store.extend(chosen, lease),
        )
        assert ours == {self.both.receipt(receipt): until for receipt, until in theirs.items()}
        self.granted |= theirs

    @rule(queue=QUEUES, lease=LEASES, late=st.sampled_from(["extend", "settle", None]), keep=KEEPS, taken=st.booleans())
    def overtake(self, queue: str, lease: timedelta, late: str | None, keep: Retention | None, taken: bool) -> None:
        """Bring the first of a group back while the second is lent, whose holder is late: often, since it is rare."""
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
        """Take messages for good."""
        ours, theirs = self.both.run(
            lambda store: store.pop(queue, limit, keep), lambda store: store.pop(queue, limit, keep)
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
        """Remove by id and by key, from under consumers or not."""
        known = sorted(self.both.twins)
        ids = list({known[place % len(known)] for place in places}) if known else []
        ours, theirs = self.both.run(
            lambda store: store.remove(queue, [self.both.twin(id) for id in ids], keys, even_if_leased, keep),
            lambda store: store.remove(queue, ids, keys, even_if_leased, keep),
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
        """Change messages as they are now, from under consumers or not, or only ask what would be."""
        kept = everything(self.both.reference)
        records = {record.id: record for record in (kept[place % len(kept)] for place in places if kept)}
        self._change(queue, [records[id] for id in sorted(records)], change, *more)

    @precondition(lambda self: self.lent)
    @rule(place=PLACES, change=CHANGES, even_if_leased=st.booleans())
    def change_late(self, place: int, change: dict[str, Any], even_if_leased: bool) -> None:
        """Change a message as it was when it was lent, which it may be no longer."""
        record = self.lent[place % len(self.lent)]
        self._change(record.queue, [record], change, even_if_leased, False)

    def _change(
        self, queue: str, records: list[Record], change: dict[str, Any], even_if_leased: bool, dry_run: bool
    ) -> None:
        asked = [Change(record, **change) for record in records]
        mapped = [Change(self.both.record(record), **change) for record in records]
        ours, theirs = self.both.run(
            lambda store: store.change(queue, mapped, even_if_leased, dry_run),
            lambda store: store.change(queue, asked, even_if_leased, dry_run),
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
        """Look in any way."""
        known = sorted(self.both.twins)
        after_id = known[after % len(known)] if by_id and after is not None and known else None
        query = Query(queue, None, keys, statuses, after_id, by_id, limit)
        mapped = msgspec.structs.replace(query, after_id=None if after_id is None else self.both.twin(after_id))
        ours, theirs = self.both.run(lambda store: store.find(mapped), lambda store: store.find(query))
        assert ours == [self.both.record(record) for record in theirs]

    @rule(queue=QUEUES, limit=st.integers(1, 3))
    def peek(self, queue: str, limit: int) -> None:
        """Look at who is next."""
        ours, theirs = self.both.run(lambda store: store.peek(queue, limit), lambda store: store.peek(queue, limit))
        assert ours == [self.both.record(record) for record in theirs]

    @rule()
    def prune(self) -> None:
        """Take away what was kept long enough."""
        self.both.run(lambda store: store.prune(100), lambda store: store.prune(100))

    @rule(step=STEPS_OF_TIME)
    def move_the_clock(self, step: timedelta) -> None:
        """Let time pass, or set the clock back."""
        self.clock.advance(step)

    @invariant()
    def granted_leases_hold(self) -> None:
        """Until the end that was granted, a message is its holder's, and no other of its group is lent."""
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
                    assert lent == [record.id], f"of the group of {record} these are lent: {lent}"

    @invariant()
    def both_hold_the_same(self) -> None:
        """After every step: the same messages, field by field, the same counts, the same next due time."""
        assert everything(self.database) == [self.both.record(record) for record in everything(self.both.reference)]
        for name in NAMES:
            query = HistoryQuery(name, limit=1_000)
            ours, theirs = self.both.run(lambda store: store.history(query), lambda store: store.history(query))  # noqa: B023
            assert ours == [self.both.past(past) for past in theirs]
            ours, theirs = self.both.run(lambda store: store.count(name), lambda store: store.count(name))  # noqa: B023
            assert {status: n for status, n in ours.items() if n} == {status: n for status, n in theirs.items() if n}
            ours, theirs = self.both.run(
                lambda store: store.next_due([name], seconds(0)),  # noqa: B023 - run at once
                lambda store: store.next_due([name], seconds(0)),  # noqa: B023 - run at once
            )
            # A store may not have noticed yet that a message has to wait for others of its group.
            early = any(one.group is not None for one in everything(self.both.reference))
            early = early and ours is not None and (theirs is None or ours < theirs)
            assert ours == theirs or early, f"the next due time of {name} is in {ours}, not in {theirs}"


def drive(database: Database, clock: MovableClock, runs: int = 15, steps: int = 30, seed: int | None = None) -> None:
    """Take so many runs of at most so many steps; raise AssertionError, with the fewest steps, where the two differ.

    Args:
        database: the store, empty, opened with the clock.
        clock: moved by the machine.
        runs: how many runs.
        steps: the most steps of one run.
        seed: makes the choices repeatable; None: Hypothesis' own choice.
    """
    machine = type("StoreMachine", (StoreMachine,), {"database": database, "clock": clock})
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
