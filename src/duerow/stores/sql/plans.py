"""The plans of the SQL stores: which statements, in which order, and what their answers mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Final, TypeVar

import msgspec

from duerow.clock import Clock, HostClock
from duerow.errors import DuerowError, DuplicateKey, LeaseLost
from duerow.message import LIVE, OnDuplicate, Pushed, Status
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Committed,
    End,
    Entry,
    Moved,
    Query,
    Record,
    Refused,
    Released,
    Removal,
    Reserved,
    RolledBack,
    Turn,
)
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.floor import Floors
from duerow.stores.sql.migrations import Migrations
from duerow.stores.sql.statements import ENTRY, LENT, ONE, RECEIPT, RECORD, OverRows, Statement, Statements
from duerow.stores.sql.tables import Tables

T = TypeVar("T")

CHUNK_BYTES: Final = 8 << 20
"""How many characters of payload one statement takes at the most."""

NOTE: Final = timedelta(seconds=10)
"""How much longer than its sleep a consumer is noted as sleeping, so that pushes begun meanwhile wake it too."""

_CREATED_AT: Final = LENT.index("created_at")
_DUE_AT: Final = attrgetter("due_at")
_IN_LINE: Final = attrgetter("due_at", "id")

Rows = Sequence[Sequence[Any]]

Place = tuple[str, str | None]
"""A queue and a key in it."""


class Step(msgspec.Struct, frozen=True, gc=False):
    """One statement and its bound values; the answer is a list of rows."""

    statement: Statement
    values: Mapping[str, Any]


class _Item(msgspec.Struct, frozen=True, gc=False):
    """An entry of a push: its place in the input and the id it gets if it is created."""

    place: int
    id: int
    entry: Entry

    @property
    def at(self) -> Place:
        return (self.entry.queue, self.entry.key)


class SqlStore:
    """The contract on an SQL database; see `duerow.store.Store`, whose promises are not repeated here.

    Args:
        dialect: which database.
        prefix: what the names of all tables begin with.
        schema: the database schema that holds them.
        clock: tells the time instead of the database.
    """

    def __init__(self, dialect: Dialect, prefix: str, schema: str | None, clock: Clock | None) -> None:
        self.dialect = dialect
        self.capabilities = dialect.capabilities
        self.tables = Tables(dialect, prefix, schema)
        self.clock = clock or (None if dialect.server_clock else HostClock())
        self.statements = Statements(self.tables, dialect, timed=self.clock is not None)
        self.migrations = Migrations(self.tables, dialect)
        self.floors = Floors(dialect.keeps_dead_entries)

    @property
    def hold(self) -> Step | None:
        """The step with which the caller's own transaction begins to write, where that must come first."""
        return Step(self.statements.hold, {}) if self.dialect.writes_alone else None

    # Push.

    def push(self, entries: Sequence[Entry], on_duplicate: OnDuplicate) -> Plan[list[Pushed]]:
        """Add messages; see Store.push."""
        self.floors.written()
        for entry in entries:
            self.floors.lower(entry.due)
        keyless = all(entry.key is None for entry in entries)
        if len(entries) == 1 and (keyless or on_duplicate == "ignore"):
            return [(yield from self._push_one(entries[0]))]
        yield BEGIN
        pushed = yield from (self._push_keyless(entries) if keyless else self._push_keyed(entries, on_duplicate))
        yield from self._wake(entry.queue for entry in entries)
        return pushed

    def _push_one(self, entry: Entry) -> Plan[Pushed]:
        row = dict(zip(ENTRY[1:], self._row(entry), strict=True))
        values = {f"{name}_in": value for name, value in row.items() if value is not None}
        statement = self.statements.insert_one(
            frozenset(name for name, value in row.items() if value is not None and name not in ONE)
        )
        while True:
            rows = yield self._step(statement, values)
            if rows:
                return Pushed(rows[0][0], "created")
            held = yield from self._holder_ids([entry])
            if held:  # else the holder has gone since, and the key with it
                return Pushed(held[entry.queue, entry.key], "ignored")

    def _push_keyless(self, entries: Sequence[Entry]) -> Plan[list[Pushed]]:
        pushed: list[Pushed] = []
        for chunk in self._chunks(entries, _entry_size):
            rows = yield self._given(self.statements.insert_keyless, ENTRY[1:], [self._row(entry) for entry in chunk])
            pushed += [Pushed(id, "created") for id in sorted(row[0] for row in rows)]
        return pushed

    def _push_keyed(self, entries: Sequence[Entry], mode: OnDuplicate) -> Plan[list[Pushed]]:
        if mode == "reject":
            yield from self._refuse_taken(entries)
        ids = [row[0] for row in (yield self._step(self.statements.next_ids, {"count": len(entries)}))]
        items = [_Item(place, id, entry) for place, (id, entry) in enumerate(zip(sorted(ids), entries, strict=True))]
        pushed: dict[int, Pushed] = {}
        for wave in _waves(items, lambda item: item.at):
            for chunk in self._chunks(wave, lambda item: _entry_size(item.entry)):
                yield from self._push_wave(chunk, mode, pushed)
        return [pushed[place] for place in range(len(entries))]

    def _push_wave(self, wave: Sequence[_Item], mode: OnDuplicate, pushed: dict[int, Pushed]) -> Plan[None]:
        """Push entries no two of which share a key; again for those whose key changed hands meanwhile."""
        left = list(wave)
        while left:
            if mode in ("replace", "earliest"):
                left = yield from self._change_held(left, mode, pushed)
            created = yield from self._insert(left)
            for item in left:
                if item.id in created:
                    pushed[item.place] = Pushed(item.id, "created")
            left = [item for item in left if item.id not in created]
            if left and mode == "reject":
                yield from self._take_back([id for id in created] + [done.id for done in pushed.values()])
                raise DuplicateKey(left[0].entry.queue, [str(item.entry.key) for item in left])
            if left and mode == "ignore":
                held = yield from self._holder_ids([item.entry for item in left])
                for item in left:
                    if item.at in held:
                        pushed[item.place] = Pushed(held[item.at], "ignored")
                left = [item for item in left if item.at not in held]

    def _insert(self, items: Sequence[_Item]) -> Plan[set[int]]:
        """Add those whose key is free, and return their ids."""
        if not items:
            return set()
        rows = [(item.id, *self._row(item.entry)) for item in items]
        return {row[0] for row in (yield self._given(self.statements.insert_many, ENTRY, rows))}

    def _take_back(self, ids: Sequence[int]) -> Plan[None]:
        """Undo what this push wrote, also inside the caller's transaction: another writer took a key meanwhile."""
        if ids:
            yield self._given(self.statements.commit, RECEIPT, [(id, 0) for id in sorted(set(ids))])

    def _change_held(self, items: Sequence[_Item], mode: OnDuplicate, pushed: dict[int, Pushed]) -> Plan[list[_Item]]:
        """Replace or hasten the messages that hold a key already; return the items whose key is free."""
        holders = yield from self._holders(item.entry for item in items)
        held = [(item, holders[item.at]) for item in items if item.at in holders]
        if held and mode == "earliest":
            changed = yield from self._hasten(held)
        elif held:
            changed = yield from self._replace(held)
        for item, holder in held:
            pushed[item.place] = Pushed(holder.id, "updated" if holder.id in changed else "ignored")
        return [item for item in items if item.at not in holders]

    def _hasten(self, held: Sequence[tuple[_Item, Record]]) -> Plan[set[int]]:
        rows = [(holder.id, *self._row(item.entry)[-2:]) for item, holder in held]
        return {row[0] for row in (yield self._given(self.statements.hasten, ("id", *ENTRY[-2:]), rows))}

    def _replace(self, held: Sequence[tuple[_Item, Record]]) -> Plan[set[int]]:
        now = None
        if any(item.entry.delay is not None for item, _ in held):
            now = self.dialect.read_moment((yield self._step(self.statements.time, {}))[0][0])
        changes = [(item, holder) for item, holder in held if not _same_content(holder, item.entry, now)]
        if changes:
            rows = [(holder.id, *self._row(item.entry)[2:]) for item, holder in changes]
            yield self._given(self.statements.replace, ("id", *ENTRY[3:]), rows)
        return {holder.id for _, holder in changes}

    def _refuse_taken(self, entries: Sequence[Entry]) -> Plan[None]:
        """Raise DuplicateKey, before anything is written, if keys are taken or asked for twice."""
        held = yield from self._holder_ids(entries)
        asked: set[Place] = set()
        taken: dict[str, dict[str, None]] = {}
        for entry in entries:
            place = (entry.queue, entry.key)
            if entry.key is not None and (place in held or place in asked):
                taken.setdefault(entry.queue, {})[entry.key] = None
            asked.add(place)
        for queue, keys in taken.items():
            raise DuplicateKey(queue, list(keys))

    def _holder_ids(self, entries: Iterable[Entry]) -> Plan[dict[Place, int]]:
        found: dict[Place, int] = {}
        for chunk in self._chunks(_places(entries)):
            for queue, key, id in (yield self._given(self.statements.holder_ids, ("queue", "key"), chunk)):
                found[queue, key] = id
        return found

    def _holders(self, entries: Iterable[Entry]) -> Plan[dict[Place, Record]]:
        found: dict[Place, Record] = {}
        for chunk in self._chunks(_places(entries)):
            for row in (yield self._given(self.statements.holders, ("queue", "key"), chunk)):
                record = self.dialect.record(row)
                found[record.queue, record.key] = record
        return found

    # Reserve and pop.

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

    # Settle.

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Let leases run longer; see Store.extend."""
        chunks = list(self._chunks(sorted({(receipt.id, receipt.token) for receipt in receipts})))
        if len(chunks) > 1 or self.dialect.writes_alone:
            yield BEGIN
        self.floors.written()
        extended: dict[Receipt, datetime] = {}
        for chunk in chunks:
            more = {"lease": self.dialect.write_span(lease)}
            for id, token, until in (yield self._given(self.statements.extend, RECEIPT, chunk, more)):
                end = self.dialect.read_moment(until)
                if end is not None:
                    extended[Receipt(id, token)] = end
        return extended

    def settle(self, turns: Sequence[Turn]) -> Plan[list[Refused]]:
        """End turns; see Store.settle. Commits take effect first, then other ends, then moves, then pushes."""
        if len(turns) <= self.dialect.chunk and all(
            type(turn.end) is Committed and not turn.end.then for turn in turns
        ):
            return (yield from self._commit(turns))
        self.floors.written()
        by_kind: dict[type[End], list[tuple[int, Turn]]] = {}
        used: set[Receipt] = set()
        for kind in (Committed, RolledBack, Buried, Released, Moved):
            if items := _first_of(kind, turns, used):
                by_kind[kind] = items
        if self._takes_several(turns, len(by_kind)):
            yield BEGIN
        refused: dict[int, DuerowError | None] = dict.fromkeys(range(len(turns)))
        for kind, items in by_kind.items():
            yield from (self._move if kind is Moved else self._end)(items, kind, refused)
        then = [
            entry
            for place, turn in by_kind.get(Committed, ())
            if place not in refused and isinstance(turn.end, Committed)
            for entry in turn.end.then
        ]
        if then:
            yield from self.push(then, "ignore")
        yield from self._wake(turn.end.to for _, turn in by_kind.get(Moved, ()) if isinstance(turn.end, Moved))
        return [
            Refused(turns[place].receipt, error or LeaseLost(turns[place].receipt.id))
            for place, error in sorted(refused.items())
        ]

    def _commit(self, turns: Sequence[Turn]) -> Plan[list[Refused]]:
        """End turns that are all plainly done, which most are: one statement and little else."""
        receipts = sorted({(turn.receipt.id, turn.receipt.token) for turn in turns})
        ended = {(id, token) for id, token in (yield self._given(self.statements.commit, RECEIPT, receipts))}
        if len(ended) == len(turns):
            return []
        refused: list[Refused] = []
        for turn in turns:
            receipt = (turn.receipt.id, turn.receipt.token)
            if receipt in ended:
                ended.remove(receipt)  # a receipt given twice ends one turn
            else:
                refused.append(Refused(turn.receipt, LeaseLost(turn.receipt.id)))
        return refused

    def _takes_several(self, turns: Sequence[Turn], kinds: int) -> bool:
        """Return whether to settle these takes more than one write."""
        if kinds > 1 or len(turns) > self.dialect.chunk:
            return True
        ends = [turn.end for turn in turns if type(turn.end) is not Committed or turn.end.then]
        return (
            any(isinstance(end, Moved) and end.key is not None for end in ends)
            or any(isinstance(end, Committed) and end.then for end in ends)
            or sum(_end_size(end) for end in ends) > CHUNK_BYTES
        )

    def _end(
        self, items: Sequence[tuple[int, Turn]], kind: type[End], refused: dict[int, DuerowError | None]
    ) -> Plan[None]:
        """End turns of one kind, in the order of id; what was ended is no longer refused."""
        statement, names = self._endings[kind]
        size = None if kind in (Committed, Released) else _turn_size
        for chunk in self._chunks(sorted(items, key=_by_id), size):
            # A move that met its key taken ends as done: then its own values are not asked for.
            rows = [
                (turn.receipt.id, turn.receipt.token, *(self._ended(turn.end) if names else ())) for _, turn in chunk
            ]
            ended = {(id, token) for id, token in (yield self._given(statement, (*RECEIPT, *names), rows))}
            for place, turn in chunk:
                if (turn.receipt.id, turn.receipt.token) in ended:
                    refused.pop(place, None)

    @property
    def _endings(self) -> dict[type[End], tuple[OverRows, tuple[str, ...]]]:
        """The statement for each end, and the columns that it takes besides the receipt."""
        statements = self.statements
        return {
            Committed: (statements.commit, ()),
            RolledBack: (statements.roll_back, ("delay", "error")),
            Buried: (statements.bury, ("error",)),
            Released: (statements.release, ("due",)),
            Moved: (statements.move, ENTRY[1:]),
        }

    def _ended(self, end: End) -> tuple[Any, ...]:
        """Return the values of an end, for the columns named in `_endings`."""
        match end:
            case RolledBack():
                return (self.dialect.write_span(end.delay), end.error)
            case Buried():
                return (end.error,)
            case Released():
                self.floors.lower(end.due_at)
                return (self.dialect.write_moment(end.due_at),)
            case Moved():
                self.floors.lower(end.due)
                due, delay = self.dialect.write_moment(end.due), self.dialect.write_span(end.delay)
                return (end.to, end.key, end.kind, end.payload, end.headers, due, delay)
        return ()

    def _move(
        self, items: Sequence[tuple[int, Turn]], kind: type[End], refused: dict[int, DuerowError | None]
    ) -> Plan[None]:
        """Move rows as if one after the other in the order of id: most in one write, the rest behind what they need.

        Where another live message holds the key in the target, do as the turn says. A free key is held for its move
        by the same INSERT … ON CONFLICT as a push: a row is added and taken away again in this transaction, so that
        nobody else can add one before the move, and no statement fails.
        """
        pending = sorted(items, key=_by_id)
        while pending:
            now, later = _first_at_each_place(pending)
            holders = {
                at: record.id for at, record in (yield from self._holders(_wish(turn) for _, turn in now)).items()
            }
            # A move onto a message that moves away later in this call meets it where it still is.
            awaited = {
                holders.get(_place(turn)) for _, turn in pending if turn.receipt.id < holders.get(_place(turn), 0)
            }
            ids = {turn.receipt.id for _, turn in pending}
            free: list[tuple[int, Turn]] = []
            unheld: list[tuple[int, Turn]] = []
            met: list[tuple[int, Turn]] = []
            for item in now:
                id, holder = _by_id(item), holders.get(_place(item[1]))
                if id in awaited or (holder is not None and holder in ids and holder < id):
                    later.append(item)
                elif holder is None and _target(item[1]).key is not None:
                    unheld.append(item)
                else:
                    (free if holder in (None, id) else met).append(item)
            got = yield from self._hold_keys(unheld)
            if free or got:
                yield from self._end([*free, *got], kind, refused)
            for place, turn in met:
                yield from self._meet(place, turn, refused)
            pending = sorted([*later, *(item for item in unheld if item not in got)], key=_by_id)

    def _hold_keys(self, items: Sequence[tuple[int, Turn]]) -> Plan[list[tuple[int, Turn]]]:
        """Hold the keys of moves until the end of the transaction; return those whose key nobody took meanwhile."""
        if not items or self.dialect.writes_alone:
            return list(items)
        ids = [row[0] for row in (yield self._step(self.statements.next_ids, {"count": len(items)}))]
        held = yield from self._insert([_Item(0, id, _wish(turn)) for id, (_, turn) in zip(ids, items, strict=True)])
        yield from self._take_back(list(held))
        return [item for id, item in zip(ids, items, strict=True) if id in held]

    def _meet(self, place: int, turn: Turn, refused: dict[int, DuerowError | None]) -> Plan[None]:
        """End a move that met another live message with its key: refuse it, or end it as done and change the other."""
        receipt, target = turn.receipt, _target(turn)
        owned = yield self._given(self.statements.owned, RECEIPT, [(receipt.id, receipt.token)])
        if not owned:
            return
        if target.on_duplicate == "reject":
            refused[place] = DuplicateKey(target.to, [str(target.key)])
            return
        yield from self._end([(place, turn)], Committed, refused)
        if target.on_duplicate != "ignore":
            record = self.dialect.record(owned[0])
            payload = record.payload if target.payload is None else target.payload
            entry = Entry(
                target.to, target.key, target.kind or record.kind, payload, target.headers, target.due, target.delay
            )
            yield from self._push_wave([_Item(0, 0, entry)], target.on_duplicate, {})

    def remove(self, queue: str, ids: Sequence[int], keys: Sequence[str], even_if_leased: bool) -> Plan[Removal]:
        """Take messages away; see Store.remove."""
        yield BEGIN
        found: dict[int, Record] = {}
        queries = [Query(queue, ids=tuple(chunk), by_id=True, limit=len(chunk)) for chunk in self._chunks(ids)]
        queries += [
            Query(queue, keys=tuple(chunk), statuses=LIVE, by_id=True, limit=len(chunk)) for chunk in self._chunks(keys)
        ]
        for query in queries:
            for record in (yield from self.find(query)):
                found[record.id] = record
        removed: set[int] = set()
        for chunk in self._chunks(sorted(found)):
            more = {"queue_in": queue, "even_if_leased": even_if_leased}
            rows = yield self._given(self.statements.remove, ("id",), [(id,) for id in chunk], more)
            removed.update(row[0] for row in rows)
        left = [(id, found[id].leased_by or "a consumer") for id in sorted(found) if id not in removed]
        return Removal(sorted(removed), left)

    # Reads.

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
        if query.statuses is not None and not set(query.statuses) & set(LIVE):
            by.append("resting")
        if query.due:
            by.append("due")
        if query.after_id is not None:
            by.append("after_id")
            values["after_id"] = query.after_id
        if query.by_id:
            by.append("by_id")
        rows = yield self._step(self.statements.find(tuple(by)), values)
        return [self.dialect.record(row) for row in rows]

    def count(self, queue: str) -> Plan[dict[Status, int]]:
        """Count messages by status; see Store.count."""
        counts: dict[Status, int] = {}
        for status, number in (yield self._step(self.statements.count, {"queue_in": queue})):
            counts[status] = counts.get(status, 0) + number
        return counts

    def queues(self) -> Plan[list[str]]:
        """List the queues that have messages; see Store.queues."""
        names: list[str] = []
        while True:
            rows = yield self._step(self.statements.queue_after, {"queue_in": names[-1] if names else ""})
            after = [name for name in rows[0] if name is not None]
            if not after:
                return names
            names.append(min(after))

    def idle(self, queues: Sequence[str], until: timedelta) -> Plan[timedelta | None]:
        """Note that a consumer sleeps, and tell until when it may; see Store.idle."""
        if self.statements.wake is not None:
            note = until + NOTE
            spans = {"span": self.dialect.write_span(note), "half": self.dialect.write_span(until + NOTE / 2)}
            yield self._given(
                self.statements.note_waiting, ("queue",), [(name,) for name in sorted(set(queues))], spans
            )
        waits: list[timedelta] = []
        for name in queues:
            floor, writes = self.floors.nothing_before(name)
            bound: dict[str, Any] = {"queue_in": name}
            if floor is not None:
                bound["floor"] = self.dialect.write_moment(floor)
            ((due, at),) = yield self._step(self.statements.next_due(floor is not None), bound)
            read: Callable[[Any], Any] = self.dialect.read_moment
            now, due_at = read(at), read(due)
            if due_at is not None:
                waits.append(due_at - now)
            self.floors.looked(name, now if due_at is None else min(now, due_at), writes)
        return min(waits, default=None)

    # The tables.

    def check(self) -> Plan[None]:
        """Compare the tables with this version; see Store.check."""
        yield from self.migrations.check(self._step)

    def migrate(self) -> Plan[list[str]]:
        """Bring the tables up to this version; see Store.migrate."""
        return (yield from self.migrations.migrate(self._step))

    def migration_sql(self) -> str:
        """Return the statements of all migrations; see Store.migration_sql."""
        return self.migrations.sql()

    # Parts.

    def _step(self, statement: Statement, values: Mapping[str, Any]) -> Step:
        if self.clock is None:
            return Step(statement, values)
        return Step(statement, {**values, "now": self.dialect.write_moment(self.clock.now())})

    def _given(
        self,
        statement: OverRows,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        more: Mapping[str, Any] | None = None,
    ) -> Step:
        """Return a step over rows; a column in which they are all alike is bound once."""
        values = dict(zip(columns, zip(*rows, strict=True), strict=True))
        alike = {name: column[0] for name, column in values.items() if column.count(column[0]) == len(rows)}
        if len(alike) == len(columns) and len(rows) > 1:  # equal rows, but as many as are given
            alike.popitem()
        bound = {f"given_{name}": value for name, value in alike.items()}
        differing = {name: column for name, column in values.items() if name not in alike}
        return self._step(
            statement.alike(frozenset(alike)), {**bound, **self.dialect.pack("given", differing), **(more or {})}
        )

    def _row(self, entry: Entry) -> tuple[Any, ...]:
        """Return an entry's values for ENTRY without the id."""
        due = None if entry.due is None else self.dialect.write_moment(entry.due)
        delay = None if entry.delay is None else self.dialect.write_span(entry.delay)
        return (entry.queue, entry.key, entry.kind, entry.payload, entry.headers, due, delay)

    def _wake(self, queues: Iterable[str]) -> Plan[None]:
        names = sorted(set(queues))
        if names and self.statements.wake is not None:
            yield self._step(self.statements.wake, self.dialect.pack("given", {"queue": names}))

    def _chunks(self, items: Sequence[T], size: Callable[[T], int] | None = None) -> Iterator[Sequence[T]]:
        """Cut into pieces that one statement takes, by number and, if a size is given, by characters."""
        if size is None or len(items) <= 1:
            for start in range(0, len(items), self.dialect.chunk):
                yield items[start : start + self.dialect.chunk]
            return
        chunk: list[T] = []
        characters = 0
        for item in items:
            length = size(item)
            if chunk and (len(chunk) == self.dialect.chunk or characters + length > CHUNK_BYTES):
                yield chunk
                chunk, characters = [], 0
            chunk.append(item)
            characters += length
        if chunk:
            yield chunk


def _waves(items: Iterable[T], at: Callable[[T], Place]) -> list[list[T]]:
    """Part items so that no two of a part share a key, the first of each key first; keyless ones go along."""
    waves: list[list[T]] = []
    seen: dict[Place, int] = {}
    for item in items:
        place = at(item)
        turn = 0 if place[1] is None else seen.get(place, 0)
        if place[1] is not None:
            seen[place] = turn + 1
        if turn == len(waves):
            waves.append([])
        waves[turn].append(item)
    return waves


def _places(entries: Iterable[Entry]) -> list[Place]:
    return sorted({(entry.queue, entry.key) for entry in entries if entry.key is not None})


def _first_of(kind: type[End], turns: Sequence[Turn], used: set[Receipt]) -> list[tuple[int, Turn]]:
    """Return the turns that end so, with their places; a receipt that was used already ends no second turn."""
    items: list[tuple[int, Turn]] = []
    for place, turn in enumerate(turns):
        if isinstance(turn.end, kind) and turn.receipt not in used:
            used.add(turn.receipt)
            items.append((place, turn))
    return items


def _target(turn: Turn) -> Moved:
    if not isinstance(turn.end, Moved):
        raise AssertionError(f"{turn} is no move")
    return turn.end


def _place(turn: Turn) -> Place:
    """Return the queue and the key that a move goes to."""
    return (_target(turn).to, _target(turn).key)


def _first_at_each_place(
    items: Sequence[tuple[int, Turn]],
) -> tuple[list[tuple[int, Turn]], list[tuple[int, Turn]]]:
    """Part moves into the first to each key, with all that have none, and the others."""
    first: list[tuple[int, Turn]] = []
    others: list[tuple[int, Turn]] = []
    taken: set[Place] = set()
    for item in items:
        place = _place(item[1])
        (others if place in taken else first).append(item)
        if place[1] is not None:
            taken.add(place)
    return first, others


def _wish(turn: Turn) -> Entry:
    """Return a move as the push into its target that it comes to."""
    end = _target(turn)
    return Entry(end.to, end.key, end.kind or "json", end.payload or "null", end.headers, end.due, end.delay)


def _same_content(holder: Record, entry: Entry, now: datetime | None) -> bool:
    """Return whether replacing the holder would change nothing: same content, untouched, and no other time asked."""
    if holder.status != "new" or holder.due_at is None:
        return False
    asked = entry.due if entry.delay is None or now is None else now + entry.delay
    same_time = asked is None or asked == holder.first_due_at
    return same_time and (holder.payload, holder.kind) == (entry.payload, entry.kind)


def _by_id(item: tuple[int, Turn]) -> int:
    return item[1].receipt.id


def _entry_size(entry: Entry) -> int:
    return len(entry.payload)


def _turn_size(item: tuple[int, Turn]) -> int:
    return _end_size(item[1].end)


def _end_size(end: End) -> int:
    if isinstance(end, Moved):
        return len(end.payload or "") + len(end.headers or "")
    return len(end.error or "") if isinstance(end, RolledBack | Buried) else 0
