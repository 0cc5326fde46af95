"""What is asked of messages and of what became of them, what is changed, and what is answered."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from duerow.conditions.model import Condition
from duerow.message import Ending, Status
from duerow.reservation import Receipt
from duerow.store.metadata import Indexed
from duerow.store.writes import Record


class HistoryRow(msgspec.Struct, frozen=True, gc=False):
    """A turn that is over, with payload, headers and error as JSON text; fields as in `duerow.queue.history.Event`."""

    id: int
    token: int
    queue: str
    key: str | None
    kind: str
    payload: str
    headers: str | None
    group: str | None
    priority: int
    outcome: Ending
    moved_to: str | None
    attempts: int
    created_at: datetime
    first_due_at: datetime
    due_at: datetime
    started_at: datetime
    finished_at: datetime
    worker: str | None
    error: str | None

    @property
    def place(self) -> PlaceInHistory:
        """Where it stands in the order of history."""
        return self.finished_at, self.id, self.token


PlaceInHistory = tuple[datetime, int, int]
"""A place in the history of a queue: when a turn finished, its message's id and its token."""


class HistoryQuery(msgspec.Struct, frozen=True, gc=False):
    """Which turns of a queue's history to read; all that is given must hold.

    Attributes:
        id: only those of this message.
        ends: only those after which the message left the queue or was dead.
        where: only those of which this holds.
        oldest_first: in the order in which they finished, else in the opposite one.
        after: only those behind this place in that order.
        until: no later ones than this place.
        limit: at most so many.
    """

    queue: str
    id: int | None = None
    ends: bool = False
    where: Condition | None = None
    oldest_first: bool = False
    after: PlaceInHistory | None = None
    until: PlaceInHistory | None = None
    limit: int = 100


class Order(msgspec.Struct, frozen=True, gc=False):
    """In which order to read messages, and where to begin.

    Attributes:
        field: a message field, one of `duerow.where.FIELDS`; messages that have none come last in both directions,
            equal ones in the order of their ids.
        descending: the largest first, equal ones by descending id.
        after: the field's value and the id of the message behind which to begin.
    """

    field: str = "id"
    descending: bool = False
    after: tuple[Any, int] | None = None


class Query(msgspec.Struct, frozen=True, gc=False):
    """Which messages of a queue to read; all that is given must hold.

    Attributes:
        ids, keys, statuses: only these.
        after_id: only those with a higher id; goes with `by_id`.
        by_id: in the order of id, else in the order in which they would be handed out (stopped ones last).
        limit: at most so many.
        where: only those of which this holds.
        order: in this order instead.
        locked: as they are until the transaction ends: nobody else changes them meanwhile.
        indexed: the payload fields that have an index, which a condition may be served by; what is found is the same.
    """

    queue: str
    ids: tuple[int, ...] | None = None
    keys: tuple[str, ...] | None = None
    statuses: tuple[Status, ...] | None = None
    after_id: int | None = None
    by_id: bool = False
    limit: int = 100
    where: Condition | None = None
    order: Order | None = None
    locked: bool = False
    indexed: tuple[Indexed, ...] = ()


ALL_IDS: Final = (1 << 63) - 1


class Scan(msgspec.Struct, frozen=True, gc=False):
    """Which messages, or turns that are over, to read for whoever goes through very many; all that is given must hold.

    Attributes:
        past: turns instead of messages.
        queues: only of these; None: of all.
        statuses: only messages with one of these.
        where: only those of which this holds.
        after: only those behind this id and token, in the order of both; a message stands where its id does.
        last: none with a higher id.
        descending: the highest first, of all up to `last`; `after` then says nothing.
        limit: at most so many.
    """

    past: bool = False
    queues: tuple[str, ...] | None = None
    statuses: tuple[Status, ...] | None = None
    where: Condition | None = None
    after: tuple[int, int] = (0, 0)
    last: int = ALL_IDS
    descending: bool = False
    limit: int = 100


class Change(msgspec.Struct, frozen=True, gc=False):
    """What becomes of one message; what is UNSET stays.

    Attributes:
        record: the message as it was read; its token is the fence.
        payload, kind: its content, always both.
        headers: all its headers.
        priority: its priority.
        due: when it is due; None: never, it is stopped.
        delay: instead of `due`, how long from now until it is due.
        anew: attempts 0, status `new`, no error, no last attempt.
    """

    record: Record
    payload: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    headers: str | UnsetType | None = UNSET
    priority: int | UnsetType = UNSET
    due: datetime | UnsetType | None = UNSET
    delay: timedelta | UnsetType = UNSET
    anew: bool = False

    @property
    def receipt(self) -> Receipt:
        """The message, and the token with which it was read."""
        return Receipt(self.record.id, self.record.token)

    @property
    def revives(self) -> bool:
        """Whether it brings a dead message back to life."""
        return self.record.status == "dead" and (isinstance(self.due, datetime) or self.delay is not UNSET)


Tally = list[tuple[Any, int]]
"""Values and how many messages have each; lists and objects as they are decoded, None for missing ones and null.

Equal values may come more than once. Without a path the value is None."""


class Removal(msgspec.Struct, frozen=True, gc=False):
    """What a remove did: the ids that are gone, and those left because a lease on them runs, with their holders."""

    removed: list[int]
    leased: list[tuple[int, str]]


class Consumer(msgspec.Struct, frozen=True, gc=False):
    """A consumer that said that it is there.

    Attributes:
        name: host:pid:worker.
        queues: what it consumes.
        kinds: the kinds of payloads that it knows.
        version: its duerow's version.
        seen_at: when it said so last.
    """

    name: str
    queues: tuple[str, ...]
    kinds: tuple[str, ...]
    version: str
    seen_at: datetime


class Inspection(msgspec.Struct, frozen=True, gc=False):
    """A message and what stands between it and a consumer.

    Attributes:
        now: the time.
        record: the message.
        blocker: the message of its group that has to leave first; None: none has to.
        paused: whether its queue is paused.
        consumers: all consumers that are known, of whatever queue.
    """

    now: datetime
    record: Record
    blocker: Record | None
    paused: bool
    consumers: list[Consumer]
