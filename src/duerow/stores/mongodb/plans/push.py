"""Push: create messages, and apply `on_duplicate` where a live message already holds the key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, Final

from bson import Int64

from duerow.errors import HOW_TO_MIGRATE, Conflict, DuplicateKey, SchemaOutdated, StoreUnavailable
from duerow.message import OnDuplicate, Pushed
from duerow.plan import BEGIN, Plan
from duerow.store import Entry
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import PLAIN, difference, document, micro, whole, whole_batch
from duerow.stores.mongodb.plans.context import MongoPlans
from duerow.stores.mongodb.steps import DUPLICATE_KEY, INSIDE, Together
from duerow.stores.mongodb.unit_of_work import KeyPlace, UnitOfWork
from duerow.stores.records import created, met

TRIES: Final = 3
"""The maximum number of times that a push of many messages is tried in one transaction."""

TRIES_ALONE: Final = 20
"""The number of times that the push of one message is tried before Conflict is raised."""

Former = Mapping[KeyPlace, int]
"""The former holders of remembered keys."""


class MongoPush(MongoPlans):
    """Plans that add messages."""

    def push(
        self, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool = False, once: str | None = None
    ) -> Plan[list[Pushed]]:
        """Add messages; see MessageStore.push."""
        context = self.context
        context.check_entries(entries)
        if once is not None:
            context.need("once=, which records a name with a push,")
        if remembered:
            context.need("remember_keys=, which writes keys together with their messages,")
        if once is not None or remembered or on_duplicate == "reject" or not any(entry.key for entry in entries):
            return (yield from self._push_at_once(entries, on_duplicate, remembered, once))
        now = yield from context.now()
        yield from context.check_taking(entries)
        if not context.capabilities.transactions:
            return (yield from self._push_alone(entries, on_duplicate, now))
        if (yield INSIDE):
            return (yield from self._push_together(entries, on_duplicate, now))
        return (yield from self._push_in_any_case(entries, on_duplicate, now))

    def _push_at_once(
        self, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool, once: str | None
    ) -> Plan[list[Pushed]]:
        """Push all messages in one transaction, or none."""
        context = self.context
        if context.capabilities.transactions and (once is not None or not _is_lone(entries)):
            yield BEGIN
        now = yield from context.now()
        if once is not None and not (yield from self.note_once(once, now)):
            return []
        yield from context.check_taking(entries)
        if not any(entry.key for entry in entries):
            return (yield from self.add(entries, now))
        if not context.capabilities.transactions:
            return (yield from self._push_alone(entries, on_duplicate, now))
        return (yield from self._push_together(entries, on_duplicate, now, remembered))

    def _push_together(
        self, entries: Sequence[Entry], on_duplicate: OnDuplicate, now: datetime, remembered: bool = False
    ) -> Plan[list[Pushed]]:
        work = self.context.work(now)
        pushed = yield from self.push_into(work, entries, on_duplicate, remembered)
        yield from work.write()
        return pushed

    def _push_in_any_case(
        self, entries: Sequence[Entry], on_duplicate: OnDuplicate, now: datetime
    ) -> Plan[list[Pushed]]:
        """Push all messages in one transaction; if it keeps conflicting with others, push each message in its own.

        The server aborts a transaction as soon as it conflicts with another one. A transaction with many messages that
        other clients are changing might never succeed.
        """
        if len(entries) == 1:
            return (yield from self._push_by_itself(entries[0], on_duplicate, now))
        for _ in range(TRIES):
            with suppress(Conflict):
                done: list[Pushed] = yield Together(partial(self._push_together, entries, on_duplicate, now))
                return done
        pushed: list[Pushed] = []
        for entry in entries:
            try:
                pushed += yield from self._push_by_itself(entry, on_duplicate, now)
            except StoreUnavailable as error:
                if not pushed:
                    raise
                # This is not raised as Conflict, because then all of them would be pushed again.
                raise StoreUnavailable(f"{len(pushed)} of {len(entries)} were pushed: {error}", "unknown") from error
        return pushed

    def _push_by_itself(self, entry: Entry, on_duplicate: OnDuplicate, now: datetime) -> Plan[list[Pushed]]:
        plan = partial(self._push_together, [entry], on_duplicate, now)
        for _ in range(TRIES_ALONE):
            with suppress(Conflict):
                tried: list[Pushed] = yield Together(plan)
                return tried
        pushed: list[Pushed] = yield Together(plan)
        return pushed

    def note_once(self, name: str, now: datetime) -> Plan[bool]:
        """Record that the event with this name happens now; return False if it has happened before."""
        if (yield commands.find(self.names.noted, {"_id": name})):
            return False
        yield commands.insert(self.names.noted, [{"_id": name, "at": micro(now)}])
        return True

    def ids(self, count: int) -> Plan[range]:
        """Return unused ids in ascending order; some of them may never be used."""
        if not count:
            return range(0)
        counter = (yield commands.take_numbers(self.names.counters, count))["value"]
        if counter is None:  # writing would create the collection, without its indexes
            raise SchemaOutdated("the collections of this database are gone, or were never made: ", *HOW_TO_MIGRATE)
        last = int(counter["last"])
        return range(last - count + 1, last + 1)

    def add(self, entries: Sequence[Entry], now: datetime) -> Plan[list[Pushed]]:
        """Add messages whose keys are free."""
        ids = yield from self.ids(len(entries))
        records = [created(id_, entry, now) for id_, entry in zip(ids, entries, strict=True)]
        for documents in commands.in_commands(whole_batch(records)):
            yield commands.insert(self.names.messages, documents)
        return [Pushed(id_, "created") for id_ in ids]

    def push_into(
        self, work: UnitOfWork, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool = False
    ) -> Plan[list[Pushed]]:
        """Decide about messages in order, so that each sees the keys of those before it; write nothing.

        Raises:
            DuplicateKey: with "reject".
        """
        keys = [(entry.queue, entry.key) for entry in entries if entry.key is not None]
        yield from work.load_holders(keys)
        former = (yield from self._former(keys, work.now)) if remembered else {}
        if on_duplicate == "reject":
            _refuse_taken_keys(entries, lambda queue, key: work.holder(queue, key) is not None, former, remembered)
        ids = iter((yield from self.ids(len(entries))))
        pushed: list[Pushed] = []
        for entry in entries:
            held = work.holder(entry.queue, entry.key)
            before = None if entry.key is None else former.get((entry.queue, entry.key))
            if held is not None:
                after = met(work.now, held, entry, on_duplicate)
                if after is not None:
                    work.put(after)
                pushed.append(Pushed(held.id, "ignored" if after is None else "updated"))
            elif before is not None:
                pushed.append(Pushed(before, "ignored"))
            else:
                record = created(next(ids), entry, work.now)
                work.put(record)
                pushed.append(Pushed(record.id, "created"))
        if remembered:
            made = zip(entries, pushed, strict=True)
            yield from self._forget_keys([one for one, answer in made if answer.outcome == "created"])
        return pushed

    # Remembered keys.

    def _former(self, keys: Iterable[KeyPlace], now: datetime) -> Plan[dict[KeyPlace, int]]:
        """Return the former holders of keys that are still remembered."""
        former: dict[KeyPlace, int] = {}
        by_queue: dict[str, list[str]] = {}
        for queue, key in dict.fromkeys(keys):
            by_queue.setdefault(queue, []).append(key)
        for queue, wanted in by_queue.items():
            for chunk in commands.in_commands(wanted):
                chosen = {"queue": queue, "key": {"$in": chunk}, "until": {"$gt": micro(now)}}
                found = yield commands.find(self.names.keys, chosen)
                former |= {(queue, one["key"]): int(one["id"]) for one in found}
        return former

    def _forget_keys(self, entries: Iterable[Entry]) -> Plan[None]:
        """Forget the expired former holders of the pushed keys."""
        chosen = [{"queue": entry.queue, "key": entry.key} for entry in entries if entry.key is not None]
        for some in commands.in_commands(chosen):
            yield commands.delete(self.names.keys, *some)

    # Without transactions.

    def _push_alone(self, entries: Sequence[Entry], on_duplicate: OnDuplicate, now: datetime) -> Plan[list[Pushed]]:
        """Push messages one at a time: insert each separately, or merge it into the holder of its key.

        With "reject", all keys are checked first. If another producer then pushes one of the keys, the messages that
        were already written are removed again, unless a consumer has reserved them.
        """
        if on_duplicate == "reject":
            work = self.context.work(now)
            yield from work.load_holders((entry.queue, entry.key) for entry in entries if entry.key is not None)
            _refuse_taken_keys(entries, lambda queue, key: work.holder(queue, key) is not None, {}, False)
        ids = yield from self.ids(len(entries))
        pushed: list[Pushed] = []
        for id_, entry in zip(ids, entries, strict=True):
            try:
                pushed.append((yield from self._push_one(id_, entry, on_duplicate, now)))
            except DuplicateKey:
                unread = {**commands.ids_in(one.id for one in pushed), "token": Int64(0)}
                yield commands.delete(self.names.messages, unread, many=True)
                raise
        return pushed

    def _push_one(self, id_: int, entry: Entry, on_duplicate: OnDuplicate, now: datetime) -> Plan[Pushed]:
        """Insert a message, or change the holder of its key; try again if the holder has changed in the meantime."""
        while True:
            held = None
            if entry.key is not None:
                chosen = {"queue": entry.queue, "live_key": entry.key}
                found = yield commands.find(self.names.messages, chosen, shown=PLAIN)
                held = found[0] if found else None
            if held is None:
                reply = yield commands.insert(self.names.messages, [whole(created(id_, entry, now))], taken=True)
                if any(error["code"] == DUPLICATE_KEY for error in reply.get("writeErrors", ())):
                    continue
                return Pushed(id_, "created")
            if on_duplicate == "reject":
                raise DuplicateKey(entry.queue, [str(entry.key)])
            work = self.context.work(now)
            record = work.read(held)
            after = met(now, record, entry, on_duplicate)
            if after is None:
                return Pushed(record.id, "ignored")
            if (yield from self._change_unchanged(held, document(after), work)):
                return Pushed(record.id, "updated")

    def _change_unchanged(self, held: dict[str, Any], after: dict[str, Any], work: UnitOfWork) -> Plan[bool]:
        """Change a message unless its token or its due time has changed since it was read."""
        chosen = {**commands.fence(int(held["_id"]), int(held["token"])), "due_at": held.get("due_at")}
        change = commands.change(chosen, difference(held, after))
        reply = yield commands.update(self.names.messages, [change])
        return bool(reply["n"])


def _is_lone(entries: Sequence[Entry]) -> bool:
    """Return whether this is a single message that affects no other, so it can be inserted without a transaction."""
    return len(entries) == 1 and entries[0].key is None


def _refuse_taken_keys(entries: Sequence[Entry], is_held: Any, former: Former, remembered: bool) -> None:
    """Raise DuplicateKey for the first queue with taken keys, whether by its messages or by earlier entries."""
    asked: set[KeyPlace] = set()
    taken: dict[str, dict[str, None]] = {}
    for entry in entries:
        if entry.key is None:
            continue
        place = (entry.queue, entry.key)
        if place in asked or place in former or is_held(*place):
            taken.setdefault(entry.queue, {})[entry.key] = None
        asked.add(place)
    for queue, keys in taken.items():
        raise DuplicateKey(queue, list(keys), remembered)
