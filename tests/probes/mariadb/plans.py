"""MariaDB: UPDATE returns no rows, so every write is a read that locks, a decision, and a write by primary key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from duerow.plan import BEGIN, Plan
from tests.probes import contract
from tests.probes.contract import (
    Buried,
    Committed,
    DuplicateKey,
    Entry,
    Moved,
    OnDuplicate,
    Pushed,
    Receipt,
    Record,
    Refused,
    Reserved,
    Turn,
)
from tests.probes.mariadb import statements
from tests.probes.mariadb.statements import Answer


class MariaDB:
    """The verbs as plans of statements; `clock` stands in for the server's time."""

    def __init__(self, clock: contract.Clock | None = None) -> None:
        self._clock = clock

    def push(self, entries: Sequence[Entry], on_duplicate: OnDuplicate) -> Plan[list[Pushed]]:
        """Insert all; then change those that were met, which the insert has locked.

        Ids follow the order given, rows are inserted in the order of their keys: so two batches never lock the
        same keys in opposite order.
        """
        yield BEGIN
        ids: Answer = yield statements.next_ids(len(entries))
        rows = [(row["id"], entry) for row, entry in zip(ids.rows, entries, strict=True)]
        by_key = sorted(rows, key=lambda row: (row[1].queue, (row[1].key or "").encode()))
        kept: Answer = yield statements.create_or_lock(by_key, self._now())
        met: dict[int, Record] = {}
        pushed: dict[int, Pushed] = {}
        for (id, entry), row in zip(by_key, kept.rows, strict=True):
            stored = _read(row)
            if stored.id == id:
                pushed[id] = Pushed(id, "created")
                continue
            latest = met.get(stored.id, stored)
            changed = contract.met_again(latest, entry, on_duplicate, _utc(row["now"]))
            met[stored.id] = changed or latest
            pushed[id] = Pushed(stored.id, "updated" if changed else "ignored")
        if on_duplicate == "reject":
            yield from _refuse_met([(entry, pushed[id]) for id, entry in rows])
        updated = {answer.id for answer in pushed.values() if answer.outcome == "updated"}
        if updated:
            yield statements.write([(met[id], met[id].payload) for id in sorted(updated)])
        return [pushed[id] for id, _ in rows]

    def reserve(self, queue: str, limit: int, lease: timedelta, attempts: int | None, consumer: str) -> Plan[Reserved]:
        """Lock the oldest due rows, bury those that used up their attempts, lend the others."""
        yield BEGIN
        lent: list[Record] = []
        buried = 0
        more = True
        while more and len(lent) < limit:
            wanted = limit - len(lent)
            found: Answer = yield statements.next_in_line(queue, wanted, self._now())
            if not found.rows:
                break
            more = len(found.rows) == wanted
            until = _utc(found.rows[0]["now"]) + lease
            judged = [_after_lease(_read(row), attempts) for row in found.rows]
            dead = [record for record in judged if record.status == "dead"]
            taken = [_lend(record, until, consumer) for record in judged if record.status != "dead"]
            # The row is due again at the end of its lease; the consumer is told the place that it had in line.
            rows = dead + [replace(record, due_at=until) for record in taken]
            yield statements.write([(row, None) for row in rows])
            lent += taken
            buried += len(dead)
        return Reserved(lent, buried)

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Look who still holds what, then write: the number of changed rows would not tell it.

        A lease that already ends at that very moment is no change to MariaDB, and would look lost.
        """
        yield BEGIN
        locked: Answer = yield statements.lock(receipts, self._now())
        held = [record for record in map(_read, locked.rows) if record.receipt in receipts]
        if not held:
            return {}
        until = _utc(locked.rows[0]["now"]) + lease
        yield statements.write([(replace(record, due_at=until, leased_until=until), None) for record in held])
        return {record.receipt: until for record in held}

    def settle(self, turns: Sequence[Turn]) -> Plan[list[Refused]]:
        """Lock all, refuse the stale, decide the others and write them; all in one transaction."""
        yield BEGIN
        moves = {turn.receipt: turn.end for turn in turns if isinstance(turn.end, Moved)}
        whole = any(move.payload is None and move.on_duplicate == "replace" for move in moves.values())
        locked: Answer = yield statements.lock([turn.receipt for turn in turns], self._now(), payloads=whole)
        held = {record.receipt: record for record in map(_read, locked.rows)}
        wanted = [(move.to, held[receipt].key or "") for receipt, move in moves.items() if _has_key(held.get(receipt))]
        holders: list[Record] = []
        if wanted:
            found: Answer = yield statements.lock_keys(wanted)
            holders = contract.read_all(found.rows, _read)
        batch = _Batch({(holder.queue, holder.key or ""): holder for holder in holders})
        for turn in turns:
            if turn.receipt in held:
                batch.end(turn, held[turn.receipt], _utc(locked.rows[0]["now"]))
            else:
                batch.refused.append(Refused(turn.receipt, "lease lost"))
        if batch.done:
            yield statements.delete(batch.done)
        if batch.states:
            yield statements.write(batch.states)
        return batch.refused

    def pop(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Lock the oldest due rows and delete them; DELETE alone cannot step over locked ones."""
        yield BEGIN
        found: Answer = yield statements.next_in_line(queue, limit, self._now())
        records = contract.read_all(found.rows, _read)
        if records:
            yield statements.delete([record.id for record in records])
        return [replace(record, attempts=record.attempts + 1) for record in records]

    def find(self, queue: str) -> Plan[list[Record]]:
        """Read a queue, by id."""
        found: Answer = yield statements.all_of(queue)
        return contract.read_all(found.rows, _read)

    def _now(self) -> datetime | None:
        return self._clock.now() if self._clock else None


@dataclass
class _Batch:
    """Turns decided one after the other on locked rows: which rows go, what the others become, who is refused."""

    holders: dict[tuple[str, str], Record]
    done: list[int] = field(default_factory=list)
    states: list[tuple[Record, str | None]] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def end(self, turn: Turn, record: Record, now: datetime) -> None:
        """End one turn, seeing which keys the turns before it took or freed."""
        end = turn.end
        holder = self._holder(record, end)
        if isinstance(end, Moved) and holder is not None:
            if end.on_duplicate == "reject":
                self.refused.append(Refused(turn.receipt, "duplicate key"))
                return
            self._meet(holder, record, end, now)
            end = Committed()
        after = contract.settled(record, end, now)
        if after is None:
            self.done.append(record.id)
        else:
            self.states.append((after, end.payload if isinstance(end, Moved) else None))
        self._pass_key(record, after)

    def _holder(self, record: Record, end: contract.End) -> Record | None:
        """The other live message that holds the key where this one is to go."""
        if not isinstance(end, Moved) or record.key is None:
            return None
        holder = self.holders.get((end.to, record.key))
        return None if holder is None or holder.id == record.id else holder

    def _meet(self, holder: Record, record: Record, move: Moved, now: datetime) -> None:
        payload = record.payload if move.payload is None else move.payload
        changed = contract.met_again(holder, Entry(move.to, payload, holder.key), move.on_duplicate, now)
        if changed is not None:
            self.states.append((changed, changed.payload))
            self._pass_key(holder, changed)

    def _pass_key(self, before: Record, after: Record | None) -> None:
        if before.key is None:
            return
        self.holders.pop((before.queue, before.key), None)
        if after is not None and after.status != "dead":
            self.holders[after.queue, before.key] = after


def _refuse_met(answers: Sequence[tuple[Entry, Pushed]]) -> Plan[None]:
    """Raise for the keys that were taken, with nothing of the batch left behind in a caller's transaction."""
    taken = [entry.key or "" for entry, pushed in answers if pushed.outcome != "created"]
    created = [pushed.id for _, pushed in answers if pushed.outcome == "created"]
    if taken and created:
        yield statements.delete(created)
    if taken:
        raise DuplicateKey(taken)


def _after_lease(record: Record, attempts: int | None) -> Record:
    """Note how an unsettled lease ended; beyond the limit of attempts the message is dead."""
    ended = contract.lease_ended(record, attempts)
    if ended is None:
        return record
    if attempts is None or record.attempts < attempts:
        return replace(record, last_error=ended)
    dead = contract.settled(record, Buried(ended), now=record.first_due_at)
    assert dead is not None
    return dead


def _lend(record: Record, until: datetime, consumer: str) -> Record:
    return replace(record, token=record.token + 1, attempts=record.attempts + 1, leased_by=consumer, leased_until=until)


def _has_key(record: Record | None) -> bool:
    return record is not None and record.key is not None


def _read(row: dict[str, Any]) -> Record:
    return Record(
        id=row["id"],
        queue=row["queue"].decode(),
        payload=row["payload"],
        key=row["message_key"] and row["message_key"].decode(),
        status=row["status"],
        due_at=row["due_at"] and _utc(row["due_at"]),
        first_due_at=_utc(row["first_due_at"]),
        attempts=row["attempts"],
        token=row["token"],
        leased_by=row["leased_by"],
        leased_until=row["leased_until"] and _utc(row["leased_until"]),
        last_error=row["last_error"],
    )


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)
