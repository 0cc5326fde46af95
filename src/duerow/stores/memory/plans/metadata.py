"""Settings of queues, schedules, pipelines and consumers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from duerow.plan import Plan
from duerow.store import Consumer, Indexed, Indexing, QueueSettings, ScheduleChange, SchedulesFound, StoredPipeline
from duerow.stores.memory import pipelines, schedules, steps
from duerow.stores.memory.plans.single_step import alone
from duerow.stores.memory.state import State


class MemoryMetadata:
    """Settings of queues, schedules, pipelines and consumers; see `duerow.store.MetadataStore`."""

    def put_settings(
        self, queue: str, paused: bool | None = None, draining: bool | None = None, definition: str | None = None
    ) -> Plan[None]:
        """Change settings of a queue; see `MetadataStore.put_settings`."""
        return alone(partial(steps.put_settings, queue=queue, paused=paused, draining=draining, definition=definition))

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Return the settings of queues; see `MetadataStore.settings`."""
        return alone(partial(steps.settings, queue=queue))

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Do nothing: searches read every message."""
        return alone(_no_indexes)

    def set_schedule(self, change: ScheduleChange) -> Plan[bool]:
        """Change a schedule and push its messages, in one step; see `MetadataStore.set_schedule`."""
        return alone(partial(schedules.change, change=change))

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read schedules; see `MetadataStore.schedules`."""
        return alone(partial(schedules.find, name=name, due=due))

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Save a pipeline unless it has changed since it was read; see `MetadataStore.set_pipeline`."""
        return alone(partial(pipelines.change, name=name, version=version, after=after))

    def pipelines(self, name: str | None = None) -> Plan[list[StoredPipeline]]:
        """Read pipelines; see `MetadataStore.pipelines`."""
        return alone(partial(pipelines.find, name=name))

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Record that a consumer is alive; see `MetadataStore.note_consumer`."""
        return alone(partial(steps.note_consumer, name=name, queues=queues, kinds=kinds, version=version))

    def consumers(self) -> Plan[list[Consumer]]:
        """Return the recorded consumers; see `MetadataStore.consumers`."""
        return alone(steps.consumers)


def _no_indexes(state: State, now: datetime) -> Indexing:
    return Indexing()
