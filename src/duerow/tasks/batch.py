"""Batches: calls whose outcomes are gathered until one callback gets all of them.

Each call in a batch has headers that name the batch. The write that ends its turn also pushes its outcome, as a part,
to one queue for all batches. Parts are gathered into sets like those of a join (`duerow.pipeline.Join`), and a complete
set becomes one push of the callback.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal

import msgspec

from duerow.errors import CodecError, ConfigurationError, InvalidOutcome, NotSupported, shown
from duerow.message import LIVE, Draft, Failure, Message, Scalar, check_span
from duerow.payload.codec import JSON, SEALED, Encoded, decode_headers
from duerow.payload.encoding import SETS, PayloadReader
from duerow.queue.beside import RESULTS
from duerow.settlement import DONE, Bury, Close, Commit, Gather, Move, Retry, Settlement
from duerow.store import Record, Store
from duerow.store.join_sets import CORRELATION, messages_of
from duerow.tasks.definition import TaskDefinition
from duerow.tasks.outcome import Outcome

PARTS: Final = "/parts"
"""The suffix that, added to the name of the first queue of an application's tasks, names the queue of parts."""

MOST: Final = 10_000
"""The maximum number of calls in a batch: their outcomes are the argument of one call."""

DEADLINE: Final = timedelta(days=7)
"""How long after the first outcome the callback of a batch is called, even if outcomes are missing."""

REMEMBERED: Final = timedelta(days=30)
"""How long a batch is remembered after its callback was called, so that late outcomes do not call it again."""

ELSEWHERE: Final = timedelta(seconds=1)
"""How long until a complete batch is looked at again if a worker does not know its callback."""

AGAIN: Final = "+"
"""The suffix of the name of a batch that continues after some calls have ended twice."""

BATCH, _SIZE, _PLACE, _THEN, _DEADLINE = "batch", "batch-size", "batch-place", "batch-then", "batch-deadline"
_PARTS, _RESULTS = "batch-parts", "batch-results"
"""The headers of a call in a batch: the batch, its size, the call's place, the callback, and the deadline in seconds.

The last two are for code that removes the call from its queue without knowing the task: the queue of parts, and for how
many seconds the task keeps results, if it does.
"""


class TaskOutcome(msgspec.Struct, frozen=True):
    """How one call in a batch ended; the batch's callback gets a list of these.

    Attributes:
        id: the id of its message.
        task: the task's name.
        status: "done", "failed" or "cancelled".
        value: what the function returned, as JSON; None if the status is not "done".
        error: why it failed.
    """

    id: int
    task: str
    status: Literal["done", "failed", "cancelled"]
    value: Any = None
    error: Failure | None = None


class BatchPart(msgspec.Struct, frozen=True):
    """The outcome of one call in a batch, on its way to the others.

    Attributes:
        batch: the batch.
        size: how many calls the batch has.
        place: the place of this call among them.
        then: the name of the callback.
        deadline: the deadline in seconds.
        outcome: how the call ended.
        carried: whether the part was in a set that had to continue as another one.
    """

    batch: str
    size: int
    place: int
    then: str
    deadline: float
    outcome: TaskOutcome
    carried: bool = False

    def encoded(self) -> Encoded:
        """Return it as a payload."""
        return Encoded(JSON, msgspec.json.encode(self, order="sorted").decode())


def check_callback(task: TaskDefinition) -> TaskDefinition:
    """Return a task; raise ConfigurationError unless it takes one argument, the list of outcomes."""
    if len(task.parameters.signature.parameters) != 1:
        raise ConfigurationError(
            f"callback {task.name!r} takes {task.parameters.signature}; it must take one argument, the outcomes of a "
            "batch: list[duerow.TaskOutcome]"
        )
    return task


def members(
    drafts: Sequence[Draft],
    tasks: Sequence[TaskDefinition],
    then: TaskDefinition,
    deadline: timedelta,
    parts: str,
    store: Store,
) -> tuple[str, list[Draft]]:
    """Return the name of a new batch, and its calls with headers that name it.

    Args:
        drafts: the calls.
        tasks: the task of each.
        then: the callback.
        deadline: how long after the first outcome the callback is called, even if outcomes are missing.
        parts: the queue of parts.
        store: where they are pushed.

    Raises:
        ConfigurationError: there are no calls, or too many, or one is not a draft of a task.
        NotSupported: the store has no transactions, which the parts of a batch need.
    """
    if not store.capabilities.transactions:
        raise NotSupported(
            "a batch needs a store with transactions, to end a turn and push its outcome in the same transaction"
        )
    if not 1 <= len(drafts) <= MOST:
        raise ConfigurationError(f"a batch must have 1 to {MOST:,} calls, not {len(drafts):,}")
    check_span("deadline", deadline, timedelta(seconds=1))
    batch = secrets.token_hex(8)
    made: list[Draft] = []
    for place, (draft, task) in enumerate(zip(drafts, tasks, strict=True)):
        if not isinstance(getattr(draft, "payload", None), Encoded) or draft.queue is None:
            raise ConfigurationError(f"a batch takes drafts of tasks, such as send.draft(…), not {shown(draft)}")
        mine: dict[str, Scalar] = {
            BATCH: batch,
            _SIZE: len(drafts),
            _PLACE: place,
            _THEN: then.name,
            _DEADLINE: deadline.total_seconds(),
            _PARTS: parts,
        }
        if task.results is not None:
            mine[_RESULTS] = task.results.total_seconds()
        made.append(msgspec.structs.replace(draft, headers={**(draft.headers or {}), **mine}))
    return batch, made


def part_of(id: int, headers: Mapping[str, Scalar], outcome: Outcome, parts: str) -> Draft | None:
    """Return the outcome of a call as a part of its batch; None if the call is not in a batch.

    Args:
        id: the message.
        headers: its headers.
        outcome: how it ended.
        parts: the queue of parts.
    """
    batch, size, place = headers.get(BATCH), headers.get(_SIZE), headers.get(_PLACE)
    then, deadline = headers.get(_THEN), headers.get(_DEADLINE)
    if not (isinstance(batch, str) and isinstance(size, int) and isinstance(place, int) and isinstance(then, str)):
        return None
    value = plain_value(outcome.result) if outcome.status == "done" else None
    ended = TaskOutcome(id, outcome.task, outcome.status, value, outcome.error)
    part = BatchPart(batch, size, place, then, float(deadline or DEADLINE.total_seconds()), ended)
    return Draft(part.encoded(), queue=parts)


def notes_of(record: Record, now: datetime) -> list[Draft]:
    """Return what to push when an operator removes a call in a batch from its queue: the news that it was cancelled.

    A call that failed for good has already pushed its outcome, and a call without a batch has none to push.
    """
    if record.status not in LIVE or BATCH not in (record.headers or ""):
        return []
    try:
        headers = decode_headers(record.headers)
    except CodecError:
        return []
    parts, results = headers.get(_PARTS), headers.get(_RESULTS)
    how = Outcome(record.kind.removesuffix(SEALED), "cancelled", finished_at=now)
    part = part_of(record.id, headers, how, parts) if isinstance(parts, str) else None
    if part is None:
        return []
    if not isinstance(results, int | float):
        return [part]
    kept = timedelta(seconds=results)
    return [part, Draft(how.encoded(), key=str(record.id), delay=kept, queue=record.queue + RESULTS)]


def plain_value(result: str | msgspec.Raw) -> Any:
    """Return the value of a result, as JSON."""
    return msgspec.json.decode(result)["value"]


def with_part(settlement: Settlement, part: Draft) -> Settlement:
    """Return a settlement that also pushes a part; a settlement after which the call goes on is not changed."""
    if isinstance(settlement, Bury):
        return Bury(settlement.reason, (*settlement.then, part))
    if isinstance(settlement, Commit | Move):
        return msgspec.structs.replace(settlement, then=(*settlement.then, part))
    return settlement


def gather(message: Message, sets: str) -> Settlement:
    """Return how the turn of a part ends: it joins the set of its batch.

    A part that arrives after its set is complete goes to the set in which the batch may continue; see `merge`.
    """
    part = _part(message)
    later = msgspec.structs.replace(part, batch=part.batch + AGAIN)
    return Gather(
        sets,
        part.batch,
        timedelta(seconds=part.deadline),
        MOST,
        Bury(f"batch {part.batch} already has {MOST} outcomes"),
        count=part.size,
        late=Move(message.queue, later.encoded()),
        remember=REMEMBERED,
    )


def merge(
    message: Message, reader: PayloadReader, callbacks: Mapping[str, TaskDefinition], parts: str
) -> Settlement | Retry:
    """Return how the turn of a set ends: its callback is pushed with the outcomes, in the order of the calls.

    A set that is due before it is complete is closed with the outcomes that have arrived. A call that failed for good
    and was brought back while others were still running has two outcomes: the later one counts, and the batch continues
    as another set until all calls have an outcome. A callback that is not known here is left to other workers.

    Args:
        message: the message of the set.
        reader: reads the payloads of the parts.
        callbacks: the callbacks by name.
        parts: the queue of parts.
    """
    found = messages_of(message.payload, reader)
    if found is None:
        return Close(message.payload[CORRELATION], REMEMBERED)
    if not found:  # somebody removed them
        return DONE
    latest = {part.place: part for part in map(_part, found)}
    ended = [latest[place] for place in sorted(latest)]
    first = ended[0]
    if len(found) >= first.size > len(ended):
        onward = [msgspec.structs.replace(part, batch=part.batch + AGAIN, carried=True) for part in ended]
        return Commit(then=tuple(Draft(part.encoded(), queue=parts) for part in onward))
    if first.batch.endswith(AGAIN) and not any(part.carried for part in ended):
        return DONE  # they came after the callback was called
    task = callbacks.get(first.then)
    if task is None:
        return Retry(ELSEWHERE, counts=False)  # other workers of this queue may have it
    return Commit(then=(callback_draft(task, [part.outcome for part in ended]),))


def callback_draft(callback: TaskDefinition, outcomes: Sequence[TaskOutcome]) -> Draft:
    """Return the call to a callback, with the outcomes of a batch."""
    (name,) = callback.parameters.signature.parameters
    arguments = msgspec.json.encode({name: outcomes}).decode()
    return Draft(Encoded(callback.name, arguments), queue=callback.queue, priority=callback.priority)


def queues(first: str) -> tuple[str, str]:
    """Return the names of the queues of parts and of sets."""
    return first + PARTS, first + PARTS + SETS


def _part(message: Message) -> BatchPart:
    try:
        return msgspec.convert(message.payload, BatchPart)
    except msgspec.ValidationError as error:
        raise InvalidOutcome(
            f"message {message.id} in queue {message.queue!r} is not a part of a batch: {error}"
        ) from error
