"""The part of the contract for everything that has a name: queues, schedules, pipelines and consumers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from duerow.plan import Plan
from duerow.store.metadata import Indexed, Indexing, QueueSettings, ScheduleChange, SchedulesFound, StoredPipeline
from duerow.store.reads import Consumer


class MetadataStore(Protocol):
    """Settings of queues, schedules, pipelines and live consumers."""

    def put_settings(
        self, queue: str, paused: bool | None = None, draining: bool | None = None, definition: str | None = None
    ) -> Plan[None]:
        """Record the settings of a queue; None: unchanged. Other processes see them within a second.

        A paused queue hands out no messages. A draining queue accepts no new messages: `push` raises QueueDraining, but
        messages that are moved to it or pushed by settlements still arrive.
        """
        ...

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Read the settings of a queue, or of all queues that have any, in the order of their names."""
        ...

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Create indexes for exactly these payload fields of a queue, and drop its others; a dry run only reports.

        Messages of other queues are not indexed, and an index never makes a push fail, whatever the payload. Writers do
        not have to wait if the database supports that.

        Raises:
            Conflict: another process is creating indexes.
        """
        ...

    def set_schedule(self, change: ScheduleChange) -> Plan[bool]:
        """Change a schedule and push its messages, both or neither; return False if its version had already changed."""
        ...

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read all schedules, the one with this name, or up to 100 that are due, the longest due first.

        All schedules are read in the order of their names.
        """
        ...

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Store the pipeline `after`, or remove it (None); return False, without a write, if its version has changed.

        A version of None means that no pipeline has this name yet.
        """
        ...

    def pipelines(self, name: str | None = None) -> Plan[list[StoredPipeline]]:
        """Read all stored pipelines in the order of their names, or only the one with this name."""
        ...

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Record that a consumer is active now; forget those not seen for a day."""
        ...

    def consumers(self) -> Plan[list[Consumer]]:
        """Read the known consumers, in the order of their names; some may no longer be running."""
        ...
