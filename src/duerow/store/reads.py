"""Queries for messages and history, changes of messages, and their results."""

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
    """A finished turn, with payload, headers and error as JSON text; fields as in `duerow.queue.history.Event`."""

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
        """Its position in the order of history."""
        return self.finished_at, self.id, self.token


PlaceInHistory = tuple[datetime, int, int]
"""A position in the history of a queue: when a turn finished, its message's id and its token."""


class HistoryQuery(msgspec.Struct, frozen=True, gc=False):
    """Which turns of a queue's history to read; all given conditions must hold.

    Attributes:
        id: only turns of this message.
        ends: only turns after which the message had left the queue or was dead.
        where: only turns for which this condition holds.
        oldest_first: in the order in which they finished; otherwise in reverse.
        after: only turns after this position in that order.
        until: no turns later than this position.
        limit: the maximum number of turns to read.
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
    """The order in which to read messages, and where to start.

    Attributes:
        field: a message field, one of `duerow.where.FIELDS`; messages without a value come last in both directions, and
            messages with equal values are ordered by id.
        descending: largest value first, equal values by descending id.
        after: start after this value of the field and this id.
    """

    field: str = "id"
    descending: bool = False
    after: tuple[Any, int] | None = None


class Query(msgspec.Struct, frozen=True, gc=False):
    """Which messages of a queue to read; all given conditions must hold.

    Attributes:
        ids, keys, statuses: only messages with one of these.
        after_id: only messages with a higher id; used with `by_id`.
        by_id: order by id; otherwise in the order in which they would be handed out (stopped messages last).
        limit: the maximum number of messages to read.
        where: only messages for which this condition holds.
        order: use this order instead.
        locked: lock the messages until the transaction ends, so that no one else can change them.
        indexed: the payload fields that have an index; a condition may use them, but they do not change the result.
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
    """Which of very many messages or finished turns to read; all given conditions must hold.

    Attributes:
        turns: whether to read turns instead of messages.
        queues: only those of these queues; None: of all queues.
        statuses: only messages with one of these statuses.
        where: only those for which this condition holds.
        after: only those after this id and token, in the order of id and token; messages are ordered by id alone.
        last: the highest id to read.
        descending: highest id first, of all up to `last`; `after` then has no effect.
        limit: the maximum number of rows to read.
    """

    turns: bool = False
    queues: tuple[str, ...] | None = None
    statuses: tuple[Status, ...] | None = None
    where: Condition | None = None
    after: tuple[int, int] = (0, 0)
    last: int = ALL_IDS
    descending: bool = False
    limit: int = 100


class ChangedFields(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The fields that a change sets; UNSET fields stay as they are.

    Attributes:
        payload, kind: the new content; always given together.
        headers: the new headers, complete.
        priority: the new priority.
        due: the new due time; None: none, so the message is stopped.
        delay: instead of `due`, how long from now until it is due.
        anew: whether to reset the message: attempts 0, status `new`, no error, no last attempt.
    """

    payload: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    headers: str | UnsetType | None = UNSET
    priority: int | UnsetType = UNSET
    due: datetime | UnsetType | None = UNSET
    delay: timedelta | UnsetType = UNSET
    anew: bool = False


class Change(ChangedFields, frozen=True, gc=False):
    """The changes of one message.

    Attributes:
        record: the message as it was read; its token fences the change.
    """

    record: Record

    @property
    def receipt(self) -> Receipt:
        """The message, and the token with which it was read."""
        return Receipt(self.record.id, self.record.token)

    @property
    def revives(self) -> bool:
        """Whether the change makes a dead message live again."""
        return self.record.status == "dead" and (isinstance(self.due, datetime) or self.delay is not UNSET)


Tally = list[tuple[Any, int]]
"""Values, and how many messages have each; lists and objects are decoded, and None stands for missing values and null.

Equal values may appear more than once. Without a path the value is None."""


class Removal(msgspec.Struct, frozen=True, gc=False):
    """The result of `remove`: the removed ids, and the ids that a running lease protected, with their holders."""

    removed: list[int]
    leased: list[tuple[int, str]]


class Consumer(msgspec.Struct, frozen=True, gc=False):
    """A consumer that reported that it is active.

    Attributes:
        name: host:pid:worker.
        queues: the queues that it consumes.
        kinds: the kinds of payloads that it knows.
        version: its version of duerow.
        seen_at: when it last reported.
    """

    name: str
    queues: tuple[str, ...]
    kinds: tuple[str, ...]
    version: str
    seen_at: datetime


class Inspection(msgspec.Struct, frozen=True, gc=False):
    """A message, and what may keep it from a consumer.

    Attributes:
        now: the current time.
        record: the message.
        blocker: the message of its group that has to leave first; None if there is none.
        paused: whether its queue is paused.
        consumers: all known consumers, of any queue.
    """

    now: datetime
    record: Record
    blocker: Record | None
    paused: bool
    consumers: list[Consumer]
