"""The part of the store contract that the probes put to the test: its values, its verbs, one decision.

Nothing here is shipped. The real contract is `duerow.store`; these values are the few of its fields that bear on how
a database is spoken to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol, TypeVar

from duerow.plan import Plan

T = TypeVar("T")
OnDuplicate = Literal["ignore", "replace", "earliest", "reject"]
Outcome = Literal["created", "updated", "ignored"]


class Conflict(Exception):
    """The database ended this transaction in favour of another one: the whole plan is worth another try."""


class NotSupported(Exception):
    """This store cannot do that; nothing was changed."""


class DuplicateKey(Exception):
    """A live message of the queue holds the key already."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = tuple(keys)
        super().__init__(f"taken: {', '.join(keys)}")


@dataclass(frozen=True)
class Entry:
    """A message to be pushed; without `due` it is due at once."""

    queue: str
    payload: str
    key: str | None = None
    due: datetime | None = None


@dataclass(frozen=True)
class Pushed:
    """What became of a push."""

    id: int
    outcome: Outcome


@dataclass(frozen=True)
class Receipt:
    """What every later write of a reservation must match."""

    id: int
    token: int


@dataclass(frozen=True)
class Record:
    """A message as it is kept; what a reserve returns carries the due time that it had in line."""

    id: int
    queue: str
    payload: str
    key: str | None
    status: str
    due_at: datetime | None
    first_due_at: datetime
    attempts: int
    token: int
    leased_by: str | None
    leased_until: datetime | None
    last_error: str | None

    @property
    def receipt(self) -> Receipt:
        """The proof that this reservation is ours."""
        return Receipt(self.id, self.token)


@dataclass(frozen=True)
class Reserved:
    """What a reserve lent, oldest first, and how many it buried instead."""

    records: list[Record]
    buried: int


@dataclass(frozen=True)
class Committed:
    """The message leaves the queue."""


@dataclass(frozen=True)
class RolledBack:
    """The attempt failed; due again after the delay."""

    delay: timedelta
    error: str


@dataclass(frozen=True)
class Buried:
    """Given up and kept as dead."""

    error: str


@dataclass(frozen=True)
class Released:
    """Not started: back in its place, one attempt less."""

    due_at: datetime


@dataclass(frozen=True)
class Moved:
    """Goes to another queue in the one write that ends this turn."""

    to: str
    payload: str | None = None
    on_duplicate: OnDuplicate = "reject"


End = Committed | RolledBack | Buried | Released | Moved


@dataclass(frozen=True)
class Turn:
    """A receipt and how its turn ends."""

    receipt: Receipt
    end: End


@dataclass(frozen=True)
class Refused:
    """A receipt that changed nothing, and why."""

    receipt: Receipt
    why: Literal["lease lost", "duplicate key"]


class Store(Protocol):
    """The verbs, each of them a plan."""

    def push(self, entries: Sequence[Entry], on_duplicate: OnDuplicate) -> Plan[list[Pushed]]: ...

    def reserve(
        self, queue: str, limit: int, lease: timedelta, attempts: int | None, consumer: str
    ) -> Plan[Reserved]: ...

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]: ...

    def settle(self, turns: Sequence[Turn]) -> Plan[list[Refused]]: ...

    def pop(self, queue: str, limit: int) -> Plan[list[Record]]: ...

    def find(self, queue: str) -> Plan[list[Record]]: ...


class Connection(Protocol):
    """One way to a server. It makes the plan anew for every try: a generator that failed cannot be carried on."""

    def carry_out(self, make_plan: Callable[[], Plan[T]]) -> T: ...

    def close(self) -> None: ...


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.moment = datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def advance(self, by: timedelta) -> None:
        self.moment += by


class Queue:
    """Calls a store's verbs over one connection, for one queue unless a call names another."""

    def __init__(self, store: Store, connection: Connection, consumer: str, name: str = "orders") -> None:
        self.store, self.connection, self.consumer, self.name = store, connection, consumer, name
        self._claims = 0

    def push(self, *entries: Entry, on_duplicate: OnDuplicate = "ignore") -> list[Pushed]:
        return self.connection.carry_out(lambda: self.store.push(entries, on_duplicate))

    def reserve(
        self, limit: int = 1, lease: timedelta = timedelta(minutes=1), attempts: int | None = None
    ) -> list[Record]:
        return self.reserve_and_bury(limit, lease, attempts).records

    def reserve_and_bury(self, limit: int, lease: timedelta, attempts: int | None) -> Reserved:
        self._claims += 1
        claim = f"{self.consumer}/{self._claims}"
        return self.connection.carry_out(lambda: self.store.reserve(self.name, limit, lease, attempts, claim))

    def extend(self, records: Sequence[Record], lease: timedelta) -> dict[Receipt, datetime]:
        receipts = [record.receipt for record in records]
        return self.connection.carry_out(lambda: self.store.extend(receipts, lease))

    def settle(self, *turns: tuple[Record, End]) -> list[Refused]:
        ended = [Turn(record.receipt, end) for record, end in turns]
        return self.connection.carry_out(lambda: self.store.settle(ended))

    def pop(self, limit: int = 1) -> list[Record]:
        return self.connection.carry_out(lambda: self.store.pop(self.name, limit))

    def find(self, name: str | None = None) -> list[Record]:
        return self.connection.carry_out(lambda: self.store.find(name or self.name))


def met_again(stored: Record, entry: Entry, on_duplicate: OnDuplicate, now: datetime) -> Record | None:
    """Return what the stored message becomes when its key is pushed again; None when it stays as it is."""
    due = entry.due or now
    if on_duplicate == "replace":
        same_time = entry.due in (None, stored.first_due_at)
        untouched = stored.status == "new" and stored.due_at is not None
        if stored.payload == entry.payload and same_time and untouched:
            return None
        return _pushed_anew(stored, entry.payload, due)
    if on_duplicate == "earliest":
        waits_longer = stored.leased_by is None and stored.due_at is not None and due < stored.due_at
        return replace(stored, due_at=due) if waits_longer else None
    return None


def _pushed_anew(stored: Record, payload: str, due: datetime) -> Record:
    return replace(
        stored,
        payload=payload,
        status="new",
        due_at=due,
        first_due_at=due,
        attempts=0,
        token=stored.token + 1,
        leased_by=None,
        leased_until=None,
        last_error=None,
    )


def settled(held: Record, end: End, now: datetime) -> Record | None:
    """Return what a reserved message becomes at the end of its turn; None when it leaves the queue."""
    free = replace(held, token=held.token + 1, leased_by=None, leased_until=None)
    match end:
        case Committed():
            return None
        case RolledBack(delay, error):
            return replace(free, status="error", due_at=now + delay, last_error=error)
        case Buried(error):
            return replace(free, status="dead", due_at=None, last_error=error)
        case Released(due_at):
            return replace(free, due_at=due_at, attempts=held.attempts - 1)
        case Moved(to, payload):
            changed = held.payload if payload is None else payload
            return _pushed_anew(replace(held, queue=to), changed, now)


def lease_ended(held: Record, limit: int | None) -> str | None:
    """Say how an unsettled lease ended, for the message's last error; None when there was none."""
    if held.leased_by is None or held.leased_until is None:
        return None
    ended = held.leased_until.strftime("%Y-%m-%d %H:%M:%S")
    return f"lease of {held.leased_by} ended at {ended}, attempt {held.attempts} of {limit or 'any'}"


def read_all(rows: Sequence[Any], read: Callable[[Any], Record]) -> list[Record]:
    """Read rows as records, in their order."""
    return [read(row) for row in rows]
