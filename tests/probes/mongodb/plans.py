"""MongoDB without transactions: every promise rests on one document changing at once, and on its token."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from duerow.plan import Plan
from tests.probes import contract
from tests.probes.contract import (
    Committed,
    DuplicateKey,
    Entry,
    Moved,
    NotSupported,
    OnDuplicate,
    Pushed,
    Receipt,
    Record,
    Refused,
    Reserved,
    Turn,
)
from tests.probes.mongodb import commands
from tests.probes.mongodb.documents import moment, new, read

DUPLICATE_KEY: Final = 11000
MAX_COMMAND_BYTES: Final = 8 << 20
MAX_OPERATIONS: Final = 10_000
POP_LEASE: Final = timedelta(minutes=1)
CLOCK_GOOD_FOR_SECONDS: Final = 60.0

Keyed = tuple[int, Entry, str]


class MongoDB:
    """The verbs as plans of commands.

    Args:
        database: the database of the messages.
        clock: stands in for the server's time.
        answers_each: the server answers for each operation of a batch (`bulkWrite`, from 8.0 on).
    """

    def __init__(self, database: str, clock: contract.Clock | None = None, answers_each: bool = True) -> None:
        self._database, self._clock, self._answers_each = database, clock, answers_each
        self._sampled: tuple[float, datetime] | None = None

    def push(self, entries: Sequence[Entry], on_duplicate: OnDuplicate) -> Plan[list[Pushed]]:
        """Insert what has no key, upsert the rest; change what was met if nobody else did in between, else look again.

        Ids are taken first: the order given, gaps where a key was met.
        """
        now = yield from self._now()
        if on_duplicate == "reject":
            yield from _refuse_taken(entries)
        counter = yield commands.take_ids(len(entries))
        rows = list(enumerate(entries, start=int(counter["value"]["last"]) - len(entries) + 1))
        pushed = {id: Pushed(id, "created") for id, entry in rows if entry.key is None}
        for some in _chunks([new(id, entry, now) for id, entry in rows if entry.key is None]):
            yield commands.insert(some)
        pending = [(id, entry, entry.key) for id, entry in rows if entry.key is not None]
        while pending:
            created, met = yield from _create(pending, now)
            pushed |= {id: Pushed(id, "created") for id in created}
            if on_duplicate == "reject" and met:
                # Another one pushed the key after we looked. What was lent meanwhile cannot be taken back.
                yield commands.remove_unread(list(pushed))
                raise DuplicateKey([key for _, _, key in met])
            pending = yield from _meet(met, on_duplicate, now, pushed)
        return [pushed[id] for id, _ in rows]

    def reserve(self, queue: str, limit: int, lease: timedelta, attempts: int | None, consumer: str) -> Plan[Reserved]:
        """Lend the oldest due messages; what used up its attempts is buried on the way."""
        now = yield from self._now()
        claim = self._claim_one if limit == 1 else self._claim_many
        reserved: Reserved = yield from claim(queue, limit, lease, attempts, consumer, now)
        return reserved

    def _claim_one(
        self, queue: str, limit: int, lease: timedelta, attempts: int | None, consumer: str, now: datetime
    ) -> Plan[Reserved]:
        """One command, once more for each message that was buried instead."""
        buried = 0
        while True:
            answer = yield commands.lend_one(queue, now, lease, attempts, consumer)
            document = answer["value"]
            if document is None:
                return Reserved([], buried)
            if document["status"] != "dead":
                return Reserved([_in_its_place(document)], buried)
            buried += 1

    def _claim_many(
        self, queue: str, limit: int, lease: timedelta, attempts: int | None, consumer: str, now: datetime
    ) -> Plan[Reserved]:
        """Pick, lend those still free, read back; again until there are enough or none is left.

        Others may have picked the same: whoever lends first has it, the other one finds it no longer due.
        """
        lent: list[Record] = []
        buried = 0
        more = True
        while more and len(lent) < limit:
            wanted = limit - len(lent)
            picked = yield commands.pick(queue, now, wanted)
            if not picked:
                break
            more = len(picked) == wanted
            ids = [document["_id"] for document in picked]
            answer = yield commands.lend_picked(ids, queue, now, lease, attempts, consumer)
            found = yield commands.lent_to(ids, consumer)
            lent += [_in_its_place(document) for document in found]
            buried += answer["nModified"] - len(found)
        return Reserved(sorted(lent, key=lambda record: (record.due_at, record.id)), buried)

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Extend, then look whose tokens are still there: extending leaves the token as it is."""
        until = (yield from self._now()) + lease
        yield commands.prolong(receipts, until)
        found = yield commands.tokens([receipt.id for receipt in receipts])
        kept = {Receipt(int(document["_id"]), int(document["token"])) for document in found}
        return dict.fromkeys(kept & set(receipts), until)

    def settle(self, turns: Sequence[Turn]) -> Plan[list[Refused]]:
        """End turns, each by itself: one that is refused leaves the others as they are.

        A taken key shows as the server's refusal of that one update: without transactions it costs nothing else,
        and looking first would leave a gap between look and write.
        """
        _check_single(turns)
        now = yield from self._now()
        refused: list[Refused] = []
        ends_instead: list[Turn] = []
        for turn, code, matched in (yield from self._carry_out_turns(turns, now)):
            if code == DUPLICATE_KEY and isinstance(turn.end, Moved) and turn.end.on_duplicate == "ignore":
                ends_instead.append(Turn(turn.receipt, Committed()))
            elif code == DUPLICATE_KEY:
                refused.append(Refused(turn.receipt, "duplicate key"))
            elif not matched:
                refused.append(Refused(turn.receipt, "lease lost"))
        if ends_instead:
            refused += yield from self.settle(ends_instead)
        return refused

    def _carry_out_turns(self, turns: Sequence[Turn], now: datetime) -> Plan[list[tuple[Turn, int | None, bool]]]:
        """Return each turn with the server's error code, if any, and whether its receipt was good."""
        ended = []
        if self._answers_each:
            for some in _turn_chunks(turns):
                results = yield commands.settle_all(some, now, self._database)
                ended += [(some[result["idx"]], result.get("code"), result["n"] == 1) for result in results]
            return ended
        for turn in turns:
            reply = yield commands.settle_one(turn, now)
            errors = reply.get("writeErrors", [])
            ended.append((turn, errors[0]["code"] if errors else None, reply["n"] == 1))
        return ended

    def pop(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Take one in one command; take many by lending them first, then committing: what was not, stays lent."""
        now = yield from self._now()
        if limit == 1:
            answer = yield commands.pop_one(queue, now)
            document = answer["value"]
            return [] if document is None else [_popped(read(document))]
        claim = f"pop/{uuid.uuid4().hex}"
        lent = yield from self._claim_many(queue, limit, POP_LEASE, None, claim, now)
        refused = yield from self.settle([Turn(record.receipt, Committed()) for record in lent.records])
        lost = {each.receipt for each in refused}
        return [record for record in lent.records if record.receipt not in lost]

    def find(self, queue: str) -> Plan[list[Record]]:
        """Read a queue, by id."""
        found = yield commands.all_of(queue)
        return contract.read_all(found, read)

    def _now(self) -> Plan[datetime]:
        """The server's time: asked each minute, carried on by this process's steady clock."""
        if self._clock is not None:
            return self._clock.now()
        if self._sampled is None or time.monotonic() - self._sampled[0] > CLOCK_GOOD_FOR_SECONDS:
            answer = yield commands.tell_time()
            self._sampled = time.monotonic(), answer["localTime"]
        at, then = self._sampled
        return then + timedelta(seconds=time.monotonic() - at)


def _refuse_taken(entries: Sequence[Entry]) -> Plan[None]:
    """Raise if a key is taken or occurs twice, before anything is written."""
    seen: set[tuple[str, str]] = set()
    taken: list[str] = []
    live = yield from _live([(entry.queue, entry.key) for entry in entries if entry.key is not None])
    for entry in entries:
        if entry.key is None:
            continue
        if (entry.queue, entry.key) in seen | live.keys():
            taken.append(entry.key)
        seen.add((entry.queue, entry.key))
    if taken:
        raise DuplicateKey(taken)


def _create(pending: Sequence[Keyed], now: datetime) -> Plan[tuple[list[int], list[Keyed]]]:
    """Upsert; return the ids that were created, and those whose key another message has."""
    created: list[int] = []
    met: list[Keyed] = []
    rows = {row[0]: row for row in pending}
    for some in _chunks([new(id, entry, now) for id, entry, _ in pending]):
        reply = yield commands.upsert(some)
        fresh = {item["index"] for item in reply.get("upserted", [])}
        for index, document in enumerate(some):
            if index in fresh:
                created.append(int(document["_id"]))
            else:
                met.append(rows[int(document["_id"])])
    return created, met


def _meet(
    met: Sequence[Keyed], on_duplicate: OnDuplicate, now: datetime, pushed: dict[int, Pushed]
) -> Plan[list[Keyed]]:
    """Answer for messages whose key is taken; return those that have to be tried again, in order."""
    live = yield from _live([(entry.queue, key) for _, entry, key in met])
    again: list[Keyed] = []
    for id, entry, key in met:
        stored = live.get((entry.queue, key))
        if stored is None:
            again.append((id, entry, key))
            continue
        changed = contract.met_again(stored, entry, on_duplicate, now)
        if changed is None:
            pushed[id] = Pushed(stored.id, "ignored")
            continue
        answer = yield commands.replace_unchanged(stored, changed)
        if answer["value"] is None:
            del live[entry.queue, key]
            again.append((id, entry, key))
        else:
            live[entry.queue, key] = changed
            pushed[id] = Pushed(stored.id, "updated")
    return again


def _live(wanted: Sequence[tuple[str, str]]) -> Plan[dict[tuple[str, str], Record]]:
    """The live messages that hold these (queue, key) pairs."""
    keys_of: dict[str, list[str]] = defaultdict(list)
    for queue, key in wanted:
        keys_of[queue].append(key)
    live: dict[tuple[str, str], Record] = {}
    for queue, keys in keys_of.items():
        found = yield commands.holders(queue, keys)
        live |= {(queue, document["live_key"]): read(document) for document in found}
    return live


def _check_single(turns: Sequence[Turn]) -> None:
    """Refuse, before anything changes, what would have to change two documents at once."""
    for turn in turns:
        if isinstance(turn.end, Moved) and turn.end.on_duplicate in ("replace", "earliest"):
            raise NotSupported(
                f"move(on_duplicate={turn.end.on_duplicate!r}) changes two messages at once, which needs transactions;"
                " say 'reject' or 'ignore'"
            )


def _in_its_place(document: dict[str, Any]) -> Record:
    return replace(read(document), due_at=moment(document["place"]))


def _popped(record: Record) -> Record:
    return replace(record, attempts=record.attempts + 1)


def _chunks(documents: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Cut documents into commands that a server takes: 16 MiB at most."""
    yield from _cut(documents, [len(document["payload"].encode()) + 1_000 for document in documents])


def _turn_chunks(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    yield from _cut(turns, [1_000 + len(getattr(turn.end, "payload", None) or "") * 4 for turn in turns])


def _cut(items: Sequence[Any], sizes: Sequence[int]) -> Iterator[list[Any]]:
    some: list[Any] = []
    weight = 0
    for item, size in zip(items, sizes, strict=True):
        if some and (weight + size > MAX_COMMAND_BYTES or len(some) >= MAX_OPERATIONS):
            yield some
            some, weight = [], 0
        some.append(item)
        weight += size
    if some:
        yield some
