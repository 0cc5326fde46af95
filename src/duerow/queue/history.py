"""History: the finished turns of messages, and replaying old messages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Generic

import msgspec

from duerow.conditions.model import Condition
from duerow.errors import CodecError, ConfigurationError, InvalidMessage, shown
from duerow.lineage import PART_OF
from duerow.message import LIVE, Ending, Failure, P_co, Scalar, check_span
from duerow.payload import codec
from duerow.payload.encoding import LOG, PayloadReader
from duerow.plan import BEGIN, Plan
from duerow.queue import edits
from duerow.store import (
    Capabilities,
    Entry,
    HistoryQuery,
    HistoryRow,
    MissingPart,
    PlaceInHistory,
    Query,
    Retention,
    Store,
)
from duerow.where import as_condition

REPLAY_OF: Final = "replay-of"
"""The header of a replayed message: the id of the original message."""

SHORTEST: Final = timedelta(seconds=1)

REPLAY_BATCH: Final = 200
"""How many messages are replayed in one transaction; a payload can be up to 1 MiB."""


PRUNE_BATCH: Final = 1_000
"""How many turns, and how many keys, are pruned in one transaction."""


class Event(msgspec.Struct, Generic[P_co], frozen=True, gc=False):
    """One finished turn of a message: how it ended, when, and at which attempt.

    Attributes:
        id: the message's id.
        token: the turn's own number; id and token identify a turn.
        queue: the queue that the message was in.
        outcome: "done", "moved" to another queue, "dropped" by a relay, "dead" (failed for good, here or in a
            dead-letter queue), or "failed" (an attempt after which the message stayed).
        moved_to: the queue that it went to, or the queue of its set's message if it became a part; None: it did not
            move.
        payload: the message's payload during the turn, or its replacement from `commit(payload=…)`.
        kind: name of the payload's type.
        key: its key in this queue, or None.
        headers: its headers during the turn; `parent` and `replay-of` tell where it came from, and `part-of` names the
            message of the set that it became a part of.
        group: its group, or None.
        priority: its priority.
        attempts: the number of the attempt.
        created_at: when the message was pushed.
        first_due_at: the due time that it was pushed with.
        due_at: the due time that it had before this turn.
        started_at: when it was handed out.
        finished_at: when the turn ended; if its consumer was never heard from again, when the lease ended.
        worker: the consumer, as host:pid:worker/claim; None: the message was popped, or brought back by `redrive`.
        error: why it failed; if another message replaced it before it was handled, it names that message.
        log: its handler's log, if logs of successful attempts are kept; see `keep_attempt_logs`.
    """

    id: int
    token: int
    queue: str
    outcome: Ending
    moved_to: str | None
    payload: P_co
    kind: str
    key: str | None
    headers: Mapping[str, Scalar]
    group: str | None
    priority: int
    attempts: int
    created_at: datetime
    first_due_at: datetime
    due_at: datetime
    started_at: datetime
    finished_at: datetime
    worker: str | None
    error: Failure | None
    log: str | None = None


class Replayed(msgspec.Struct, frozen=True, gc=False):
    """The result of a replay; true if any messages were pushed. After a dry run: what would have been pushed.

    Attributes:
        count: how many messages were pushed.
        skipped: how many were not pushed because a live message has their key.
        ids: the ids of the pushed messages, in the order in which the old turns ended; empty after a dry run.
    """

    count: int
    skipped: int = 0
    ids: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.count > 0

    def __add__(self, other: Replayed) -> Replayed:
        return Replayed(self.count + other.count, self.skipped + other.skipped, self.ids + other.ids)


def keeping(history: timedelta | None, remember_keys: timedelta | None) -> Retention | None:
    """Return what a queue keeps about finished messages; None: nothing.

    Raises:
        InvalidMessage: one of the times is invalid, or shorter than a second.
    """
    if history is None and remember_keys is None:
        return None
    return Retention(
        None if history is None else check_span("history", history, SHORTEST),
        None if remember_keys is None else check_span("remember_keys", remember_keys, SHORTEST),
    )


def check_keeps(capabilities: Capabilities, kept: Retention | None) -> None:
    """Raise NotSupported if finished messages should be kept but the store has no history."""
    if kept is not None and "history" not in capabilities.parts:
        raise MissingPart.refusal("history", "history= and remember_keys=")


def event(past: HistoryRow, reader: PayloadReader) -> Event[Any]:
    """Return a turn for inspection: a payload that cannot be decoded is returned as its stored text."""
    payload: Any = past.payload
    headers: Mapping[str, Scalar] = {}
    try:
        headers = codec.decode_headers(past.headers)
        payload = reader.decode(past)
    except CodecError:
        pass  # it is shown as stored
    error, log = reader.failure(past.error), None
    if error is not None and error.type == LOG and past.outcome not in ("dead", "failed"):
        log, error = error.traceback, None
    return Event(
        past.id,
        past.token,
        past.queue,
        past.outcome,
        past.moved_to,
        payload,
        past.kind,
        past.key,
        headers,
        past.group,
        past.priority,
        past.attempts,
        past.created_at,
        past.first_due_at,
        past.due_at,
        past.started_at,
        past.finished_at,
        past.worker,
        error,
        log,
    )


def asked(queue: str, where: object, id: object, limit: object, after: object) -> HistoryQuery:
    """Return the query for the turns to show, the latest first.

    Raises:
        ConfigurationError: the limit, the id or `after` is invalid.
        InvalidCondition: the condition cannot be parsed, or uses a field that turns do not have.
    """
    if after is not None and not isinstance(after, Event):
        raise ConfigurationError(f"after= takes the last turn of the previous page, an Event, not {shown(after)}")
    return HistoryQuery(
        queue,
        id=_id(id),
        where=None if where is None else as_condition(where, "turn"),
        after=None if after is None else (after.finished_at, after.id, after.token),
        limit=edits.how_many(limit),
    )


# Replay.


class ReplayBatch(msgspec.Struct, frozen=True, gc=False):
    """The result of one batch of a replay.

    Attributes:
        done: what it pushed.
        last: the turn after which the next batch begins; None: this was the last batch.
        until: the latest turn that the call covers; turns that end later are not replayed, so the call ends.
    """

    done: Replayed
    last: PlaceInHistory | None = None
    until: PlaceInHistory | None = None


class ReplayChoice(msgspec.Struct, frozen=True):
    """Which finished messages to replay: the last turn of one message by its id, or all that match a condition."""

    queue: str
    id: int | None
    where: Condition | None
    limit: int | None


def choice(queue: str, id: object, where: object, limit: object) -> ReplayChoice:
    """Return the choice of finished messages to replay.

    Raises:
        ConfigurationError: not exactly one of id and where was given, or the id or the limit is invalid.
        InvalidCondition: the condition cannot be parsed, or uses a field that turns do not have.
    """
    if (id is None) == (where is None):
        raise ConfigurationError("give either an id or a condition: ", *edits.one_of({"id": id, "where": where}))
    condition = None if where is None else as_condition(where, "turn")
    return ReplayChoice(queue, _id(id), condition, None if limit is None else edits.how_many(limit))


def replay(store: Store, choice: ReplayChoice, previous: ReplayBatch | None, dry_run: bool) -> Plan[ReplayBatch]:
    """Replay the next batch of finished messages, in the order in which they ended; read and pushed in one transaction.

    Raises:
        InvalidMessage: the queue's history does not contain the end of the message given by id.
    """
    if store.capabilities.together:
        yield BEGIN
    if choice.id is not None:
        ends = yield from store.history.find(HistoryQuery(choice.queue, id=choice.id, ends=True, limit=1))
        if not ends:
            raise InvalidMessage(
                f"the history of queue {choice.queue!r} does not contain the end of message {choice.id}: it is still "
                "in the queue, it was pruned, or no history was kept"
            )
        return ReplayBatch((yield from pushed_again(store, ends, dry_run)))
    until = previous.until if previous is not None else (yield from latest_end(store, choice))
    if until is None:
        return ReplayBatch(Replayed(0))
    done = 0 if previous is None else previous.done.count + previous.done.skipped
    wanted = REPLAY_BATCH if choice.limit is None else min(REPLAY_BATCH, choice.limit - done)
    query = HistoryQuery(
        choice.queue,
        ends=True,
        where=choice.where,
        oldest_first=True,
        after=None if previous is None else previous.last,
        until=until,
        limit=wanted,
    )
    ends = yield from store.history.find(query)
    pushed = yield from pushed_again(store, ends, dry_run)
    together = pushed if previous is None else previous.done + pushed
    more = len(ends) == wanted and (choice.limit is None or done + len(ends) < choice.limit)
    return ReplayBatch(together, ends[-1].place if more else None, until)


def latest_end(store: Store, choice: ReplayChoice) -> Plan[PlaceInHistory | None]:
    """Return the position of the latest turn to replay; None: there is none."""
    newest = yield from store.history.find(HistoryQuery(choice.queue, ends=True, where=choice.where, limit=1))
    return newest[0].place if newest else None


def pushed_again(store: Store, ends: list[HistoryRow], dry_run: bool) -> Plan[Replayed]:
    """Push the messages of these turns again, or count how many would be pushed."""
    if not ends:
        return Replayed(0)
    if dry_run:
        return (yield from _would_be_pushed(store, ends))
    pushed = yield from store.messages.push([_again(end) for end in ends], "ignore")
    ids = tuple(one.id for one in pushed if one.outcome == "created")
    return Replayed(len(ids), len(pushed) - len(ids), ids)


def _would_be_pushed(store: Store, ends: list[HistoryRow]) -> Plan[Replayed]:
    keys = tuple({end.key for end in ends if end.key is not None})
    taken: set[str | None] = set()
    if keys:
        query = Query(ends[0].queue, keys=keys, statuses=LIVE, by_id=True, limit=len(keys))
        taken = {record.key for record in (yield from store.messages.find(query))}
    count = 0
    for end in ends:
        if end.key is None or end.key not in taken:
            count += 1
            taken.add(end.key)
    return Replayed(count, len(ends) - count)


def _again(end: HistoryRow) -> Entry:
    """Return a finished message as a new one with the same content, key, group and priority, due at once."""
    headers = {**codec.decode_headers(end.headers), REPLAY_OF: end.id}
    headers.pop(PART_OF, None)  # it belongs to the turn, not to the message
    return Entry(
        end.queue,
        end.key,
        end.kind,
        end.payload,
        codec.encode_headers(headers, limited=False),
        None,
        None,
        end.group,
        end.priority,
    )


def _id(id: object) -> int | None:
    if id is not None and not edits.is_id(id):
        raise ConfigurationError(f"an id must be a 64-bit integer, not {shown(id)}; give a condition as where=")
    return id  # type: ignore[return-value]
