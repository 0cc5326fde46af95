"""Read and change the settings of queues, and record consumers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

import msgspec

from duerow.plan import BEGIN, Plan
from duerow.store import Consumer, QueueSettings
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.promote import PromotePlans

FORGET: Final = timedelta(days=1)
"""How long consumers are remembered after they were last seen."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class QueuePlans(Plans):
    """Plans for the settings of queues and for consumers.

    Args:
        context: shared by all plans of the store.
        promote: wakes consumers.
    """

    def __init__(self, context: Context, promote: PromotePlans) -> None:
        super().__init__(context)
        self._promote = promote

    def put_settings(
        self, queue: str, paused: bool | None = None, draining: bool | None = None, definition: str | None = None
    ) -> Plan[None]:
        """Change settings of a queue; see MetadataStore.put_settings."""
        context = self.context
        said = {"paused": paused, "draining": draining, "definition": definition}
        parts = tuple(name for name, value in said.items() if value is not None)
        yield BEGIN
        yield context.step(
            context.statements.queues.put_settings(parts),
            {"queue_in": queue, **{f"{name}_in": said[name] for name in parts}},
        )
        if paused is not None:
            context.priorities.paused(queue, paused)
        context.drain_cache.forget(queue)
        yield from self._promote.wake([queue])

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Return the settings of queues; see MetadataStore.settings."""
        by, values = ((), {}) if queue is None else (("name",), {"queue_in": queue})
        rows = yield self.context.step(self.context.statements.queues.settings(by), values)
        return [
            QueueSettings(name, definition, bool(paused), bool(draining)) for name, definition, paused, draining in rows
        ]

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Record that a consumer is alive; see MetadataStore.note_consumer."""
        context = self.context
        about = _encode({"queues": list(queues), "kinds": list(kinds), "version": version}).decode()
        yield context.step(context.statements.queues.note_consumer, {"name_in": name, "about_in": about})
        yield context.step(context.statements.queues.forget_consumers, {"span": context.dialect.write_span(FORGET)})

    def consumers(self) -> Plan[list[Consumer]]:
        """Return the recorded consumers; see MetadataStore.consumers."""
        context = self.context
        read: Callable[[Any], Any] = context.dialect.read_moment
        consumers = []
        for name, about, seen_at in (yield context.step(context.statements.queues.consumers, {})):
            said = _decode(about)
            known = (tuple(said["queues"]), tuple(said["kinds"]), said["version"])
            consumers.append(Consumer(name, *known, read(seen_at)))
        return consumers
