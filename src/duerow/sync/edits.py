# Generated from ../aio/edits.py by tools/generate_sync.py; edit that file instead.
"""Operations on a queue: view, search and count its messages, and change messages without reserving them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, cast, get_args, overload

from msgspec import UNSET

from duerow.conditions.model import Compare, Condition, Field, every
from duerow.errors import ConfigurationError, shown
from duerow.message import Message, Scalar, Status
from duerow.plan import Plan
from duerow.queue import edits, mapping
from duerow.queue.counts import CAP, Count, Counts, counted, counted_by
from duerow.queue.edits import UNFINISHED, Changed, EditBatch
from duerow.store import Entry, Query, Record
from duerow.sync.handle import P, QueueHandle
from duerow.tasks import batch
from duerow.where import as_condition, as_path

STATUSES: Final[tuple[Status, ...]] = get_args(Status)


class Edits(QueueHandle[P]):
    """The part of a queue that reads and changes messages; it hands none out."""

    # Look.

    def peek(self, n: int = 1) -> list[Message[P]]:
        """Return up to n due messages, in the order in which they would be handed out, without taking them."""
        limit = edits.how_many(n)
        records = self.database.run(lambda: self._store.operations.peek(self.name, limit))
        return [mapping.readable(record, self._payloads) for record in records]

    def contains(self, key: str) -> bool:
        """Return whether a live message (neither done nor dead) has the key."""
        query = Query(self.name, keys=(edits.one_key(key),), statuses=("new", "error"), limit=1)
        return bool(self.database.run(lambda: self._store.messages.find(query)))

    def get(self, id: int) -> Message[P] | None:
        """Return the message with this id; None if there is none.

        Raises:
            ConfigurationError: the id is not valid.
        """
        found = self._found(Query(self.name, ids=(edits.one_id(id),), limit=1))
        return found[0] if found else None

    def find(
        self,
        where: str | Condition | None = None,
        *,
        status: Status | None = None,
        key: str | None = None,
        order: str = "id",
        limit: int = 100,
        after: int | Message | None = None,
    ) -> list[Message[P]]:
        """Return messages that meet a condition, one page at a time.

        Args:
            where: the condition, as text or made with `duerow.where`; None: all messages.
            status: only messages with this status.
            key: only messages with this key.
            order: a message field, with a `-` in front for descending order; messages without the field come last.
            limit: the maximum number of messages to return.
            after: the last message of the previous page; if the order is by id, its id is enough.

        Raises:
            InvalidCondition: the condition cannot be parsed.
            ConfigurationError: there is no such status or order.
        """
        if status not in (None, *STATUSES):
            raise ConfigurationError(f"find takes one of the statuses {STATUSES}, not {shown(status)}")
        statuses = None if status is None else (status,)
        keys = None if key is None else (edits.one_key(key),)
        limit = edits.how_many(limit)
        if where is None and order == "id" and (after is None or edits.is_id(after)):
            query = Query(
                self.name, keys=keys, statuses=statuses, after_id=cast("int | None", after), by_id=True, limit=limit
            )
        else:
            condition = None if where is None else as_condition(where)
            line = edits.order(order, after)
            query = Query(
                self.name,
                keys=keys,
                statuses=statuses,
                where=condition,
                order=line,
                limit=limit,
                indexed=self.indexed,
            )
        return self._found(query)

    @overload
    def count(
        self,
        where: str | Condition | None = None,
        *,
        status: Status | None = None,
        by: None = None,
        exact: bool | None = None,
    ) -> Count: ...
    @overload
    def count(
        self,
        where: str | Condition | None = None,
        *,
        status: Status | None = None,
        by: str | Field,
        exact: bool | None = None,
    ) -> Counts: ...
    def count(
        self,
        where: str | Condition | None = None,
        *,
        status: Status | None = None,
        by: str | Field | None = None,
        exact: bool | None = None,
    ) -> Count | Counts:
        """Count messages, in total or by the values of a field.

        Args:
            where: only messages that meet this condition; a bare status is treated as `status`.
            status: only messages with this status.
            by: count for each value of this field, such as `status` or `payload.companyId`.
            exact: count all. By default, a count with a condition or by a field stops at 10,000, and the result's
                `capped` tells whether it did. Counts of all messages, of one status, and by status use an index and are
                always exact.

        Raises:
            InvalidCondition: the condition cannot be parsed, or messages have no such field.
            ConfigurationError: there is no such status.
        """
        if isinstance(where, str) and where in STATUSES and status is None:
            where, status = None, where
        if status not in (None, *STATUSES):
            raise ConfigurationError(f"count takes one of the statuses {STATUSES}, not {shown(status)}")
        path = None if by is None else as_path(by)
        if where is None and path in (None, ("status",)):
            return self._count_by_status(status, path is not None)
        parts = [] if where is None else [as_condition(where)]
        if status is not None:
            parts.append(Compare(("status",), "=", status))
        condition = every(*parts) if parts else None
        limit = None if exact else CAP
        tally = self.database.run(lambda: self._store.operations.tally(self.name, condition, path, limit, self.indexed))
        return counted(tally, limit) if path is None else counted_by(tally, limit)

    def _count_by_status(self, status: str | None, each: bool) -> Count | Counts:
        counts = self.database.run(lambda: self._store.operations.count(self.name))
        names = (*STATUSES, *sorted(counts.keys() - set(STATUSES)))  # plus any other value found in the table
        wanted = {name: counts.get(name, 0) for name in names if status in (None, name)}
        return Counts(wanted) if each else Count(sum(wanted.values()))

    def _found(self, query: Query) -> list[Message[P]]:
        records = self.database.run(lambda: self._store.messages.find(query))
        return [mapping.readable(record, self._payloads) for record in records]

    # Change.

    def edit(
        self,
        id: int | None = None,
        *,
        key: str | None = None,
        where: str | Condition | None = None,
        payload: Any = UNSET,
        patch: Any = UNSET,
        headers: Mapping[str, Scalar | None] | None = None,
        dry_run: bool = False,
        even_if_leased: bool = False,
        within: Any = None,
    ) -> Changed:
        """Change the payload or headers of messages; they keep their place in the queue, their attempts and status.

        Every change, by this method or those below, ends earlier claims: it increments the token, so that a consumer
        that still holds the message is refused, and clears a lease that expired unsettled. If the change ends a lease,
        the message is due now. Changes by condition are made in batches, one transaction per batch (with `within`, all
        in the caller's transaction); messages pushed in the meantime are not changed.

        Args:
            id: the message with this id.
            key: the live message with this key.
            where: all messages that meet this condition.
            payload: the new payload.
            patch: a JSON merge patch of the payload, instead of `payload`.
            headers: merged into the existing headers; a value of None removes that header.
            dry_run: change nothing, only return how many would change.
            even_if_leased: include messages that a consumer is working on: its settlement will be refused.
            within: the caller's open transaction.

        Raises:
            MessageLeased: a consumer is working on the message given by id or key; `where` skips such messages.
            InvalidMessage: the payload or a header cannot be encoded; that a patch does not fit may be noticed only
                when it is applied.
            InvalidCondition: the condition cannot be parsed.
            ConfigurationError: not exactly one of id, key and where was given, or there is nothing to change.
        """
        edit = edits.edited(payload, patch, headers, self.max_payload_bytes, self._payloads)
        chosen = edits.choice(self.name, id, key, where, even_if_leased, self.indexed)
        return self._change(
            lambda previous: edits.change(self._store, chosen, UNFINISHED, edit, previous, dry_run), within
        )

    def reschedule(
        self,
        id: int | None = None,
        *,
        key: str | None = None,
        where: str | Condition | None = None,
        due: datetime | None = UNSET,  # type: ignore[assignment]
        delay: timedelta | None = None,
        dry_run: bool = False,
        even_if_leased: bool = False,
        within: Any = None,
    ) -> Changed:
        """Change the due time of messages, or stop them; a dead message runs once more and keeps its attempts.

        Args:
            id: the message with this id.
            key: the live message with this key.
            where: all messages that meet this condition.
            due: when they are due; None stops them until they are rescheduled or requeued.
            delay: how long from now; `timedelta(0)` is now.
            dry_run: change nothing, only return how many would change.
            even_if_leased: include messages that a consumer is working on.
            within: the caller's open transaction.

        Raises:
            DuplicateKey: the key of the dead message given by id is held by a live one; `where` skips such messages.
            ConfigurationError: not exactly one of due and delay was given. Further errors as in `edit`.
        """
        edit = edits.rescheduled(due, delay)
        chosen = edits.choice(self.name, id, key, where, even_if_leased, self.indexed)
        statuses = edits.statuses_to_reschedule(due)
        return self._change(
            lambda previous: edits.change(self._store, chosen, statuses, edit, previous, dry_run), within
        )

    def reprioritise(
        self,
        id: int | None = None,
        *,
        key: str | None = None,
        where: str | Condition | None = None,
        priority: int,
        dry_run: bool = False,
        even_if_leased: bool = False,
        within: Any = None,
    ) -> Changed:
        """Change the priority of messages: lower goes first, -32,768 to 32,767. Otherwise like `edit`."""
        edit = edits.reprioritised(priority)
        chosen = edits.choice(self.name, id, key, where, even_if_leased, self.indexed)
        return self._change(
            lambda previous: edits.change(self._store, chosen, UNFINISHED, edit, previous, dry_run), within
        )

    def requeue(
        self,
        id: int | None = None,
        *,
        key: str | None = None,
        where: str | Condition | None = None,
        dry_run: bool = False,
        even_if_leased: bool = False,
        within: Any = None,
    ) -> Changed:
        """Reset messages that are dead, failed or stopped: due now, status `new`, 0 attempts, no error.

        Otherwise like `reschedule`.
        """
        chosen = edits.choice(self.name, id, key, where, even_if_leased, self.indexed)
        return self._change(
            lambda previous: edits.change(self._store, chosen, UNFINISHED, edits.requeued, previous, dry_run),
            within,
        )

    def remove(
        self,
        id: int | None = None,
        *,
        key: str | None = None,
        where: str | Condition | None = None,
        dry_run: bool = False,
        even_if_leased: bool = False,
        within: Any = None,
    ) -> Changed:
        """Remove messages from the queue; the result is true if there were any. Otherwise like `edit`.

        If a batch of tasks is waiting for one of them, that call counts as cancelled.
        """
        chosen = edits.choice(self.name, id, key, where, even_if_leased, self.indexed)
        return self._change(
            lambda previous: edits.remove(self._store, chosen, previous, dry_run, self.keeping, self._notes), within
        )

    def _notes(self, record: Record) -> list[Entry]:
        """Return what to push when a message is removed: if a batch waits for it, a note that it was cancelled."""
        drafts = batch.notes_of(record, self.database.host_time())
        return [mapping.draft_entry(draft, None, payloads=self._payloads.elsewhere) for draft in drafts]

    def _change(self, change: Callable[[EditBatch | None], Plan[EditBatch]], within: Any) -> Changed:
        """Run batches one after another; each gets the result of the previous one."""
        done = self.database.run(lambda: change(None), within)
        changed = done.changed
        while done.last is not None:
            done = self.database.run(lambda previous=done: change(previous), within)  # type: ignore[misc]
            changed += done.changed
        return changed
