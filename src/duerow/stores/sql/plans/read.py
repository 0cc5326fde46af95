"""Look at messages, remove some, and tell when the next one is due."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import msgspec

from duerow.clock import EPOCH
from duerow.conditions.model import FIELDS, JSON, Condition, Path, Value
from duerow.message import LIVE
from duerow.plan import BEGIN, Plan
from duerow.store import (
    Consumer,
    HistoryRow,
    Indexed,
    Inspection,
    Order,
    Query,
    QueueSettings,
    QueueStats,
    Record,
    Removal,
    Retention,
    Scan,
    Tally,
)
from duerow.stores.sql.conditions import asked_statuses
from duerow.stores.sql.payload_indexes import index_name
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.kinds import of_kinds, padded
from duerow.stores.sql.statements import PAST, RECORD, Statement, Step

NOTE: Final = timedelta(seconds=10)
"""How much longer than its sleep a consumer is noted as sleeping, so that pushes begun meanwhile wake it too."""


FORGET: Final = timedelta(days=1)
"""How long after their last word consumers are remembered."""

ALL: Final = (1 << 31) - 1

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class ReadPlans(HistoryPlans):
    """Plans that look, and what an operator removes."""

    def remove(
        self,
        queue: str,
        ids: Sequence[int],
        keys: Sequence[str],
        even_if_leased: bool,
        keep: Retention | None = None,
    ) -> Plan[Removal]:
        """Take messages away; see Store.remove."""
        yield BEGIN
        found: dict[int, Record] = {}
        queries = [Query(queue, ids=tuple(chunk), by_id=True, limit=len(chunk)) for chunk in self._chunks(ids)]
        queries += [Query(queue, keys=tuple(chunk), statuses=LIVE, limit=len(chunk)) for chunk in self._chunks(keys)]
        for query in queries:
            for record in (yield from self.find(query)):
                found[record.id] = record
        removed: set[int] = set()
        for chunk in self._chunks(sorted(found)):
            more = {"queue_in": queue, "even_if_leased": even_if_leased}
            rows = yield self._given(self.statements.remove, ("id",), [(id,) for id in chunk], more)
            removed.update(row[0] for row in rows)
        yield from self._promote_next(
            (queue, group) for id in removed if (group := found[id].group) is not None and found[id].status in LIVE
        )
        yield from self._remember([(queue, found[id].key, id) for id in sorted(removed)], keep)
        left = [(id, found[id].leased_by or "a consumer") for id in sorted(found) if id not in removed]
        return Removal(sorted(removed), left)

    def put_settings(
        self, queue: str, paused: bool | None = None, draining: bool | None = None, definition: str | None = None
    ) -> Plan[None]:
        """Note what is said of a queue; see Store.put_settings."""
        said = {"paused": paused, "draining": draining, "definition": definition}
        parts = tuple(name for name, value in said.items() if value is not None)
        yield BEGIN
        yield self._step(
            self.statements.put_settings(parts), {"queue_in": queue, **{f"{name}_in": said[name] for name in parts}}
        )
        if paused is not None:
            self.lines.paused(queue, paused)
        self.doors.forget(queue)
        yield from self._wake([queue])

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Tell what is said of queues; see Store.settings."""
        by, values = ((), {}) if queue is None else (("name",), {"queue_in": queue})
        rows = yield self._step(self.statements.settings(by), values)
        return [
            QueueSettings(name, definition, bool(paused), bool(draining)) for name, definition, paused, draining in rows
        ]

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Note that a consumer is there; see Store.note_consumer."""
        about = _encode({"queues": list(queues), "kinds": list(kinds), "version": version}).decode()
        yield self._step(self.statements.note_consumer, {"name_in": name, "about_in": about})
        yield self._step(self.statements.forget_consumers, {"span": self.dialect.write_span(FORGET)})

    def purge(self, queue: str, limit: int, last: int) -> Plan[int]:
        """Take messages away, whatever they are; see Store.purge."""
        bound = {"queue_in": queue, "limit_in": limit, "last_in": last}
        return len((yield self._step(self.statements.purge, bound)))

    # Reads.

    def queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        """Tell how a queue stands; see Store.queue_stats."""
        yield from self._look_for_lines(queue)
        read: Callable[[Any], Any] = self.dialect.read_moment
        bound: dict[str, Any] = {"queue_in": queue, "limit_in": ALL if cap is None else cap}
        numbers = {"ready": 0, "delayed": 0, "leased": 0}
        firsts: dict[str, list[datetime]] = {"ready": [], "later": []}
        for line in self.lines.of(queue):
            for due in (True, False):
                rows = yield self._step(
                    self.statements.in_line(line.grouped, due), {**bound, "priority_in": line.priority}
                )
                for lent, number, first in rows:
                    if number:
                        numbers["ready" if due else "leased" if lent else "delayed"] += number
                        firsts["ready" if due else "later"].append(read(first))
        ((dead, stopped, waiting, paused, _),) = yield self._step(self.statements.out_of_line, bound)
        most = {name: number if cap is None else min(number, cap) for name, number in numbers.items()}
        return QueueStats(
            ready=most["ready"],
            delayed=most["delayed"],
            leased=most["leased"],
            waiting=waiting,
            stopped=stopped,
            dead=dead,
            oldest_due_at=min(firsts["ready"], default=None),
            next_due_at=min(firsts["later"], default=None),
            paused=bool(paused),
        )

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a message and what stands between it and a consumer; see Store.inspect."""
        query = Query(queue, ids=(id,)) if id is not None else Query(queue, keys=(str(key),), statuses=LIVE)
        found = yield from self.find(query)
        if not found:
            return None
        record = found[0]
        blocker = None
        if record.group is not None:
            bound = {"queue_in": queue, "group_in": record.group, "id_in": record.id}
            rows = yield self._step(self.statements.blocker, bound)
            blocker = self.dialect.record(rows[0]) if rows else None
        ((*_, paused, at),) = yield self._step(self.statements.out_of_line, {"queue_in": queue, "limit_in": 0})
        read: Callable[[Any], Any] = self.dialect.read_moment
        return Inspection(read(at), record, blocker, bool(paused), (yield from self.consumers()))

    def consumers(self) -> Plan[list[Consumer]]:
        """Read the consumers that are noted; see Store.consumers."""
        read: Callable[[Any], Any] = self.dialect.read_moment
        consumers = []
        for name, about, seen_at in (yield self._step(self.statements.consumers, {})):
            said = _decode(about)
            known = (tuple(said["queues"]), tuple(said["kinds"]), said["version"])
            consumers.append(Consumer(name, *known, read(seen_at)))
        return consumers

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read messages; see Store.find."""
        values: dict[str, Any] = {"queue_in": query.queue, "limit_in": query.limit}
        by: list[str] = []
        for name in ("ids", "keys", "statuses"):
            wanted = getattr(query, name)
            if wanted is not None:
                if not wanted:
                    return []
                if name == "statuses" and query.keys is not None and set(wanted) == set(LIVE):
                    by.append("live")
                    continue
                by.append(name)
                values |= self.dialect.pack(name, {"value": wanted})
        if _rest(query.statuses) or _rest(asked_statuses(query.where)):
            by.append("resting")
        if query.after_id is not None:
            by.append("after_id")
            values["after_id"] = query.after_id
        if query.by_id:
            by.append("by_id")
        if query.where is None and query.order is None and not query.locked:
            statement = self.statements.find(tuple(by))
        else:
            indexed_of = yield from self._served(query.queue, query.indexed)
            statement = self.statements.search(tuple(by), query.where, query.order or Order(), query.locked, indexed_of)
        rows = yield self._step(statement, values)
        return [self.dialect.record(row) for row in rows]

    def scan(self, query: Scan) -> Plan[list[Record] | list[HistoryRow]]:
        """Read messages or turns of many queues; see Store.scan."""
        rows = yield self.scanning(query, PAST if query.past else RECORD)
        return [self._past(row) for row in rows] if query.past else [self.dialect.record(row) for row in rows]

    def scanning(self, query: Scan, shown: Sequence[str]) -> Step:
        """Return the step of a scan, which reads these columns, named as the fields of records or turns."""
        asked = (("queues", query.queues), ("statuses", query.statuses), ("descending", query.descending or None))
        by = tuple(name for name, wanted in asked if wanted is not None)
        scan = self.statements.scan_past if query.past else self.statements.scan
        return self._step(scan(by, query.where, shown), self.scan_values(query))

    def scan_values(self, query: Scan) -> dict[str, Any]:
        """Return the values of a scan's step, but those of its condition."""
        values: dict[str, Any] = {"last": query.last, "limit_in": query.limit}
        for name, wanted in (("queues", query.queues), ("statuses", query.statuses)):
            if wanted is not None:
                values |= self.dialect.pack(name, {"value": wanted})
        if not query.descending:
            values["after"] = query.after[0]
            if query.past:
                values["after_token"] = query.after[1]
        return values

    def tally(
        self,
        queue: str,
        where: Condition | None,
        by: Path | None,
        limit: int | None,
        indexed: tuple[Indexed, ...] = (),
    ) -> Plan[Tally]:
        """Count messages by a value of theirs; see Store.tally."""
        values: dict[str, Any] = {"queue_in": queue}
        if limit is not None:
            values["limit_in"] = limit + 1
        resting = _rest(asked_statuses(where))
        indexed_of = yield from self._served(queue, indexed)
        rows = yield self._step(self.statements.tally(where, by, limit is not None, resting, indexed_of), values)
        if by is None:
            return [(None, number) for _, number in rows]
        if by[0] in JSON:
            read = self.dialect.read_json
        elif FIELDS[by[0]] == "moment":
            read = self.dialect.read_moment
        else:
            return [(value, number) for value, number in rows]
        return [(read(value), number) for value, number in rows]

    def _served(self, queue: str, indexed: tuple[Indexed, ...]) -> Plan[tuple[str, tuple[Indexed, ...]] | None]:
        """Return the queue and its fields for which an index can be asked, None if there are none."""
        if indexed and self.dialect.asks_for_indexes:
            there = {row[0] for row in (yield self._step(self._indexes, {}))}
            indexed = tuple(field for field in indexed if index_name(self.tables.prefix, queue, field) in there)
        return (queue, indexed) if indexed else None

    @cached_property
    def _indexes(self) -> Statement:
        return Statement(self.dialect.indexes(self.tables.message))

    def peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Read due messages; see Store.peek."""
        yield from self._look_for_lines(queue)
        due: list[Record] = []
        for priority, lines in groupby(self.lines.of(queue), key=attrgetter("priority")):
            found: list[Record] = []
            for line in lines:
                bound = {"queue_in": queue, "priority_in": priority, "limit_in": limit - len(due)}
                rows = yield self._step(self.statements.peek(line.grouped), bound)
                found += [self.dialect.record(row) for row in rows]
            due += sorted(found, key=attrgetter("due_at", "id"))[: limit - len(due)]
            if len(due) == limit:
                break
        return due

    def count(self, queue: str) -> Plan[dict[str, int]]:
        """Count messages by status; see Store.count."""
        counts: dict[str, int] = {}
        for stored, number in (yield self._step(self.statements.count, {"queue_in": queue})):
            status = str(stored)
            counts[status] = counts.get(status, 0) + number
        return counts

    def queues(self, past: bool = False) -> Plan[list[str]]:
        """List the queues that have messages, or something else; see Store.queues."""
        names = yield from self._names_by(self.statements.queue_after)
        if past:
            names = sorted({*names, *(yield from self._names_by(self.statements.past_queue_after))})
        return names

    def _names_by(self, name_after: Statement) -> Plan[list[str]]:
        """Go from each name to the next one: as many steps as there are queues, however many rows these have."""
        names: list[str] = []
        while True:
            rows = yield self._step(name_after, {"queue_in": names[-1] if names else ""})
            after = [name for name in rows[0] if name is not None]
            if not after:
                return names
            names.append(min(after))

    def next_due(
        self, queues: Sequence[str], until: timedelta, kinds: Mapping[str, Collection[str]] | None = None
    ) -> Plan[timedelta | None]:
        """Note that a consumer sleeps, and tell until when it may; see Store.next_due."""
        if self.statements.wake is not None:
            note = until + NOTE
            spans = {"span": self.dialect.write_span(note), "half": self.dialect.write_span(until + NOTE / 2)}
            yield self._given(
                self.statements.note_waiting, ("queue",), [(name,) for name in sorted(set(queues))], spans
            )
        waits: list[timedelta] = []
        read: Callable[[Any], Any] = self.dialect.read_moment
        relied_on = not until  # nobody sleeps, so nobody will look again: then no row may be passed over
        for name in queues:
            if relied_on or self.lines.stale(name):
                yield from self._look_for_lines(name)
            if self.lines.is_paused(name):
                continue
            known = padded(kinds[name]) if kinds and name in kinds else ()
            source: Hashable = (name, known) if known else name
            floor, writes = self.floors.nothing_before(source)
            lines = [(line.grouped, line.priority) for line in self.lines.of(name)]
            if relied_on:  # rows pushed earlier than the last look may have been committed since
                floor = None
            bound = {"queue_in": name, "floor": self.dialect.write_moment(floor or EPOCH), **of_kinds(known)}
            next_due = self.statements.next_due(len(known))
            rows = yield self._given(next_due, ("grouped", "priority"), lines, bound)
            now = read(rows[0][1])
            if floor is not None and now < floor:  # the clock was set back behind it
                bound["floor"] = self.dialect.write_moment(EPOCH)
                rows = yield self._given(next_due, ("grouped", "priority"), lines, bound)
            due_at = min((read(due) for due, _ in rows if due is not None), default=None)
            if due_at is not None:
                waits.append(due_at - now)
            self.floors.looked(source, now if due_at is None else min(now, due_at), writes)
        return min(waits, default=None)


def _rest(statuses: Collection[Value] | None) -> bool:
    """Return whether messages of these statuses all rest, for which there is an index."""
    return statuses is not None and not set(statuses) & set(LIVE)
