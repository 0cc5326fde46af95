# Generated from ../aio/copy_checks.py by tools/generate_sync.py; edit that file instead.
"""The checks before a queue is copied; they read both databases and change neither."""

from __future__ import annotations

import time
from typing import Any, Final

from duerow.errors import ConfigurationError, shown
from duerow.payload.codec import SEALED
from duerow.plan import BEGIN, Plan
from duerow.queue.copy import BATCH, COPYING, Asked, Route, beginning_of, check_target, is_in_both, leaves_for_another
from duerow.store import ALL_IDS, Arrival, HistoryRow, Query, Record, Scan
from duerow.sync.database import Database

UNDER_WAY: Final = f"headers.{COPYING} is not null"

PAUSE_SEEN: Final = 1.0
"""Seconds until consumers in all processes know that a queue is paused."""


class _NotBegun(Exception):
    """The target has no record that a copy has begun."""


class CopyChecks:
    """The checks for one copy, and the two databases involved."""

    asked: Asked

    def __init__(self, source: Database, target: Database) -> None:
        for database in (source, target):
            if not isinstance(database, Database):
                raise ConfigurationError(f"copy takes two open databases of the same face, not {shown(database)}")
        if source.connections.place == target.connections.place:
            raise ConfigurationError(
                "source and target are the same tables; to move messages within a database, use Queue.move"
            )
        check_target(target.store.capabilities)
        self.source, self.target = source, target

    def _require_order(self, route: Route, paused: bool) -> None:
        """Raise ConfigurationError if messages of a group could run in both databases at the same time."""
        if paused:
            self.asked.paused.add(route.queue)
        if not self._some(route, False, "group is not null"):
            return
        if not paused:
            raise ConfigurationError(
                f"messages of queue {route.queue!r} are in groups, whose order holds only within one database: pause "
                "the queue in the source before you move it"
            )
        if self.source.store.capabilities.processes:
            time.sleep(PAUSE_SEEN)

    def _require_clear(self, route: Route) -> None:
        """Raise ConfigurationError if payloads are encrypted: they are bound to the old name of the queue."""
        for past in (False, True):
            if found := self._some(route, past, f"kind like '%{SEALED}'"):
                raise ConfigurationError(
                    f"message {found[0].id} in queue {route.queue!r} is encrypted for that queue, but would be copied "
                    f"into {route.to!r}: open the source with its keys, connect(…, encryption=…), or keep the name"
                )

    def _require_whole(self, route: Route) -> None:
        if found := self._some(route, False, UNDER_WAY):
            raise ConfigurationError(
                f"message {found[0].id} in queue {route.queue!r} is under way: a move was interrupted; repeat that "
                "call before copying the queue"
            )

    def _require_same_target(self, route: Route) -> None:
        """Raise ConfigurationError if a message is on its way to a third database: it may have arrived there."""
        where, after = route.which("message", UNDER_WAY), 0
        while True:
            query = Scan(queues=(route.queue,), where=where, after=(after, ALL_IDS), limit=BATCH)
            found: list[Record] = self._scan(query)
            if not found:
                return
            after = found[-1].id
            for beginning in {beginning_of(record) for record in found}:
                if not self._has_begun(beginning):
                    raise leaves_for_another(route)

    def _require_apart(self, route: Route) -> None:
        """Raise ConfigurationError if both are the same tables, reached in two ways: arrivals would be copied again."""
        if route.queue != route.to or self._has_begun(self.asked.beginning(self.source.connections.place, route)):
            return
        there = self.target.run(lambda: self.target.store.bulk.scan(Scan(queues=(route.to,), limit=1)))
        same = Query(route.queue, ids=tuple(one.id for one in there), by_id=True, limit=1)
        here = self.source.run(lambda: self.source.store.messages.find(same)) if there else []
        if here and here[0].created_at == there[0].created_at:
            raise is_in_both(here[0].id, route)

    def _has_begun(self, beginning: str) -> bool:
        """Return whether the target has a record that a copy has begun."""
        if beginning not in self.asked.begun:
            try:
                self.target.run(lambda: self._look_for(beginning))
            except _NotBegun:
                return False
            self.asked.begun.add(beginning)
        return True

    def _look_for(self, beginning: str) -> Plan[None]:
        """Raise _NotBegun unless the beginning is recorded; raising also undoes the record that this check writes."""
        yield BEGIN
        if (yield from self.target.store.bulk.receive([Arrival(beginning, None)])) != ["before"]:
            raise _NotBegun

    def _some(self, route: Route, turns: bool, more: str | None = None) -> list[Record | HistoryRow]:
        """Return the first message, or turn, of a route."""
        where = route.which("turn" if turns else "message", more)
        return self._scan(Scan(turns=turns, queues=(route.queue,), where=where, limit=1))

    def _scan(self, query: Scan) -> list[Any]:
        """Return the messages, or turns, that a scan of the source finds."""
        return [*self.source.run(lambda: self.source.store.bulk.scan(query))]
