"""Lend due messages, or take them away: from the floor of their queue on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import Any, Final

import msgspec

from duerow.plan import BEGIN, Plan
from duerow.store import Record, Reserved
from duerow.stores.sql.plans.core import Core
from duerow.stores.sql.statements import LENT, RECORD, Statement

_CREATED_AT: Final = LENT.index("created_at")
_DUE_AT: Final = attrgetter("due_at")
_IN_LINE: Final = attrgetter("due_at", "id")

Rows = Sequence[Sequence[Any]]


class Taking(Core):
    """Plans that lend due messages or take them away."""

    def reserve(self, queue: str, limit: int, lease: timedelta, attempts: int | None, consumer: str) -> Plan[Reserved]:
        """Lend due messages; see Store.reserve."""
        values = {"attempts_in": attempts, "lease": self.dialect.write_span(lease), "consumer": consumer}
        if self.dialect.writes_alone:  # the time is told when the wait for other writers is over, so leases are whole
            yield BEGIN
        records: list[Record] = []
        buried, more = 0, True

        def lent(rows: Rows) -> list[Record]:
            return self._lent(rows, queue, lease, consumer)

        while more and len(records) < limit:
            found, taken, more = yield from self._take_due(
                self.statements.reserve, lent, queue, limit - len(records), values
            )
            records += found
            buried += taken - len(found)
        records.sort(key=_IN_LINE)
        return Reserved(records, buried)

    def _lent(self, rows: Rows, queue: str, lease: timedelta, consumer: str) -> list[Record]:
        """Return the rows of LENT that were lent, not buried, as records."""
        read = self.dialect.moment_reader(rows[0][_CREATED_AT])
        until = last_attempt_at = None
        records: list[Record] = []
        # The hottest loop of all. The lease ends at the same time in all rows, and equal moments come as nulls.
        for id, payload, kind, key, headers, status, created, first, place, attempts, token, end, error, *_ in rows:
            if status == "dead":
                continue
            if until is None:
                until = end if read is None else read(end)
                last_attempt_at = until - lease
            if read is not None:
                created = read(created)
                first = None if first is None else read(first)
                place = None if place is None else read(place)
            if first is None:
                first = created
            records.append(
                Record(
                    id,
                    queue,
                    payload,
                    kind,
                    key,
                    headers,
                    status,
                    first if place is None else place,
                    first,
                    attempts,
                    token,
                    consumer,
                    until,
                    created,
                    last_attempt_at,
                    error,
                )
            )
        return records

    def pop(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Take due messages away; see Store.pop."""
        popped: list[Record] = []
        more = True
        while more and len(popped) < limit:
            wanted = limit - len(popped)
            found, _, more = yield from self._take_due(self.statements.pop, self._popped, queue, wanted, {})
            popped += found
        return sorted(popped, key=_IN_LINE)

    def _popped(self, rows: Rows) -> list[Record]:
        """Return the rows of RECORD, each followed by the time, as the records of messages handed out now."""
        now = self.dialect.read_moment(rows[0][len(RECORD)])
        records = [self.dialect.record(row[: len(RECORD)]) for row in rows]
        return [
            msgspec.structs.replace(
                record, attempts=record.attempts + 1, last_attempt_at=now, leased_by=None, leased_until=None
            )
            for record in records
        ]

    def _take_due(
        self,
        statement: Callable[[bool], Statement],
        read: Callable[[Rows], list[Record]],
        queue: str,
        limit: int,
        values: Mapping[str, Any],
    ) -> Plan[tuple[list[Record], int, bool]]:
        """Take due rows from the queue's floor on; return them as read, their number, and whether to ask for more."""
        start = self.floors.start(queue)
        bound = {**values, "queue_in": queue, "limit_in": limit}
        if start.due_at is not None:
            bound["floor"] = self.dialect.write_moment(start.due_at)
        rows = yield self._step(statement(start.due_at is not None), bound)
        records = read(rows) if rows else []
        if self.floors.kept and records:
            self.floors.claimed(queue, start, oldest=rows[0][-1], newest=max(map(_DUE_AT, records)))
        if len(rows) == limit:
            return records, len(rows), True
        if rows or start.due_at is None:
            return records, len(rows), False
        self.floors.look_below(queue)  # before the queue is called empty
        return records, 0, True
