"""What the actors of a simulation do: plans of the stores, one call after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, TypeVar

import msgspec

from duerow.errors import BatchRefused, DuerowError, DuplicateKey, QueueDraining
from duerow.payload import codec
from duerow.plan import BEGIN, Plan, Several
from duerow.queue.recurrence import Recurrence
from duerow.queue.schedule import declare, definition, tick
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Change,
    Closed,
    Committed,
    Entry,
    Joined,
    Moved,
    Planned,
    Query,
    Record,
    Released,
    RolledBack,
    Store,
    Turn,
)
from duerow.store import End as StoredEnd
from tests.simulation import script
from tests.simulation.known import KEEP, BrokenPromise, parts_of
from tests.simulation.ledger import Ledger
from tests.simulation.places import Connection, VirtualClock
from tests.simulation.script import COUNT, DEADLINE, EVERY, SETS

T = TypeVar("T")

COMMIT: Final = "commit"
"""A step that commits the open transaction."""

ROLLBACK: Final = "roll back"
"""A step that rolls the open transaction back."""

FOUND_AT_MOST: Final = 50
"""How many messages operators look at."""

MANY: Final = 50
"""How many messages are reserved at once when everything is done at the end."""

SCHEDULE: Final = definition(
    "mail", "tick", None, None, 0, Recurrence(every=timedelta(seconds=EVERY)), "all", timedelta(0)
)


class Actor:
    """One process: it does one operation after the other, and holds what it has reserved.

    Args:
        number: its number.
        operations: what it does.
        store, connection: what it works on.
        ledger: is told of each answer.
        clock: the time.
        tell: is told the story, if somebody wants to hear it.

    Attributes:
        next: the step that it takes next; None: it is over.
        held: what it has reserved and not settled.
    """

    def __init__(
        self,
        number: int,
        operations: Sequence[script.Operation],
        store: Store,
        connection: Connection,
        ledger: Ledger,
        clock: VirtualClock,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.number, self.operations = number, operations
        self.store, self.connection, self.ledger, self.clock, self.tell = store, connection, ledger, clock, tell
        self.held: list[Record] = []
        self._joint: list[Callable[[], None]] | None = None
        self._claims = 0
        self._plan = self._work()
        self.next: Any = next(self._plan, None)

    @property
    def blocked(self) -> bool:
        """Whether its next step has to wait for another actor's transaction."""
        return self.next is not COMMIT and self.next is not ROLLBACK and self.connection.blocked(self.next)

    def step(self) -> None:
        """Take the next step; what comes after it is known then."""
        try:
            try:
                if self.next is COMMIT:
                    answer = self.connection.commit()
                elif self.next is ROLLBACK:
                    answer = self.connection.roll_back()
                else:
                    answer = self.connection.execute(self.next)
            except Exception as error:
                self.next = self._plan.throw(error)
            else:
                self.next = self._plan.send(answer)
        except StopIteration:
            self.next = None

    def crash(self) -> None:
        """Be gone."""
        self.next = None
        self.connection.roll_back()

    def drain(self, queues: Callable[[], Sequence[str]]) -> Plan[None]:
        """Open all queues, and do everything that can be handed out, until there is nothing."""
        for queue in sorted(self.ledger.settings):
            yield from self._do(script.Set(queue, paused=False, draining=False), "")
        for queue in queues() if self.ledger.stopped else ():
            stopped = yield from self._find(queue)
            for place, record in enumerate(stopped):
                if record.due_at is None and record.status != "dead":
                    yield from self._change(script.Change(queue, place, "requeue", even_if_leased=True))
        before = -1
        while before != self.ledger.changes_of_messages:
            before = self.ledger.changes_of_messages
            for queue in queues():
                yield from self._reserve(script.Reserve(queue, MANY, 60))
                while self.held:
                    yield from self._settle(script.Settle((script.Commit(),) * MANY), "")

    def begin(self, plan: Plan[None]) -> None:
        """Carry out another plan than its operations."""
        self._plan = plan
        self.next = next(plan, None)

    # One call after the other.

    def _work(self) -> Plan[None]:
        for place, operation in enumerate(self.operations):
            yield from self._do(operation, f"{self.number}.{place}")

    def _do(self, operation: script.Operation, name: str) -> Plan[None]:
        match operation:
            case script.Push():
                yield from self._push(operation, name)
            case script.Reserve():
                yield from self._reserve(operation)
            case script.Settle():
                yield from self._settle(operation, name)
            case script.Extend():
                yield from self._extend(operation)
            case script.Pop():
                yield from self._pop(operation)
            case script.Change():
                yield from self._change(operation)
            case script.Remove():
                yield from self._remove(operation)
            case script.Set():
                yield from self._set(operation)
            case script.Tick():
                yield from self._tick()
            case script.Prune():
                yield from self._call(operation, self.store.history.prune(100), lambda _: None)
            case script.Together():
                yield from self._together(operation, name)

    def _call(
        self,
        what: object,
        plan: Plan[T],
        tell: Callable[[T], None],
        refused: Callable[[DuerowError], None] | None = None,
    ) -> Plan[T | None]:
        """Carry out a plan in a transaction of its own, or in the one that is open; tell the ledger when it is over."""
        try:
            answer = yield from _one_by_one(plan)
        except (QueueDraining, DuplicateKey, BatchRefused) as error:
            if refused is None:
                raise
            if self._joint is not None:
                raise
            if self.connection.begun:
                yield ROLLBACK
            refused(error)
            self._story(what, error)
            return None
        if self._joint is not None:
            self._joint.append(lambda: self._over(what, tell, answer))
            return answer
        if self.connection.begun:
            yield COMMIT
        self._over(what, tell, answer)
        return answer

    def _over(self, what: object, tell: Callable[[T], None], answer: T) -> None:
        self.ledger.changes += 1
        self._story(what, answer)
        tell(answer)

    def _story(self, what: object, answer: object) -> None:
        if self.tell is not None:
            self.tell(f"{self.clock.monotonic():9.3f} actor {self.number}: {what} -> {_short(answer)}")

    def _together(self, operation: script.Together, name: str) -> Plan[None]:
        """Do several operations in one transaction of the caller's."""
        yield BEGIN
        self._joint, held = [], list(self.held)
        try:
            for place, one in enumerate(operation.operations):
                yield from self._do(one, f"{name}.{place}")
            commits = operation.commits
        except (QueueDraining, DuplicateKey):
            commits = False
        joint, self._joint = self._joint, None
        yield COMMIT if commits else ROLLBACK
        if not commits:
            self.held = held
            self._story("all of it", "rolled back")
            return
        for one in joint:
            one()

    def _push(self, push: script.Push, name: str) -> Plan[None]:
        delay = timedelta(seconds=push.delay) if push.delay else None
        entries = [
            Entry(push.queue, key, "json", f'"{name}.{place}"', None, None, delay, push.group, push.priority)
            for place, key in enumerate(push.keys)
        ]
        ledger, began = self.ledger, self.ledger.moment

        def refused(error: DuerowError) -> None:
            if isinstance(error, QueueDraining):
                ledger.draining_refused([push.queue], began)
            else:
                ledger.taken_refused(entries, push.remembered)

        plan = self.store.messages.push(entries, push.mode, push.remembered)
        yield from self._call(
            push, plan, lambda answer: ledger.pushed(entries, push.mode, push.remembered, answer, began), refused
        )

    def _reserve(self, reserve: script.Reserve) -> Plan[None]:
        self._claims += 1
        began, queue, attempts, to = self.ledger.moment, reserve.queue, reserve.attempts, reserve.dead_letter
        plan = self.store.messages.reserve(
            queue,
            reserve.limit,
            timedelta(seconds=reserve.lease),
            attempts,
            f"here:{self.number}:w/{self._claims}",
            to,
            KEEP.get(queue),
        )
        answer = yield from self._call(
            reserve, plan, lambda one: self.ledger.reserved(queue, one.records, one.buried, attempts, to, began)
        )
        if answer is not None:
            self.held += answer.records
            ids = [record.id for record in answer.records]
            if len(set(ids)) < len(ids):
                raise BrokenPromise("a claim names each message once", f"{ids}")

    def _pop(self, pop: script.Pop) -> Plan[None]:
        began, ledger = self.ledger.moment, self.ledger
        plan = self.store.messages.pop(pop.queue, pop.limit, KEEP.get(pop.queue))
        alone = self._joint is None
        if alone:
            ledger.pops.append(pop.queue)  # stays there if this actor crashes meanwhile
        yield from self._call(pop, plan, lambda records: ledger.popped(pop.queue, records, began))
        if alone:
            ledger.pops.remove(pop.queue)

    def _extend(self, extend: script.Extend) -> Plan[None]:
        receipts = [Receipt(record.id, record.token) for record in self.held]
        if not receipts:
            return
        plan = self.store.messages.extend(receipts, timedelta(seconds=extend.lease))
        yield from self._call(extend, plan, lambda until: self.ledger.extended(receipts, until, self.clock.now()))

    def _settle(self, settle: script.Settle, name: str) -> Plan[None]:
        if not self.held:
            return
        queue = self.held[0].queue  # a call settles turns of one queue
        records = [record for record in self.held[: len(settle.ends)] if record.queue == queue]
        if not settle.keep:
            self.held = [record for record in self.held if record not in records]
        turns: list[Turn] = []
        outcomes: list[tuple[Receipt, str, list[int]]] = []
        for place, (record, end) in enumerate(zip(records, settle.ends, strict=False)):
            receipt = Receipt(record.id, record.token)
            stored = self._end(record, end, f"{name}.{place}")
            if record.queue == SETS:
                correlation, parts = parts_of(record.payload)
                if parts is None and isinstance(stored, Committed):
                    stored = Closed(SETS, correlation, None)
                elif parts is not None and isinstance(stored, Committed):
                    outcomes.append((receipt, correlation, parts))
            turns.append(Turn(receipt, stored, None if record.group is None else (record.queue, record.group)))
        began, ledger = self.ledger.moment, self.ledger

        def tell(refused: list[Any]) -> None:
            ledger.settled(turns, refused, began, self.clock.now())
            without = {one.receipt for one in refused}
            for receipt, correlation, parts in outcomes:
                if receipt not in without:
                    ledger.outcome(correlation, parts)

        yield from self._call(settle, self.store.messages.settle(turns, KEEP.get(queue)), tell)

    def _end(self, record: Record, end: script.End, name: str) -> StoredEnd:
        match end:
            case script.Commit():
                return Committed(
                    tuple(
                        Entry(end.queue, None, "json", f'"{name}.{place}"', None, None, None)
                        for place in range(end.then)
                    )
                )
            case script.Rollback():
                return RolledBack(timedelta(seconds=end.delay), None)
            case script.Release():
                return Released(record.due_at)
            case _ if record.queue == SETS:
                return Committed()
            case script.Bury():
                return Buried(None)
            case script.Move():
                return Moved(end.to, None, None, end.key, None, None, None, end.mode, record.group, record.priority)
            case script.Join():
                deadline = timedelta(seconds=DEADLINE)
                return Joined(SETS, end.correlation, deadline, 10, Buried(None), COUNT)

    def _find(self, queue: str) -> Plan[list[Record]]:
        records: list[Record] = yield from _one_by_one(
            self.store.messages.find(Query(queue, by_id=True, limit=FOUND_AT_MOST))
        )
        return records

    def _change(self, change: script.Change) -> Plan[None]:
        records = yield from self._find(change.queue)
        if not records:
            return
        record = records[change.place % len(records)]
        kept = {"even_if_leased": change.even_if_leased, "dry_run": False}
        given: dict[str, Any] = {
            "requeue": {"delay": timedelta(0), "anew": True},
            "stop": {"due": None},
            "prioritise": {"priority": record.priority - 1},
            "edit": {"payload": record.payload, "kind": record.kind},
            "delay": {"delay": timedelta(seconds=2)},
        }[change.what]
        changes = [Change(record=record, **given)]
        plan = self.store.operations.change(change.queue, changes, **kept)
        revives = change.what in ("requeue", "delay")

        def tell(refused: Any) -> None:
            if not refused:
                self.ledger.see(record)
            self.ledger.changed(changes, refused, revives)

        yield from self._call(change, plan, tell)

    def _remove(self, remove: script.Remove) -> Plan[None]:
        ids, keys = list[int](), list[str]()
        if isinstance(remove.which, str):
            keys.append(remove.which)
        else:
            records = yield from self._find(remove.queue)
            if not records:
                return
            record = records[remove.which % len(records)]
            ids.append(record.id)
        began, even = self.ledger.moment, remove.even_if_leased
        plan = self.store.operations.remove(remove.queue, ids, keys, even, KEEP.get(remove.queue))

        def tell(removal: Any) -> None:
            if ids and removal.removed:
                self.ledger.see(record)
            self.ledger.removed(removal, even, began)

        yield from self._call(remove, plan, tell)

    def _set(self, change: script.Set) -> Plan[None]:
        def tell(_: None) -> None:
            self.ledger.settings.add(change.queue)
            for since, holds in ((self.ledger.paused, change.paused), (self.ledger.draining, change.draining)):
                if holds is not None:
                    since.set(change.queue, holds, self.ledger.moment)

        plan = self.store.metadata.put_settings(change.queue, change.paused, change.draining)
        yield from self._call(change, plan, tell)

    def _tick(self) -> Plan[None]:
        """Push what is due; declare the schedule if it is not there yet."""
        store, ledger = self.store.metadata, self.ledger
        found = yield from _one_by_one(store.schedules("nightly"))
        first = declare("nightly", SCHEDULE, found)
        if first is not None:
            yield from self._call("declare", store.set_schedule(first), lambda _: None)
            return
        due = yield from _one_by_one(store.schedules(due=True))
        for known in due.rows:
            yield from self._tick_one(known, due.now, ledger)

    def _tick_one(self, known: Planned, now: Any, ledger: Ledger) -> Plan[None]:
        change = tick(known, now)
        at = [codec.decode_headers(entry.headers)["tick"] for entry in change.push]
        named = [f'"tick {one}"' for one in at]
        entries = tuple(
            msgspec.structs.replace(entry, payload=name) for entry, name in zip(change.push, named, strict=True)
        )
        change, began = msgspec.structs.replace(change, push=entries), ledger.moment
        yield from self._call(
            "tick",
            self.store.metadata.set_schedule(change),
            lambda done: ledger.ticked(named, done, began),
            lambda _: None,
        )


def _one_by_one(plan: Plan[T]) -> Plan[T]:
    """Return a plan in which several steps at once are steps of their own."""
    try:
        step = next(plan)
        while True:
            try:
                if type(step) is Several:
                    answer: Any = []
                    for one in step.steps:
                        answer.append((yield one))
                else:
                    answer = yield step
            except Exception as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as finished:
        result: T = finished.value
        return result


def _short(answer: object) -> str:
    """Return an answer as a story tells it: messages by id and token."""
    if isinstance(answer, Record):
        return f"{answer.id}@{answer.token}"
    if isinstance(answer, list):
        return f"[{', '.join(map(_short, answer))}]"
    if hasattr(answer, "records"):
        return f"{_short(answer.records)} buried {_short(answer.buried)}"
    return str(answer)
