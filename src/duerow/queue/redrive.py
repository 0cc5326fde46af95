"""Redrive: bring back dead letters that went to a dead-letter queue or stayed in their own queue."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Protocol

import msgspec

from duerow.conditions.model import Compare, Condition, IsNull, every, negation
from duerow.errors import DuplicateKey, InvalidMessage
from duerow.message import LIVE, OnDuplicate
from duerow.payload import dead_letter_headers
from duerow.payload.codec import decode_headers
from duerow.payload.encoding import AS_STORED
from duerow.plan import BEGIN, Plan
from duerow.queue import edits, mapping
from duerow.queue.dead_letter_targets import restored
from duerow.reservation import BareReservation, Receipt
from duerow.settlement import Move
from duerow.store import Indexed, Moved, Query, Record, Retention, Store, Turn

BATCH: Final = 100
"""How many dead letters are brought back in one transaction; a payload can be up to 1 MiB."""

Place = tuple[str, str]
"""A queue and a key in it."""


class Redriven(msgspec.Struct, frozen=True):
    """The result of a redrive: how many went back (or would), and how many stayed because their key is taken."""

    count: int = 0
    skipped: int = 0

    def __add__(self, other: Redriven) -> Redriven:
        return Redriven(self.count + other.count, self.skipped + other.skipped)


class RedriveBatch(msgspec.Struct, frozen=True):
    """The result of one batch.

    Attributes:
        done: what was brought back.
        place: where the next batch starts; its `last` is None after the last batch.
        given: the keys that a dry run has assigned; later messages find them taken.
    """

    done: Redriven
    place: edits.EditBatch
    given: frozenset[Place]


class Dead(Protocol):
    """A selection of dead letters, and the way in which they go back."""

    def batch(
        self, store: Store, most: int, previous: edits.EditBatch | None, given: frozenset[Place], dry_run: bool
    ) -> Plan[RedriveBatch]:
        """Bring the next batch back, read and written in one transaction.

        Args:
            store: the store that contains them.
            most: the maximum number.
            previous: where the previous batch ended.
            given: the keys that this dry run has already assigned.
            dry_run: change nothing, only count.

        Raises:
            NotSupported: two messages would have to change together, and the store cannot do that.
        """
        ...


class Away(msgspec.Struct, frozen=True):
    """Dead letters that are due in a dead-letter queue.

    Attributes:
        queue: that queue.
        own: only letters from this queue; None: letters from any other queue, each of which goes back there.
        where: only letters that match this condition there; None: all.
        on_duplicate: what to do if their key is taken.
        keep: what that queue keeps about messages that leave it.
    """

    queue: str
    own: str | None
    where: Condition | None
    on_duplicate: OnDuplicate
    keep: Retention | None

    def batch(
        self, store: Store, most: int, previous: edits.EditBatch | None, given: frozenset[Place], dry_run: bool
    ) -> Plan[RedriveBatch]:
        """See `Dead`. Writes are fenced by the tokens that were read, so no letter needs a lease."""
        if store.capabilities.together:
            yield BEGIN
        now = (yield from store.counters.read(self.queue)).now
        chosen = edits.EditChoice(self.queue, None, None, self._meant(now), False, batch=most)
        records, place = yield from edits.next_batch(store, chosen, LIVE, previous, locked=not dry_run)
        back = [turn for record in records if (turn := self._back(record)) is not None]
        unfit = len(records) - len(back)
        if dry_run:
            free, given = yield from self._free(store, back, given)
            return RedriveBatch(Redriven(free, unfit + len(back) - free), place, given)
        refused = (yield from store.messages.settle(back, self.keep)) if back else []
        taken = sum(isinstance(one.error, DuplicateKey) for one in refused)
        return RedriveBatch(Redriven(len(back) - len(refused), unfit + taken), place, given)

    def _meant(self, now: datetime) -> Condition:
        """Return the condition for these letters. The due time of a leased message is the end of its lease."""
        path = ("headers", dead_letter_headers.FROM)
        elsewhere = (negation(IsNull(path)), negation(Compare(path, "=", self.queue)))
        comes_from = elsewhere if self.own is None else (Compare(path, "=", self.own),)
        due = every(*comes_from, Compare(("due_at",), "<=", now))
        return due if self.where is None else every(due, self.where)

    def _back(self, record: Record) -> Turn | None:
        """Return how a dead letter goes back; None if its headers have an invalid queue or key."""
        headers = decode_headers(record.headers)
        move = Move(
            headers[dead_letter_headers.FROM],  # type: ignore[arg-type]
            key=headers.get(dead_letter_headers.KEY),
            headers=restored(headers),
            on_duplicate=self.on_duplicate,
        )
        letter = BareReservation(mapping.message(record, AS_STORED), record.first_due_at)
        try:
            return mapping.turn(letter, move)
        except InvalidMessage:
            return None

    def _free(self, store: Store, back: list[Turn], given: frozenset[Place]) -> Plan[tuple[int, frozenset[Place]]]:
        """Return how many of the letters would go back, and which keys would then be assigned."""
        places = [_place(turn) for turn in back]
        if self.on_duplicate != "reject":
            return len(back), given
        taken = set(given) | (yield from _held(store, {place for place in places if place is not None}))
        count = 0
        for place in places:
            if place is None or place not in taken:
                count += 1
            if place is not None:
                taken.add(place)
        return count, frozenset(taken)


class Stayed(msgspec.Struct, frozen=True):
    """Dead letters that stayed in their queue.

    Attributes:
        queue: the queue.
        where: only letters that match this condition; None: all.
        on_duplicate: what to do if their key is taken.
        keep: what the queue keeps about letters that are replaced by another message.
        indexed: its payload fields that have an index.
    """

    queue: str
    where: Condition | None
    on_duplicate: OnDuplicate
    keep: Retention | None
    indexed: tuple[Indexed, ...]

    def batch(
        self, store: Store, most: int, previous: edits.EditBatch | None, given: frozenset[Place], dry_run: bool
    ) -> Plan[RedriveBatch]:
        """See `Dead`. The letters restart where they are; if a key is taken, the letter is merged into its holder."""
        if store.capabilities.together:
            yield BEGIN
        chosen = edits.all_dead(self.queue, most, self.where, self.indexed)
        records, place = yield from edits.next_batch(store, chosen, ("dead",), previous, locked=not dry_run)
        changes = [edits.requeued(record) for record in records]
        refused = (yield from store.operations.change(self.queue, changes, False, dry_run)) if changes else []
        taken = {one.receipt for one in refused if isinstance(one.error, DuplicateKey)}
        gone = {one.receipt for one in refused} - taken
        met = [change.record for change in changes if change.receipt in taken]
        if dry_run:
            free = [change.record for change in changes if change.receipt not in taken | gone]
            met += [record for record in free if (self.queue, record.key) in given]
            given |= {(self.queue, record.key) for record in free if record.key is not None}
        elif met and self.on_duplicate != "reject":
            lost = yield from store.messages.settle([self._onto(record) for record in met], self.keep)
            gone |= {one.receipt for one in lost}
        skipped = len(met) if self.on_duplicate == "reject" else 0
        return RedriveBatch(Redriven(len(records) - len(gone) - skipped, skipped), place, given)

    def _onto(self, record: Record) -> Turn:
        return Turn(
            Receipt(record.id, record.token),
            Moved(
                self.queue,
                None,
                None,
                record.key,
                record.headers,
                None,
                None,
                self.on_duplicate,
                record.group,
                record.priority,
            ),
        )


def _place(turn: Turn) -> Place | None:
    """Return the queue and key that a dead letter goes back to; None: it has no key."""
    move = turn.end
    return (move.to, move.key) if isinstance(move, Moved) and move.key is not None else None


def _held(store: Store, places: set[Place]) -> Plan[set[Place]]:
    """Return which of these keys live messages hold."""
    held: set[Place] = set()
    for queue in sorted({queue for queue, _ in places}):
        keys = tuple(sorted(key for other, key in places if other == queue))
        query = Query(queue, keys=keys, statuses=LIVE, by_id=True, limit=len(keys))
        held |= {(queue, str(record.key)) for record in (yield from store.messages.find(query))}
    return held
