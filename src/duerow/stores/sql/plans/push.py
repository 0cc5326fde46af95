"""Add messages: one, many without keys, or many with keys in any mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import msgspec

from duerow.errors import DuplicateKey, QueueDraining
from duerow.message import OnDuplicate, Pushed
from duerow.plan import BEGIN, Plan, Several
from duerow.store import Encode, Entry, Record
from duerow.stores.sql.plans.context import Context, Group, Plans, T
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import ENTRY, ONE, RECEIPT, Step

_ID: Final = itemgetter(0)

_PARAMETERS: Final = tuple(f"{name}_in" for name in ENTRY[1:])
"""The parameters of a statement that adds a single message."""

_NONE: Final[frozenset[str]] = frozenset()

Place = tuple[str, str | None]
"""A queue and a key in it."""


class Item(msgspec.Struct, frozen=True, gc=False):
    """An entry of a push, with its place in the input and the id that it gets if it is created."""

    place: int
    id: int
    entry: Entry

    @property
    def at(self) -> Place:
        """Its queue and key."""
        return _place(self.entry)


class PushPlans(Plans):
    """Plans that add messages, and look up the holders of keys.

    Args:
        context: shared by all plans of the store.
        history: writes the history, and remembers keys.
        promote: puts the next message of a group in line, and wakes consumers.
    """

    def __init__(self, context: Context, history: HistoryPlans, promote: PromotePlans) -> None:
        super().__init__(context)
        self._history, self._promote = history, promote

    def push(
        self, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool = False, once: str | None = None
    ) -> Plan[list[Pushed]]:
        """Add messages; see MessageStore.push."""
        if once is not None:
            return (yield from self._push_once(entries, on_duplicate, remembered, once))
        if len(entries) == 1 and (entries[0].key is None or (on_duplicate == "ignore" and not remembered)):
            self._note_places(entries)
            return [(yield from self._push_one(entries[0], self.context.drain_cache.unsure(entries[0].queue)))]
        if unsure := sorted(filter(self.context.drain_cache.unsure, {entry.queue for entry in entries})):
            yield BEGIN
            yield from self.ask(unsure)
        return (yield from self.add(entries, on_duplicate, remembered))

    def push_chunks(self, queue: str, chunks: Iterable[Sequence[Entry]]) -> Plan[list[Pushed]]:
        """Add messages without keys, chunk by chunk; see PushesChunks.push_chunks."""
        yield from self._begin(queue)
        return (yield from self._push_keyless(chunks, [queue], slow=True))

    def push_keyed_chunks(self, queue: str, keys: Sequence[str | None], encode: Encode) -> Plan[list[Pushed]]:
        """Add the messages whose keys are free; only then look for those that hold the other keys.

        See PushesKeyedChunks.push_keyed_chunks.
        """
        yield from self._begin(queue)
        ids, repeats = (yield from self._new_ids(len(keys))), _repeats(keys)

        def items_of(places: Sequence[int]) -> list[Item]:
            items = [Item(place, ids[place], entry) for place, entry in zip(places, encode(places), strict=True)]
            self._note_places([item.entry for item in items])
            return items

        def insertions() -> Iterator[Step]:
            for places in self.context.chunks(range(len(keys))):
                items = items_of(places)
                fresh = [item for item in items if item.place not in repeats] if repeats else items
                for chunk in self.context.chunks(fresh, item_size):
                    yield self._insertion(chunk)

        answers: list[list[Any]] = yield Several(insertions(), slow=True)
        created = self._created(chain.from_iterable(answers), ids)
        pushed = {place: Pushed(id, "created") for place, id in enumerate(ids) if id in created}
        if len(created) < len(ids):
            left = [place for place in range(len(ids)) if place not in pushed]
            held = yield from self.holder_ids((queue, keys[place]) for place in left)
            pushed |= {place: Pushed(held[at], "ignored") for place in left if (at := (queue, keys[place])) in held}
            # The holders of the other keys have left meanwhile.
            for places in self.context.chunks([place for place in left if place not in pushed]):
                yield from self._push_waves(items_of(places), "ignore", pushed)
        yield from self._promote.wake([queue])
        return [pushed[place] for place in range(len(ids))]

    def _begin(self, queue: str) -> Plan[None]:
        yield BEGIN
        if self.context.drain_cache.unsure(queue):
            yield from self.ask([queue])

    def _push_once(
        self, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool, once: str
    ) -> Plan[list[Pushed]]:
        yield BEGIN
        if not (yield from self.note_once(once)):
            return []
        if not entries:
            return []
        yield from self.ask(sorted({entry.queue for entry in entries}))
        return (yield from self.add(entries, on_duplicate, remembered))

    def note_once(self, name: str) -> Plan[bool]:
        """Record the name of an operation that must happen only once; return whether the name is new."""
        return bool((yield self.context.step(self.context.statements.stage.note, {"name_in": name})))

    def add(self, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool = False) -> Plan[list[Pushed]]:
        """Add messages, even to a draining queue, so that outputs of messages in progress are not lost."""
        keyless = all(entry.key is None for entry in entries)
        if len(entries) == 1 and (keyless or (on_duplicate == "ignore" and not remembered)):
            self._note_places(entries)
            return [(yield from self._push_one(entries[0], asking=False))]
        yield BEGIN
        queues = {entry.queue for entry in entries}
        if keyless:
            return (yield from self._push_keyless([entries], queues))
        self._note_places(entries)
        pushed = yield from self._push_keyed(entries, on_duplicate, remembered)
        yield from self._promote.wake(queues)
        return pushed

    def ask(self, queues: Sequence[str]) -> Plan[None]:
        """Raise QueueDraining if one of the queues accepts no messages."""
        context = self.context
        closed = yield context.given(context.statements.queues.draining, ("queue",), [(queue,) for queue in queues])
        for (queue,) in closed:
            raise QueueDraining(queue)
        for queue in queues:
            context.drain_cache.found_open(queue)

    def _found_open(self, queue: str, surely: bool) -> Plan[None]:
        if surely:
            self.context.drain_cache.found_open(queue)
        else:
            yield from self.ask([queue])

    def _note_places(self, entries: Sequence[Entry]) -> None:
        """Tell this process's claims where the messages will be."""
        context = self.context
        context.floors.written()
        elsewhere = [entry for entry in entries if entry.due is not None or entry.priority or entry.group is not None]
        if not elsewhere:
            return
        if dues := [entry.due for entry in elsewhere if entry.due is not None]:
            context.floors.lower(min(dues))
        for queue, line in {
            (entry.queue, PriorityLine(entry.priority, entry.group is not None))
            for entry in elsewhere
            if entry.priority or entry.group is not None
        }:
            context.priorities.add(queue, [line])

    def _push_one(self, entry: Entry, asking: bool) -> Plan[Pushed]:
        context = self.context
        values = {name: value for name, value in zip(_PARAMETERS, context.row(entry), strict=True) if value is not None}
        if not entry.priority:
            del values["priority_in"]
        given = _NONE if len(values) == len(ONE) else frozenset(name.removesuffix("_in") for name in values)
        statement = context.statements.push.insert_one(given.difference(ONE), asking)
        while True:
            rows = yield context.step(statement, values)
            if asking:
                # A row means that the queue accepts messages; no row means that it does not, or that the key is held.
                yield from self._found_open(entry.queue, bool(rows))
            if rows:
                return Pushed(rows[0][0], "created")
            held = yield from self.holder_ids([_place(entry)])
            if held:  # otherwise the holder has left meanwhile, and the key is free
                return Pushed(held[_place(entry)], "ignored")

    def _push_keyless(
        self, chunks: Iterable[Sequence[Entry]], queues: Iterable[str], slow: bool = False
    ) -> Plan[list[Pushed]]:
        waking = self._promote.waking(queues)
        answers: list[list[Any]] = yield Several(chain(self._insertions(chunks), waking), slow)
        inserted = answers[: len(answers) - len(waking)]
        return [Pushed(id, "created") for rows in inserted for id in sorted(map(_ID, rows))]

    def _insertions(self, chunks: Iterable[Sequence[Entry]]) -> Iterator[Step]:
        """Return the steps that add messages without keys."""
        context, statements = self.context, self.context.statements.push
        seen: set[Group] = set()
        for part in (part for chunk in chunks for part in context.chunks(chunk, entry_size)):
            self._note_places(part)
            given = context.rows(part)
            if given["group"].count(None) == len(part):
                yield context.columns(statements.insert_keyless, given)
            else:
                given["behind"] = [_is_behind(entry, seen) for entry in part]
                yield context.columns(statements.insert_grouped, given)

    def _new_ids(self, count: int) -> Plan[list[int]]:
        """Return new ids, ascending."""
        return sorted(map(_ID, (yield self.context.step(self.context.statements.push.next_ids, {"count": count}))))

    def _push_keyed(self, entries: Sequence[Entry], mode: OnDuplicate, remembered: bool) -> Plan[list[Pushed]]:
        if mode == "reject":
            yield from self._refuse_taken(entries, remembered)
        ids = yield from self._new_ids(len(entries))
        items = [Item(place, id, entry) for place, (id, entry) in enumerate(zip(ids, entries, strict=True))]
        pushed: dict[int, Pushed] = {}
        yield from self._push_waves(items, mode, pushed, remembered)
        return [pushed[place] for place in range(len(entries))]

    def _push_waves(
        self, items: Sequence[Item], mode: OnDuplicate, pushed: dict[int, Pushed], remembered: bool = False
    ) -> Plan[None]:
        for wave in _waves(items, lambda item: item.at):
            for chunk in self.context.chunks(wave, item_size):
                yield from self.push_wave(chunk, mode, pushed, remembered)

    def push_wave(
        self, wave: Sequence[Item], mode: OnDuplicate, pushed: dict[int, Pushed], remembered: bool = False
    ) -> Plan[None]:
        """Push entries with distinct keys; repeat entries whose key changes hands in the meantime."""
        left = list(wave)
        while left:
            if mode in ("replace", "earliest"):
                left = yield from self._change_held(left, mode, pushed)
            created = yield from self.insert(left)
            if remembered:
                left = yield from self._ignore_remembered(left, created, mode, pushed)
            for item in left:
                if item.id in created:
                    pushed[item.place] = Pushed(item.id, "created")
            left = [item for item in left if item.id not in created]
            if left and mode == "reject":
                yield from self.take_back([id for id in created] + [done.id for done in pushed.values()])
                raise DuplicateKey(left[0].entry.queue, [str(item.entry.key) for item in left], remembered)
            if left and mode == "ignore":
                held = yield from self.holder_ids(item.at for item in left)
                for item in left:
                    if item.at in held:
                        pushed[item.place] = Pushed(held[item.at], "ignored")
                left = [item for item in left if item.at not in held]

    def _ignore_remembered(
        self, items: Sequence[Item], created: set[int], mode: OnDuplicate, pushed: dict[int, Pushed]
    ) -> Plan[list[Item]]:
        """Delete just-created messages whose key is remembered; return the items that are left to push.

        Creating comes first because a message may be leaving at this moment: its key becomes free only once it is
        remembered.
        """
        places = {item.at: item.id for item in items if item.id in created and item.entry.key is not None}
        former = yield from self._history.remembered_since([(*at, id) for at, id in places.items()])
        back = {places[at] for at in former}
        yield from self.take_back(list(back))
        created -= back
        if mode == "reject":
            return list(items)
        for item in items:
            if item.id in back:
                pushed[item.place] = Pushed(former[item.at], "ignored")
        return [item for item in items if item.id not in back]

    def insert(self, items: Sequence[Item]) -> Plan[set[int]]:
        """Add the entries whose keys are free; return their ids."""
        if not items:
            return set()
        return self._created((yield self._insertion(items)), [item.id for item in items])

    def _insertion(self, items: Sequence[Item]) -> Step:
        context = self.context
        given = {"id": [item.id for item in items], **context.rows([item.entry for item in items])}
        return context.columns(context.statements.push.insert_many, given)

    def _created(self, rows: Iterable[Sequence[Any]], ids: Iterable[int]) -> set[int]:
        """Return those of the ids that insertions answered."""
        answered = set(map(_ID, rows))
        return answered.intersection(ids) if self.context.dialect.answers_held else answered

    def take_back(self, ids: Sequence[int]) -> Plan[None]:
        """Delete the rows that this push added, even inside the caller's transaction: another writer took a key."""
        if ids:
            yield self.context.given(
                self.context.statements.settle.commit, RECEIPT, [(id, 0) for id in sorted(set(ids))]
            )

    def _change_held(self, items: Sequence[Item], mode: OnDuplicate, pushed: dict[int, Pushed]) -> Plan[list[Item]]:
        """Replace or hasten the messages that already hold a key; return the items whose key is free."""
        holders = yield from self.holders(item.entry for item in items)
        held = [(item, holders[item.at]) for item in items if item.at in holders]
        if held and mode == "earliest":
            changed = yield from self._hasten(held)
        elif held:
            changed = yield from self._replace(held)
        for item, holder in held:
            pushed[item.place] = Pushed(holder.id, "updated" if holder.id in changed else "ignored")
        return [item for item in items if item.at not in holders]

    def _hasten(self, held: Sequence[tuple[Item, Record]]) -> Plan[set[int]]:
        context = self.context
        rows = [(holder.id, *context.row(item.entry)[-2:]) for item, holder in held]
        return {row[0] for row in (yield context.given(context.statements.push.hasten, ("id", *ENTRY[-2:]), rows))}

    def _replace(self, held: Sequence[tuple[Item, Record]]) -> Plan[set[int]]:
        context = self.context
        now = None
        if any(item.entry.delay is not None for item, _ in held):
            now = context.dialect.read_moment((yield context.step(context.statements.read.time, {}))[0][0])
        changes = [(item, holder) for item, holder in held if not _same_content(holder, item.entry, now)]
        if changes:
            rows = [(holder.id, *context.row(item.entry)[2:]) for item, holder in changes]
            yield context.given(context.statements.push.replace, ("id", *ENTRY[3:]), rows)
            yield from self._promote.promote_next(
                (holder.queue, holder.group) for _, holder in changes if holder.group is not None
            )
        return {holder.id for _, holder in changes}

    def _refuse_taken(self, entries: Sequence[Entry], remembered: bool) -> Plan[None]:
        """Raise DuplicateKey, before anything is written, if keys are taken or occur twice in the input."""
        held = yield from self.holder_ids(map(_place, entries))
        if remembered:
            held |= yield from self._history.remembered(_with_keys(map(_place, entries)))
        asked: set[Place] = set()
        taken: dict[str, dict[str, None]] = {}
        for entry in entries:
            place = _place(entry)
            if entry.key is not None and (place in held or place in asked):
                taken.setdefault(entry.queue, {})[entry.key] = None
            asked.add(place)
        for queue, keys in taken.items():
            raise DuplicateKey(queue, list(keys), remembered)

    def holder_ids(self, places: Iterable[Place]) -> Plan[dict[Place, int]]:
        """Read the ids of the live messages that hold keys."""
        context = self.context
        found: dict[Place, int] = {}
        for chunk in context.chunks(_with_keys(places)):
            for queue, key, id in (yield context.given(context.statements.push.holder_ids, ("queue", "key"), chunk)):
                found[queue, key] = id
        return found

    def holders(self, entries: Iterable[Entry]) -> Plan[dict[Place, Record]]:
        """Read the live messages that hold the keys of entries, and lock them if the database can."""
        context = self.context
        found: dict[Place, Record] = {}
        for chunk in context.chunks(_with_keys(map(_place, entries))):
            for row in (yield context.given(context.statements.push.holders, ("queue", "key"), chunk)):
                record = context.dialect.record(row)
                found[record.queue, record.key] = record
        return found


def _waves(items: Iterable[T], at: Callable[[T], Place]) -> list[list[T]]:
    """Split items into waves with distinct keys, in input order for each key; keyless items go into the first."""
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


def _repeats(keys: Sequence[str | None]) -> frozenset[int]:
    """Return the places of keys that occur earlier as well."""
    if len(set(keys)) == len(keys):
        return frozenset()
    first: dict[str, int] = {}
    return frozenset(
        place for place, key in enumerate(keys) if key is not None and first.setdefault(key, place) != place
    )


def _is_behind(entry: Entry, seen: set[Group]) -> bool:
    """Return whether an earlier entry has the same group; they share a transaction, so this one can wait for it."""
    if entry.group is None:
        return False
    group = (entry.queue, entry.group)
    behind = group in seen
    seen.add(group)
    return behind


def _place(entry: Entry) -> Place:
    return (entry.queue, entry.key)


def _with_keys(places: Iterable[Place]) -> list[Place]:
    """Return the distinct places that have a key, in order."""
    return sorted({place for place in places if place[1] is not None})


def _same_content(holder: Record, entry: Entry, now: datetime | None) -> bool:
    """Return whether a replacement would change nothing: the holder is new, with this content and no other due time."""
    if holder.status != "new" or holder.due_at is None:
        return False
    asked = entry.due if entry.delay is None or now is None else now + entry.delay
    same_time = asked is None or asked == holder.first_due_at
    return same_time and (holder.payload, holder.kind) == (entry.payload, entry.kind)


def item_size(item: Item) -> int:
    """Return the number of characters in an item's payload."""
    return entry_size(item.entry)


def entry_size(entry: Entry) -> int:
    """Return the number of characters in an entry's payload."""
    return len(entry.payload)
