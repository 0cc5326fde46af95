"""The part of the contract for everything that has a name besides messages."""

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

        A paused queue hands nothing out. A draining queue takes no new messages: `push` raises QueueDraining, but
        messages that are moved there, and pushes by settlements, still arrive.
        """
        ...

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Read the settings of a queue, or of all queues that have any, in the order of their names."""
        ...

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Make indexes for exactly these payload fields of a queue, and drop its others; a dry run only reports.

        Messages of other queues are not indexed, and no payload makes a push fail. No writer has to wait if the
        database supports that.

        Raises:
            Conflict: another process is making indexes.
        """
        ...

    def set_schedule(self, change: ScheduleChange) -> Plan[bool]:
        """Change a schedule and push its messages, both or neither; False: another was faster, nothing changed."""
        ...

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read the schedules: all, the one with a name, or up to 100 that are due, the longest due first.

        All schedules are read in the order of their names.
        """
        ...

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Store the pipeline `after`, or None to remove it; False: the version has changed, so nothing was written.

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
        """Read the known consumers, in the order of their names; some may be gone by now."""
        ...
