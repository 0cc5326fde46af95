"""Transfers: an operator moves messages to another queue, batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from duerow.clock import NEVER
from duerow.errors import CodecError, ConfigurationError, DuerowError, DuplicateKey, NotSupported
from duerow.message import LIVE, OnDuplicate, check_queue_name
from duerow.payload.encoding import AS_STORED, Payloads, sealed_of
from duerow.plan import BEGIN, Plan
from duerow.queue import edits, mapping
from duerow.queue.edits import UNFINISHED, Changed, EditBatch, EditChoice
from duerow.reservation import BareReservation, Receipt
from duerow.settlement import Move
from duerow.store import Change, Moved, Query, Record, Refused, Retention, Store, Turn


class Transfer(msgspec.Struct, frozen=True):
    """Messages of one queue that go to another.

    Attributes:
        chosen: the messages.
        to: the queue to move them to.
        on_duplicate: what to do if a live message there has the key.
        payloads: how their payloads are stored; encrypted payloads may have to be encrypted again.
        keep: what their queue keeps about messages that leave it.
    """

    chosen: EditChoice
    to: str
    on_duplicate: OnDuplicate
    payloads: Payloads
    keep: Retention | None

    def batch(self, store: Store, previous: EditBatch | None, dry_run: bool) -> Plan[EditBatch]:
        """Move the next batch, read and written in one transaction if the store has transactions.

        Raises:
            MessageLeased: a consumer is working on the message given by id or key.
            DuplicateKey: a live message in the target queue has the key of the message given by id or key.
            NotSupported: the message given by id or key is stopped, and the store cannot move and stop it together.
        """
        if store.capabilities.transactions:
            yield BEGIN
        alone = self.chosen.where is None
        records, batch = yield from edits.next_batch(store, self.chosen, UNFINISHED, previous, locked=not dry_run)
        free, refused = yield from self._free(store, records)
        turns, unreadable = self._turns(free, alone)
        if dry_run:
            refused += yield from self._taken(store, turns)
        elif turns:
            refused += yield from store.messages.settle(turns, self.keep)
            yield from self._stop(store, free, {one.receipt for one in refused})
        if alone and refused:
            raise edits.error_of(refused[0].error)
        count = len(records) - len(refused) - unreadable
        return msgspec.structs.replace(batch, changed=Changed(count, len(refused) + unreadable))

    def _free(self, store: Store, records: list[Record]) -> Plan[tuple[list[Record], list[Refused]]]:
        """Return the messages that can move, and those that must stay, each with the reason."""
        changes = [Change(record) for record in records]
        refused: list[Refused] = []
        if changes:  # tried with an empty change, which is refused if a consumer is working on the message
            refused += yield from store.operations.change(
                self.chosen.queue, changes, self.chosen.even_if_leased, dry_run=True
            )
        if not store.capabilities.transactions:
            refused += [Refused(change.receipt, _unmovable(change.record)) for change in changes if _stopped(change)]
        stays = {one.receipt for one in refused}
        return [change.record for change in changes if change.receipt not in stays], refused

    def _turns(self, records: list[Record], alone: bool) -> tuple[list[Turn], int]:
        """Return the moves, and how many messages stay because their stored data cannot be read."""
        turns: list[Turn] = []
        unreadable = 0
        for record in records:
            try:
                message = mapping.message(record, AS_STORED)
                reservation = BareReservation(message, record.leased_until or NEVER, sealed=sealed_of(record))
                move = Move(self.to, due=_due(record), on_duplicate=self.on_duplicate)
                turns.append(mapping.turn(reservation, move, payloads=self.payloads))
            except CodecError:
                if alone or edits.is_readable(record):
                    raise
                unreadable += 1
        return turns, unreadable

    def _taken(self, store: Store, turns: Sequence[Turn]) -> Plan[list[Refused]]:
        """Return the moves whose key a live message in the target has, if such moves are refused."""
        if self.on_duplicate != "reject":
            return []
        wanted = {turn.receipt: turn.end.key for turn in turns if isinstance(turn.end, Moved) and turn.end.key}
        if not wanted:
            return []
        keys = tuple(sorted(set(wanted.values())))
        query = Query(self.to, keys=keys, statuses=LIVE, by_id=True, limit=len(keys))
        held = {record.key for record in (yield from store.messages.find(query))}
        refused: list[Refused] = []
        for receipt, key in sorted(wanted.items(), key=lambda item: item[0].id):
            if key in held:
                refused.append(Refused(receipt, DuplicateKey(self.to, [key])))
            held.add(key)
        return refused

    def _stop(self, store: Store, records: list[Record], refused: Collection[Receipt]) -> Plan[None]:
        """Stop the messages again that were stopped before: the move made them due."""
        there = [
            Change(msgspec.structs.replace(record, queue=self.to, token=record.token + 1), due=None)
            for record in records
            if record.due_at is None and record.status in LIVE and Receipt(record.id, record.token) not in refused
        ]
        if there:  # a message whose key was already in the target has ended, and is not found
            yield from store.operations.change(self.to, there, True, False)


def check_target(queue: str, to: str) -> str:
    """Return the name of the queue that messages go to.

    Raises:
        InvalidMessage: it is not a valid queue name.
        ConfigurationError: the messages are already in that queue.
    """
    target = check_queue_name(to)
    if target == queue:
        raise ConfigurationError(f"the messages are already in queue {queue!r}; name another queue to transfer them to")
    return target


def _due(record: Record) -> datetime | None:
    """Return when a message is due in its new queue: as before, but at once if it is dead or if its lease ends now."""
    if record.status not in LIVE or record.leased_by is not None:
        return None
    return record.first_due_at if record.due_at is None else record.due_at


def _stopped(change: Change) -> bool:
    return change.record.due_at is None and change.record.status in LIVE


def _unmovable(record: Record) -> DuerowError:
    return NotSupported(
        f"message {record.id} is stopped, and this store cannot move it and keep it stopped in one write: "
        "reschedule it first"
    )
