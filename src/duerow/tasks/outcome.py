"""How tasks end: what is kept in the queue of results, and how it is read back.

A result is a message that is due when it may be forgotten, and that has a mark (see `duerow.queue.beside`). The task's
own message becomes the result in the write that ends the turn, so it keeps its id. If that message goes elsewhere, a
separate result is pushed, with the message's id as its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import msgspec

from duerow.errors import CodecError, ResultMissing, TaskCancelled, TaskFailed
from duerow.message import LIVE, Draft, Failure, Message
from duerow.payload.codec import Encoded
from duerow.payload.dead_letter_headers import REASON
from duerow.payload.encoding import Payloads
from duerow.plan import BEGIN, Plan
from duerow.queue import mapping
from duerow.queue.beside import KINDS, RESULTS, is_own
from duerow.settlement import Bury, Commit, Move, Settlement, failure
from duerow.store import Entry, Query, Record, Retention, Store
from duerow.tasks.definition import TaskDefinition

TaskStatus = Literal["waiting", "running", "done", "failed", "cancelled", "unknown"]

_NULL: Final = msgspec.Raw(b"null")


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of a task that has ended, as it is stored.

    Attributes:
        task: the task's name.
        status: how it ended.
        arguments: the arguments of the call, as JSON.
        result: an object with the result as `value`, as JSON.
        error: why it failed.
        attempts: how many times it was run.
        worker: the worker that ran it last, as host:pid:worker/claim.
        created_at: when it was pushed.
        started_at: when its last attempt began.
        finished_at: when it ended.
    """

    task: str
    status: Literal["done", "failed", "cancelled"]
    arguments: msgspec.Raw = _NULL
    result: msgspec.Raw = _NULL
    error: Failure | None = None
    attempts: int = 0
    worker: str | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    def encoded(self) -> Encoded:
        """Return it as a payload."""
        return Encoded(KINDS[RESULTS], msgspec.json.encode(self, order="sorted").decode())


_decode = msgspec.json.Decoder(Outcome).decode


class TaskState(msgspec.Struct, frozen=True):
    """What is known about a task.

    Attributes:
        id: the message's id.
        status: "waiting" (for its first or another attempt), "running", "done", "failed" (for good), "cancelled", or
            "unknown" (nothing is kept about it any longer, or nothing ever was).
        attempts: how many times it was run.
        arguments: the arguments of the call by name; None: unknown.
        value: the result, if its status is "done" and results are kept.
        error: why its last attempt failed, if it did.
        worker: the worker that runs it, or ran it last, as host:pid:worker/claim; None: unknown.
        created_at: when it was pushed.
        started_at: when its last attempt began.
        finished_at: when it ended, by the worker's clock.
    """

    id: int
    status: TaskStatus
    attempts: int = 0
    arguments: Mapping[str, Any] | None = None
    value: Any = None
    error: Failure | None = None
    worker: str | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it unless somebody intervenes."""
        return self.status not in ("waiting", "running")

    def result(self, task: str) -> Any:
        """Return the result of a task that has ended, or raise the reason why there is none."""
        if self.status == "done":
            return self.value
        if self.status == "failed":
            raise TaskFailed(task, self.id, self.error)
        if self.status == "cancelled":
            raise TaskCancelled(task, self.id)
        raise ResultMissing(task, self.id)


# What is written.


def failed(task: TaskDefinition, message: Message, bury: Bury, now: datetime) -> Outcome:
    """Return the outcome of a task that has failed for good."""
    return _outcome(task, message, now, "failed", error=failure(bury))


def done(task: TaskDefinition, message: Message, value: Any, now: datetime) -> Outcome:
    """Return the outcome of a task whose function returned a value; raise CodecError if it cannot be stored."""
    text = (task.returned or task.loosely_returned).encode(value)
    return _outcome(task, message, now, "done", result=msgspec.Raw(text.encode()))


def kept(task: TaskDefinition, outcome: Outcome) -> Settlement:
    """Return how a turn ends after the function returned: the message becomes the result, if results are kept."""
    if task.results is None:
        return Commit()
    return Move(task.queue + RESULTS, outcome.encoded(), key=None, group=None, priority=0, delay=task.results)


def beside(task: TaskDefinition, id: int, outcome: Outcome) -> Draft:
    """Return an outcome to push in addition to the task's own message."""
    return Draft(outcome.encoded(), key=str(id), delay=task.results, queue=task.queue + RESULTS)


def _outcome(
    task: TaskDefinition,
    message: Message,
    now: datetime,
    status: Literal["done", "failed"],
    *,
    result: msgspec.Raw = _NULL,
    error: Failure | None = None,
) -> Outcome:
    try:
        arguments = msgspec.Raw(task.parameters.encode(message.payload.arguments).text.encode())
    except CodecError:  # the function has changed them
        arguments = _NULL
    return Outcome(
        task.name,
        status,
        arguments,
        result,
        error,
        message.attempts,
        message.leased_by,
        message.created_at,
        message.last_attempt_at,
        now,
    )


def cancelled(task: TaskDefinition, now: datetime) -> Outcome:
    """Return the outcome of a task that is cancelled."""
    return Outcome(task.name, "cancelled", finished_at=now)


def cancel(
    store: Store, queue: str, keep: Retention | None, id: int, notes: Callable[[Record], Sequence[Entry]]
) -> Plan[bool]:
    """Remove a live message, even while it is being handled; return whether it existed.

    Args:
        store: the store.
        queue: the message's queue.
        keep: what the queue keeps about messages that leave.
        id: the message.
        notes: returns what to push in the same transaction, if the store has transactions.
    """
    together = store.capabilities.transactions
    if together:
        yield BEGIN
    live = yield from store.messages.find(Query(queue, ids=(id,), statuses=LIVE, by_id=True, limit=1, locked=together))
    removal = (yield from store.operations.remove(queue, [id], (), True, keep)) if live else None
    if removal is None or not removal.removed:
        return False
    entries = notes(live[0]) if together else ()
    if entries:
        yield from store.messages.push(entries, "ignore")
    return True


# What is read.


class Found(NamedTuple):
    """What was found for a task's message.

    Attributes:
        message: the message, wherever it is: in its queue, among the results, or among dead letters.
        beside: the separate result that was pushed, if any.
    """

    message: Record | None = None
    beside: Record | None = None


def find(store: Store, queue: str, dead_letter: str | None, id: int) -> Plan[Found]:
    """Find a task's message, in whichever queue it is now, and its result."""
    results = queue + RESULTS
    beside = Query(results, keys=(str(id),), statuses=LIVE, limit=1)
    for _ in range(2):  # it may move between two looks, but only forward
        for place in (results, queue, dead_letter):
            if place is None:
                continue
            found = yield from store.messages.find(Query(place, ids=(id,), by_id=True, limit=1))
            if found and (place == results or (found[0].status in LIVE and place == queue)):
                return Found(found[0])
            if found:
                break
        pushed = yield from store.messages.find(beside)
        if found or pushed:
            return Found(found[0] if found else None, pushed[0] if pushed else None)
    return Found()


def state(task: TaskDefinition, id: int, found: Found, payloads: Payloads) -> TaskState:
    """Return what is known of a task.

    Args:
        task: the task.
        id: the id of its message.
        found: what was found for it.
        payloads: reads the payloads of its queue.
    """
    record, beside = found
    kept = None
    if beside is not None and is_own(beside.kind):  # otherwise it is a message of the application with that key
        kept = _ended(task, id, _decode(payloads.opened(beside).text))
    if record is None:
        return kept or TaskState(id, "unknown")
    if record.queue == task.queue + RESULTS:
        return _ended(task, id, _decode(payloads.opened(record).text))
    message = mapping.readable(record, payloads)
    given_up = record.status == "dead" or record.queue != task.queue
    if kept is not None and given_up and (record.queue != task.queue or kept.started_at == record.last_attempt_at):
        return kept
    return TaskState(
        id,
        "failed" if given_up else "waiting" if record.leased_by is None else "running",
        record.attempts,
        _arguments(task, record.kind, payloads, record),
        None,
        message.last_error or _reason(message.headers.get(REASON)),
        record.leased_by,
        record.created_at,
        record.last_attempt_at,
    )


def _reason(text: object) -> Failure | None:
    """Return why a dead letter failed for good, if only its header has the reason."""
    return Failure("Error", text) if isinstance(text, str) else None


def _ended(task: TaskDefinition, id: int, outcome: Outcome) -> TaskState:
    value: Any = None
    if outcome.status == "done" and task.returned is not None:
        value = task.returned.decode(bytes(outcome.result).decode())
    return TaskState(
        id,
        outcome.status,
        outcome.attempts,
        _of_text(task, task.name, bytes(outcome.arguments).decode()),
        value,
        outcome.error,
        outcome.worker,
        outcome.created_at,
        outcome.started_at,
        outcome.finished_at,
    )


def _arguments(task: TaskDefinition, kind: str, payloads: Payloads, record: Record) -> Mapping[str, Any] | None:
    try:
        return _of_text(task, kind, payloads.opened(record).text)
    except CodecError:
        return None


def _of_text(task: TaskDefinition, kind: str, text: str) -> Mapping[str, Any] | None:
    try:
        return task.parameters.decode(kind, text)
    except CodecError:
        return None
