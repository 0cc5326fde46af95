"""A record of what a database did, which `trace_check` checks against the rules of the protocol.

    trace = Trace()
    record(database, trace)                        # before it creates any queues
    ...
    assert check(trace.events) == []

The rows of a table that is used as a queue are recorded in a trace of their own, because their ids may be those of
messages: `record(EntityQueue(Order.sending, engine), trace)`.

The library itself has no code for this: the store and the connections of the database are wrapped. Several handles, and
several processes on one machine, can be recorded: the times of their events come from one clock that never goes back.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import msgspec

from duerow import Database, Pushed, aio
from duerow.plan import AsyncExecute, Execute, Plan
from duerow.reservation import Receipt
from duerow.store import Entry, Record, Refused, Reserved, SettlesAndReserves, Turn

if TYPE_CHECKING:
    from duerow.aio.entity import EntityQueue as AwaitedEntityQueue
    from duerow.entity import EntityQueue

T = TypeVar("T")

What = Literal["pushed", "handed", "popped", "extended", "settled"]


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event in the life of a message.

    Attributes:
        what: `pushed` (created), `handed` (reserved), `popped`, `extended`, or `settled` (with effect).
        id, token: the message's id, or the row's, and its token at that time, as in a receipt.
        began, ended: the times between which it happened, in nanoseconds on the machine's clock.
        sure: whether the caller knows that its transaction was committed; if not, it may not have happened.
        queue, group, key: those of the message, if it was pushed, handed out or popped.
        at: when it was handed out, according to the database's clock.
        until: the end of the lease, if the message was handed out or the lease extended.
        how: how the turn ended, if it was settled: the name of a class in `duerow.store.writes`.
    """

    what: What
    id: int
    token: int
    began: int
    ended: int = 0
    sure: bool = True
    queue: str | None = None
    group: str | None = None
    key: str | None = None
    at: datetime | None = None
    until: datetime | None = None
    how: str | None = None

    def __str__(self) -> str:
        named = (self.queue, self.group and f"group {self.group}", self.key and f"key {self.key}", self.how)
        leased = f", lent {self.at:%H:%M:%S.%f}" if self.at else ""
        leased += f", until {self.until:%H:%M:%S.%f}" if self.until else ""
        more = ", ".join(one for one in named if one)
        return (
            f"{self.ended} {self.what} {self.id} token {self.token} ({more}{leased}){'' if self.sure else ' perhaps'}"
        )


class Trace:
    """Recorded events, in memory or in a file.

    Args:
        file: a file to which each event is written at once as a line of JSON, so that the events of a killed process
            are not lost; None: events are kept in memory.

    Attributes:
        events: the events in memory.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.events: list[Event] = []
        self._file = None if file is None else file.open("ab", buffering=0)

    def add(self, events: Iterable[Event], sure: bool) -> None:
        """Add the events of a transaction that is over."""
        now = time.monotonic_ns()
        over = [msgspec.structs.replace(event, ended=now, sure=sure) for event in events]
        if self._file is None:
            self.events += over
        elif over:
            self._file.write(b"".join(msgspec.json.encode(event) + b"\n" for event in over))


def read(files: Iterable[Path]) -> list[Event]:
    """Return the events in files, ignoring lines that a killed process did not finish."""
    events = []
    for file in files:
        for line in file.read_bytes().splitlines():
            with suppress(msgspec.DecodeError):
                events.append(msgspec.json.decode(line, type=Event))
    return events


def record(
    recorded: Database | aio.Database | EntityQueue[Any] | AwaitedEntityQueue[Any],
    trace: Trace,
) -> None:
    """Record what a database or a queue of rows does from now on.

    Args:
        recorded: a database: what queues do that it creates after this; or a queue of rows whose primary key is one
            integer, before any worker handles them.
        trace: where to record it.
    """
    if isinstance(recorded, Database | aio.Database):
        _wrap(recorded, trace)
    else:
        queue: Any = recorded.worker_queue
        _wrap(queue.database, trace)
        queue._store = queue.database.store


def _wrap(database: Database | aio.Database, trace: Trace) -> None:
    awaited = isinstance(database, aio.Database)
    database.store = _RecordedStore(database.store, trace)
    database.connections = (_RecordedAsyncConnections if awaited else _RecordedConnections)(database.connections, trace)


_PENDING: Final[ContextVar[list[Event] | None]] = ContextVar("duerow_pending_events", default=None)
"""The events of the open transaction of this thread or task; None: any open transaction is the caller's."""


class _RecordedStore:
    def __init__(self, store: Any, trace: Trace) -> None:
        kind = _RecordedMessagesInOneGo if isinstance(store.messages, SettlesAndReserves) else _RecordedMessages
        self._store, self._messages = store, kind(store.messages, trace)

    def __getattr__(self, name: str) -> Any:
        return self._messages if name == "messages" else getattr(self._store, name)


class _RecordedMessages:
    """The part of a store that is recorded."""

    push_chunks = push_keyed_chunks = None  # a large push is recorded in one piece

    def __init__(self, part: Any, trace: Trace) -> None:
        self._part, self._trace = part, trace

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)

    def push(self, entries: Sequence[Entry], *args: Any, **named: Any) -> Plan[list[Pushed]]:
        def events(pushed: list[Pushed], began: int) -> Iterator[Event]:
            for entry, one in zip(entries, pushed, strict=False):  # none if its name was already recorded
                if one.outcome == "created":
                    yield Event("pushed", one.id, 0, began, queue=entry.queue, group=entry.group, key=entry.key)

        return self._recorded(self._part.push(entries, *args, **named), events)

    def reserve(self, *args: Any, **named: Any) -> Plan[Reserved]:
        def events(reserved: Reserved, began: int) -> Iterator[Event]:
            return (_handed("handed", one, began) for one in reserved.records)

        return self._recorded(self._part.reserve(*args, **named), events)

    def pop(self, *args: Any, **named: Any) -> Plan[list[Record]]:
        def events(records: list[Record], began: int) -> Iterator[Event]:
            return (_handed("popped", one, began) for one in records)

        return self._recorded(self._part.pop(*args, **named), events)

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        def events(until: dict[Receipt, datetime], began: int) -> Iterator[Event]:
            return (Event("extended", one.id, one.token, began, until=end) for one, end in until.items())

        return self._recorded(self._part.extend(receipts, lease), events)

    def settle(self, turns: Sequence[Turn], *args: Any, **named: Any) -> Plan[list[Refused]]:
        def events(refused: list[Refused], began: int) -> Iterator[Event]:
            return _settled(turns, refused, began)

        return self._recorded(self._part.settle(turns, *args, **named), events)

    def _recorded(self, plan: Plan[T], events: Callable[[T, int], Iterator[Event]]) -> Plan[T]:
        began = time.monotonic_ns()
        result = yield from plan
        pending = _PENDING.get()
        if pending is None:
            self._trace.add(events(result, began), sure=False)
        else:
            pending.extend(events(result, began))
        return result


class _RecordedMessagesInOneGo(_RecordedMessages):
    """The same of a store that can settle and reserve in one go."""

    def settle_and_reserve(
        self, turns: Sequence[Turn], *args: Any, **named: Any
    ) -> Plan[tuple[list[Refused], Reserved] | None]:
        def events(done: tuple[list[Refused], Reserved] | None, began: int) -> Iterator[Event]:
            if done is not None:
                yield from _settled(turns, done[0], began)
                yield from (_handed("handed", one, began) for one in done[1].records)

        return self._recorded(self._part.settle_and_reserve(turns, *args, **named), events)


def _settled(turns: Sequence[Turn], refused: Sequence[Refused], began: int) -> Iterator[Event]:
    without = {one.receipt for one in refused}
    for turn in turns:
        if turn.receipt not in without:
            yield Event("settled", turn.receipt.id, turn.receipt.token, began, how=type(turn.end).__name__)


def _handed(what: What, one: Record, began: int) -> Event:
    return Event(
        what,
        one.id,
        one.token + (what == "popped"),  # the row went unchanged; a reservation would have raised its token
        began,
        queue=one.queue,
        group=one.group,
        key=one.key,
        at=one.last_attempt_at,
        until=one.leased_until,
    )


class _RecordedConnections:
    def __init__(self, connections: Any, trace: Trace) -> None:
        self._connections, self._trace = connections, trace

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connections, name)

    @contextmanager
    def open(self) -> Iterator[Execute]:
        with _transaction(self._trace), self._connections.open() as execute:
            yield execute


class _RecordedAsyncConnections(_RecordedConnections):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncExecute]:  # type: ignore[override]
        with _transaction(self._trace):
            async with self._connections.open() as execute:
                yield execute


@contextmanager
def _transaction(trace: Trace) -> Iterator[None]:
    """Collect the events of a transaction, and add them when it is over."""
    before, pending = _PENDING.get(), list[Event]()
    _PENDING.set(pending)
    sure = False
    try:
        yield
        sure = True
    finally:
        _PENDING.set(before)
        trace.add(pending, sure)
