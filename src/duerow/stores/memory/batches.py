"""Steps for batches: one function for each, called with the state and the time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from duerow.errors import QueueDraining, StagedLost
from duerow.message import OnDuplicate, Pushed
from duerow.reservation import Receipt
from duerow.store import Entry, Lease, MessageHeader, Record, Retention
from duerow.stores.memory import steps
from duerow.stores.memory.state import Staged, State

STAGED_FOR: Final = timedelta(days=1)
NOTED_FOR: Final = timedelta(days=30)


def lend(
    state: State,
    now: datetime,
    queue: str,
    limit: int,
    lease: timedelta,
    attempts: int | None,
    consumer: str,
    dead_letter: str | None,
    keep: Retention | None,
    kinds: Collection[str] | None,
) -> Lease:
    """Reserve messages and return only their receipts."""
    reserved = steps.reserve(state, now, queue, limit, lease, attempts, consumer, dead_letter, keep, kinds)
    records = sorted(reserved.records, key=lambda record: record.id)
    groups = {record.id: record.group for record in records if record.group is not None}
    return Lease([Receipt(record.id, record.token) for record in records], groups, reserved.buried)


def leased_range(
    state: State, now: datetime, queue: str, consumer: str, first: int, last: int, limit: int
) -> list[Record]:
    """Read the messages of a claim in a range of ids."""
    found = [
        record
        for id_, record in sorted(state.records.items())
        if first <= id_ <= last and record.queue == queue and record.leased_by == consumer
    ]
    return found[:limit]


def message_headers(state: State, now: datetime, queue: str, receipts: Sequence[Receipt]) -> list[MessageHeader]:
    """Read messages without their payloads, if their receipts are still valid."""
    held = {(receipt.id, receipt.token) for receipt in receipts}
    found = [state.records[id_] for id_ in sorted({id_ for id_, _ in held}) if id_ in state.records]
    ours = [record for record in found if record.queue == queue and (record.id, record.token) in held]
    return [MessageHeader(record.id, record.key, record.headers, record.group, record.priority) for record in ours]


def stage(state: State, now: datetime, batch: str, part: str, entries: Sequence[Entry]) -> None:
    """Add entries to those that the batch has already staged."""
    before = state.staged.get(batch, ())
    state.assign(state.staged, batch, (*before, Staged(part, tuple(entries), now)))


def note(state: State, now: datetime, name: str) -> bool:
    """Record that the event with this name happens now; return False if it has happened before."""
    if name in state.noted:
        return False
    state.assign(state.noted, name, now)
    return True


def push_once(
    state: State, now: datetime, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool, once: str
) -> list[Pushed]:
    """Push, unless this name was recorded before."""
    if not note(state, now, once):
        return []
    return steps.push_new(state, now, entries, on_duplicate, remembered)


def chosen(state: State, now: datetime, batch: str, parts: Mapping[str, int]) -> list[Entry]:
    """Return the staged entries of parts, if none are missing and all their queues accept messages."""
    staged = state.staged.get(batch, ())
    entries: list[Entry] = []
    for part, wanted in parts.items():
        its = [entry for one in staged if one.part == part for entry in one.entries]
        if len(its) != wanted:
            raise StagedLost(batch, part, wanted, len(its))
        entries += its
    for entry in entries:
        if entry.queue in state.draining:
            raise QueueDraining(entry.queue)
    return entries


def discard(state: State, now: datetime, batch: str) -> None:
    """Discard the staged entries of a batch."""
    state.assign(state.staged, batch, None)


def prune(state: State, now: datetime, limit: int) -> int:
    """Delete entries that were staged, and names that were recorded, long ago."""
    gone = 0
    for batch, staged in list(state.staged.items()):
        kept = tuple(one for one in staged if one.at > now - STAGED_FOR)
        if len(kept) < len(staged) and gone < limit:
            state.assign(state.staged, batch, kept or None)
            gone += sum(len(one.entries) for one in staged if one not in kept)
    names = [name for name, at in state.noted.items() if at <= now - NOTED_FOR][:limit]
    for name in names:
        state.assign(state.noted, name, None)
    return gone + len(names)
