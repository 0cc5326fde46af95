"""Requests to a store over HTTP: the arguments of each operation, with the names that the contract gives them."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from duerow.conditions.fields import Path
from duerow.conditions.model import Condition
from duerow.message import OnDuplicate
from duerow.reservation import Receipt
from duerow.store.contract.capabilities import PARTS, Capabilities, Part
from duerow.store.metadata import Counted, Indexed, ScheduleChange, StoredPipeline
from duerow.store.reads import Change, ChangedFields, HistoryQuery, Query
from duerow.store.writes import Entry, Record, Retention, Turn


class StoreCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of an operation."""


class PushCall(StoreCall, frozen=True):
    """As `MessageStore.push`."""

    entries: list[Entry]
    on_duplicate: OnDuplicate
    remembered: bool = False
    once: str | None = None


class ReserveCall(StoreCall, frozen=True):
    """As `MessageStore.reserve`."""

    queue: str
    limit: int
    lease: timedelta
    attempts: int | None
    consumer: str
    dead_letter: str | None = None
    keep: Retention | None = None
    kinds: list[str] | None = None
    apart: bool = False


class ExtendCall(StoreCall, frozen=True):
    """As `MessageStore.extend`; `queues` names the queue of each receipt, where the client knows it."""

    receipts: list[Receipt]
    lease: timedelta
    queues: list[str | None]


class SettleCall(StoreCall, frozen=True):
    """As `MessageStore.settle`; `queues` names the queue of each turn, where the client knows it."""

    turns: list[Turn]
    queues: list[str | None]
    keep: Retention | None = None


class FindCall(StoreCall, frozen=True):
    """As `MessageStore.find`."""

    query: Query


class NextDueCall(StoreCall, frozen=True):
    """As `MessageStore.next_due`."""

    queues: list[str]
    until: timedelta
    kinds: dict[str, list[str]] | None = None


class PeekCall(StoreCall, frozen=True):
    """As `OperationStore.peek`."""

    queue: str
    limit: int


class QueueCall(StoreCall, frozen=True):
    """The arguments of an operation that needs only a queue."""

    queue: str


class TallyCall(StoreCall, frozen=True):
    """As `OperationStore.tally`."""

    queue: str
    where: Condition | None
    by: Path | None
    limit: int | None
    indexed: tuple[Indexed, ...] = ()


class StatsCall(StoreCall, frozen=True):
    """As `OperationStore.queue_stats`."""

    queue: str
    cap: int | None


class InspectCall(StoreCall, frozen=True):
    """As `OperationStore.inspect`."""

    queue: str
    id: int | None
    key: str | None


class QueuesCall(StoreCall, frozen=True):
    """As `OperationStore.queues`."""

    with_empty: bool = False


class Alteration(ChangedFields, frozen=True, forbid_unknown_fields=True):
    """A change of a message, with the message's receipt instead of its content; see `Change`."""

    receipt: Receipt

    @classmethod
    def of(cls, change: Change) -> Alteration:
        """Return the part of a change that is sent."""
        return cls(change.receipt, **{name: getattr(change, name) for name in ChangedFields.__struct_fields__})

    def change(self, record: Record) -> Change:
        """Return the change for a message that was read."""
        return Change(record, **{name: getattr(self, name) for name in ChangedFields.__struct_fields__})


class ChangeCall(StoreCall, frozen=True):
    """As `OperationStore.change`."""

    queue: str
    changes: list[Alteration]
    even_if_leased: bool
    dry_run: bool


class RemoveCall(StoreCall, frozen=True):
    """As `OperationStore.remove`."""

    queue: str
    ids: list[int]
    keys: list[str]
    even_if_leased: bool
    keep: Retention | None = None


class PurgeCall(StoreCall, frozen=True):
    """As `OperationStore.purge`."""

    queue: str
    limit: int
    last: int


class HistoryCall(StoreCall, frozen=True):
    """As `HistoryStore.find`."""

    query: HistoryQuery


class PruneCall(StoreCall, frozen=True):
    """As `HistoryStore.prune`."""

    limit: int


class PutSettingsCall(StoreCall, frozen=True):
    """As `MetadataStore.put_settings`."""

    queue: str
    paused: bool | None = None
    draining: bool | None = None
    definition: str | None = None


class SettingsCall(StoreCall, frozen=True):
    """As `MetadataStore.settings`."""

    queue: str | None = None


class IndexCall(StoreCall, frozen=True):
    """As `MetadataStore.index`."""

    queue: str
    fields: list[Indexed]
    dry_run: bool


class SetScheduleCall(StoreCall, frozen=True):
    """As `MetadataStore.set_schedule`."""

    change: ScheduleChange


class SchedulesCall(StoreCall, frozen=True):
    """As `MetadataStore.schedules`."""

    name: str | None = None
    due: bool = False


class SetPipelineCall(StoreCall, frozen=True):
    """As `MetadataStore.set_pipeline`."""

    name: str
    version: int | None
    after: StoredPipeline | None


class NamedCall(StoreCall, frozen=True):
    """As `MetadataStore.pipelines`."""

    name: str | None = None


class NoteConsumerCall(StoreCall, frozen=True):
    """As `MetadataStore.note_consumer`."""

    name: str
    queues: list[str]
    kinds: list[str]
    version: str


class NoArguments(StoreCall, frozen=True):
    """The arguments of an operation that needs none."""


class NoteCountsCall(StoreCall, frozen=True):
    """As `CounterStore.note_counts`."""

    process: str
    rows: list[Counted]


PROTOCOL: Final = 1
"""The version of this way of writing operations; no other version can be read."""


class About(msgspec.Struct, frozen=True):
    """What a server says about the store behind it.

    Attributes:
        protocol: how it writes operations.
        version: its version of duerow.
        transactions, parts: as in `Capabilities`.
        max_body_bytes: the largest request that it accepts.
    """

    protocol: int
    version: str
    transactions: bool
    parts: list[str]
    max_body_bytes: int | None = None

    def capabilities(self) -> Capabilities:
        """Return the capabilities of a store that is reached through this server."""
        kept: frozenset[Part] = frozenset(part for part in PARTS if part in (*self.parts, "schema") and part != "bulk")
        return Capabilities(
            transactions=self.transactions,
            within=False,
            wakes_consumers=False,
            passes_over=False,
            interactive=False,
            parts=kept,
        )


THROUGH_HTTP = About(PROTOCOL, "", True, sorted(PARTS)).capabilities()
"""The capabilities of such a store if the database behind the server can do everything."""
