"""An account of everything that the stores answered, in the order of their transactions, and what it forbids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from duerow.clock import Clock
from duerow.errors import LeaseLost
from duerow.message import Pushed
from duerow.reservation import Receipt
from duerow.store import (
    ORDER_OF_EFFECT,
    Change,
    Closed,
    Committed,
    Entry,
    GivenUp,
    Joined,
    Moved,
    Record,
    Refused,
    Released,
    Removal,
    RolledBack,
    Turn,
)
from duerow.store.writes import following
from duerow.testing.trace import Event, What
from duerow.testing.trace_check import check
from tests.simulation.known import KEEP, LEARNT_WITHIN, BrokenPromise, Hand, Known, Moment, Since, receipt_of
from tests.simulation.script import SETS


class Ledger:
    """What is known of each message, from the answers that callers got.

    Each method tells of one call whose transaction is over, or whose effect is there; they are called in that order.

    Args:
        clock: the time.
        caches: whether processes learn of settings late.

    Attributes:
        changes: how many calls were told of so far.
    """

    def __init__(self, clock: Clock, caches: bool) -> None:
        self._clock = clock
        self.here: dict[int, Known] = {}
        self.gone: dict[int, str] = {}
        self.holders: dict[tuple[str, str], int] = {}
        self.former: dict[tuple[str, str], int] = {}
        self.ever: set[tuple[str, str, int]] = set()
        self.remembered: dict[tuple[str, str], tuple[int, datetime]] = {}
        self.coming: set[str] = set()
        self.pops: list[str] = []
        self.turns: set[tuple[int, int]] = set()
        self.ended: dict[tuple[str, int, int], str] = {}
        self.parts: dict[int, str] = {}
        self.gathered: set[int] = set()
        learnt = LEARNT_WITHIN if caches else 0.0
        self.paused, self.draining = Since(learnt), Since(learnt)
        self.queues: set[str] = set()
        self.ticks: set[str] = set()
        self.settings: set[str] = set()
        self.stopped = False
        self.events: list[Event] = []
        self.changes = self.changes_of_messages = 0

    # Pushes.

    def pushed(
        self, entries: Sequence[Entry], mode: str, remembered: bool, answer: Sequence[Pushed], began: Moment
    ) -> None:
        """Tell of a push."""
        if len(answer) != len(entries):
            raise BrokenPromise("a push answers for each message", f"{len(answer)} of {len(entries)}")
        for entry, one in zip(entries, answer, strict=True):
            if mode == "reject" and one.outcome != "created":
                raise BrokenPromise("a push that rejects taken keys does so", f"{one} for {entry.key}")
            if one.outcome == "created":
                self._trace("pushed", one.id, 0, queue=entry.queue, group=entry.group, key=entry.key)
                self._created(entry, one.id, remembered, began)
                continue
            assert entry.key is not None, entry
            place = (entry.queue, entry.key)
            holder = self.holders.get(place)
            if (*place, one.id) not in self.ever:
                raise BrokenPromise("a push is ignored for who holds its key", f"{one} never had {place}")
            if one.outcome == "updated":
                if holder != one.id and not self._popping(entry.queue):
                    raise BrokenPromise("a push changes who holds its key", f"{one}, but {place} is held by {holder}")
                known = self.here[one.id]
                known.place = None
                if mode == "replace":
                    self._replace(known, entry.group)
            elif holder is None and not self._was_taken(place, remembered, began):
                raise BrokenPromise("a push with a free key is not ignored", f"{one} for {place}")

    def _created(self, entry: Entry, id: int, remembered: bool, began: Moment) -> None:
        if self.draining.surely(entry.queue, began):
            raise BrokenPromise("a draining queue takes no messages", f"{id} in {entry.queue}")
        if entry.key is not None:
            since, until = self.remembered.get((entry.queue, entry.key), (0, began[1]))
            if remembered and until > self.now and since <= began[0]:
                raise BrokenPromise("a remembered key is taken", f"{id} got {entry.key} of {entry.queue}")
        self._enter(Known(id, entry.queue, entry.key, entry.group))

    def _was_taken(self, place: tuple[str, str], remembered: bool, began: Moment) -> bool:
        """Return whether somebody had a key at any time since a call began, or it was remembered then."""
        return self.former.get(place, 0) > began[0] or (remembered and place in self.remembered)

    def draining_refused(self, queues: Iterable[str], began: Moment) -> None:
        """Tell of a push that was refused because a queue drains."""
        if not any(self.draining.perhaps(queue, began) for queue in queues):
            raise BrokenPromise("an open queue takes messages", f"{list(queues)}")

    def taken_refused(self, entries: Sequence[Entry], remembered: bool) -> None:
        """Tell of a push that was refused because a key is taken."""
        places = [(entry.queue, entry.key) for entry in entries if entry.key is not None]
        taken = any(place in self.holders or (remembered and place in self.remembered) for place in places)
        if not taken and len(set(places)) == len(places):
            raise BrokenPromise("a push with free keys is not refused", f"{places}")

    # Hand-outs.

    def reserved(
        self,
        queue: str,
        records: Sequence[Record],
        buried: Sequence[GivenUp],
        attempts: int | None,
        to: str | None,
        began: Moment,
    ) -> None:
        """Tell of a claim."""
        self._check_not_paused(queue, [*records, *buried], began)
        self.changes_of_messages += len(records) + len(buried)
        for one in buried:
            known = self.here.get(one.id)
            if known is not None and known.hand is None and known.attempts == one.attempts - 1 and self.now > began[1]:
                known.hand = Hand(known.token + 1, began[1])  # it was handed out by this claim, whose lease ended
                self.turns.add((known.id, known.token + 1))
            if known is None or known.dead or known.hand is None or attempts is None or one.attempts < attempts:
                raise BrokenPromise("a claim buries who used up all attempts", f"{one}: {known}")
            self._lapse(known)
            self._remember(known, began)
            self._bury(known, to)
        for record in records:
            known = self._handed(record)
            lapsed = known.hand is not None
            if lapsed and attempts is not None and record.attempts > attempts:
                raise BrokenPromise("a claim buries who used up all attempts", f"{record}")
            self._lapse(known)
            assert record.leased_until is not None
            known.hand = Hand(record.token, record.leased_until)
            known.token, known.attempts = record.token, None if queue == SETS else record.attempts
            self.turns.add((record.id, record.token))
            self._trace_hand("handed", record, record.token)

    def popped(self, queue: str, records: Sequence[Record], began: Moment) -> None:
        """Tell of a pop."""
        self._check_not_paused(queue, records, began)
        for record in records:
            known = self._handed(record)
            self._lapse(known)
            turn = (record.id, record.token + 1)
            self.turns.add(turn)
            self._trace_hand("popped", record, record.token + 1)
            if queue in KEEP:
                self.ended[queue, *turn] = "popped"
            self._leave(known, "popped", began)

    def _handed(self, record: Record) -> Known:
        """Check a hand-out against everything that is known of the message and of its group."""
        known = self.see(record)
        at = record.last_attempt_at
        assert at is not None
        if known.dead or known.queue != record.queue:
            raise BrokenPromise("who is dead or elsewhere is not handed out", f"{record}: {known}")
        if known.hand is not None and known.hand.until > at and known.queue != SETS:
            raise BrokenPromise("a message is handed out once at a time", f"{record}: leased until {known.hand.until}")
        if record.token < known.token:
            raise BrokenPromise("tokens grow", f"{record}: {known}")
        if known.place not in (None, record.due_at):
            raise BrokenPromise("a release gives a message its place back", f"{record}: {known}")
        if known.attempts is not None and record.attempts != known.attempts + 1:
            raise BrokenPromise("each hand-out counts as an attempt", f"{record}: {known}")
        if record.group is not None and not self._popping(record.queue):
            for other in self.here.values():
                if other.group == record.group and other.queue == record.queue and other.id != record.id:
                    self._check_group(record, other, at)
        return known

    def _check_group(self, record: Record, other: Known, at: datetime) -> None:
        if other.hand is not None:
            if other.hand.until > at:
                raise BrokenPromise("of a group one is out at a time", f"{record} while {other}")
            other.hand, other.token = None, other.token + 1  # its turn is lost
        if other.id < record.id and not other.dead:
            raise BrokenPromise("a group keeps its order", f"{record} before {other}")

    def _check_not_paused(self, queue: str, found: Sequence[Any], began: Moment) -> None:
        if found and self.paused.surely(queue, began):
            raise BrokenPromise("a paused queue hands nothing out", f"{found} of {queue}")

    def _lapse(self, known: Known) -> None:
        """A turn is over because its lease is."""
        known.place = None
        if known.hand is not None:
            known.token = known.hand.token
            known.hand = None

    # Ends of turns.

    def extended(self, receipts: Sequence[Receipt], until: dict[Receipt, datetime], now: datetime) -> None:
        """Tell of an extension."""
        for receipt in receipts:
            known = self._holding(receipt)
            if receipt in until:
                if known is None or known.hand is None:
                    raise BrokenPromise("only who has a turn extends it", f"{receipt}: {self._about(receipt.id)}")
                known.hand.until = until[receipt]
                self._trace("extended", *receipt_of(receipt), until=until[receipt])
            elif known is not None:
                self._check_lost(known, receipt, now)

    def settled(self, turns: Sequence[Turn], refused: Sequence[Refused], began: Moment, now: datetime) -> None:
        """Tell of turns that were to end."""
        errors = {one.receipt: one.error for one in refused}
        for turn in sorted(turns, key=lambda turn: (ORDER_OF_EFFECT.index(type(turn.end)), turn.receipt.id)):
            error = errors.get(turn.receipt)
            known = self._holding(turn.receipt)
            if error is None:
                if known is None:
                    raise BrokenPromise("a turn has one end, by who has it", f"{turn}: {self._about(turn.receipt.id)}")
                self._end(known, turn, began, now)
                self._trace("settled", *receipt_of(turn.receipt), how=type(turn.end).__name__)
            elif known is not None and isinstance(error, LeaseLost):
                self._check_lost(known, turn.receipt, now)
            elif known is not None and isinstance(turn.end, Moved) and self._is_free(turn.end, known):
                raise BrokenPromise("a move is refused for who holds its key", f"{turn}: nobody does")

    def _end(self, known: Known, turn: Turn, began: Moment, now: datetime) -> None:
        end, left = turn.end, known.queue
        if not isinstance(end, Released) and left in KEEP:
            self.ended[left, turn.receipt.id, turn.receipt.token] = type(end).__name__
        known.hand = None
        known.token = turn.receipt.token + 1
        for entry in following(end):
            self._coming(entry.queue, entry.payload)
        match end:
            case Committed():
                self._leave(known, "committed", began)
            case Joined():
                self.parts[known.id] = end.correlation
                self.queues.add(SETS)
                self._leave(known, "joined", began)
            case Closed():
                known.attempts = 0
            case Released():
                known.attempts = None if known.attempts is None else known.attempts - 1
                known.place = None if known.queue == SETS else end.due_at  # a part that completes it is due at once
            case Moved():
                self._move(known, end, began)
            case RolledBack():
                pass
            case _:
                self._remember(known, began)
                self._bury(known, None)

    def _move(self, known: Known, end: Moved, began: Moment) -> None:
        self._remember(known, began)
        holder = None if end.key is None else self.holders.get((end.to, end.key))
        if holder is not None and holder != known.id:
            if end.on_duplicate == "reject":
                raise BrokenPromise("a key has one live message", f"{known} moved onto {holder}")
            self._leave(known, "merged", began)
            if end.on_duplicate == "replace":
                self._replace(self.here[holder], end.group)
            return
        self._free(known)
        self.queues.add(end.to)
        known.queue, known.key, known.group, known.attempts = end.to, end.key, end.group, 0
        self._hold(known)

    def _check_lost(self, known: Known, receipt: Receipt, now: datetime) -> None:
        """A turn was refused that nobody seems to have ended."""
        assert known.hand is not None
        if known.queue == SETS:
            return  # it may have been completed meanwhile
        if known.group is None or known.hand.until > now:
            raise BrokenPromise("who has a turn can end it", f"{receipt} was refused: {known}")
        known.hand, known.token = None, known.token + 1  # somebody before it in its group was handed out first

    def _is_free(self, end: Moved, known: Known) -> bool:
        return self.holders.get((end.to, str(end.key))) in (None, known.id)

    def _holding(self, receipt: Receipt) -> Known | None:
        known = self.here.get(receipt.id)
        return known if known is not None and known.hand is not None and known.hand.token == receipt.token else None

    # Operators.

    def changed(self, changes: Sequence[Change], refused: Sequence[Refused], revive: bool) -> None:
        """Tell of changes."""
        without = {one.receipt for one in refused}
        for change in changes:
            if change.receipt in without:
                continue
            known = self.here.get(change.record.id)
            if known is None or change.record.token < known.token:
                raise BrokenPromise("what has changed since it was read is not changed", f"{change}: {known}")
            known.hand, known.token, known.place = None, change.record.token + 1, None
            if change.anew:
                known.attempts = 0
            self.stopped |= change.due is None
            if revive and known.dead:
                known.dead = False
                self._hold(known)

    def removed(self, removal: Removal, even_if_leased: bool, began: Moment) -> None:
        """Tell of a removal."""
        for id in removal.removed:
            known = self.here.get(id)
            if known is None:
                raise BrokenPromise("who has left is not removed", f"{id}: {self._about(id)}")
            if known.hand is not None and known.hand.until > self.now and not even_if_leased:
                raise BrokenPromise("who is leased is not removed", f"{known}")
            self._leave(known, "removed", began)

    def ticked(self, names: Sequence[str], done: bool, began: Moment) -> None:
        """Tell of the ticks that a schedule was to push."""
        if names and done and self.draining.surely("mail", began):
            raise BrokenPromise("a draining queue takes no messages", f"{names}")
        for name in names if done else ():
            if name in self.ticks:
                raise BrokenPromise("a tick becomes one message", name)
            self.ticks.add(name)
            self._coming("mail", name)

    # What all of them need.

    @property
    def now(self) -> datetime:
        """The time."""
        return self._clock.now()

    @property
    def moment(self) -> Moment:
        """The time, and how many calls are over: what a call notes when it begins."""
        return self.changes, self._clock.now()

    def see(self, record: Record) -> Known:
        """Return what is known of a record that somebody read, which must have come from somewhere."""
        known = self.here.get(record.id)
        if known is not None:
            return known
        if record.id in self.gone:
            raise BrokenPromise("who has left does not come back", f"{record}: {self.gone[record.id]}")
        if record.queue != SETS:
            if record.payload not in self.coming:
                raise BrokenPromise("every message was pushed", f"{record}")
            self.coming.remove(record.payload)
        known = Known(record.id, record.queue, record.key, record.group, None, record.token)
        self._enter(known)
        return known

    def outcome(self, correlation: str, parts: Sequence[int]) -> None:
        """Tell of a set that was handed out and is done."""
        for part in parts:
            if self.parts.get(part) != correlation:
                raise BrokenPromise("a set has the parts that joined it", f"{part} in {correlation}: {self.parts}")
            if part in self.gathered:
                raise BrokenPromise("each part comes out once", f"{part} of {correlation}")
            self.gathered.add(part)

    def _coming(self, queue: str, name: str) -> None:
        self.queues.add(queue)
        self.coming.add(name)

    def _enter(self, known: Known) -> None:
        self.queues.add(known.queue)
        if known.id in self.here or known.id in self.gone:
            raise BrokenPromise("an id is never given twice", f"{known}: {self._about(known.id)}")
        self.here[known.id] = known
        self._hold(known)

    def _hold(self, known: Known) -> None:
        if known.key is None:
            return
        place = (known.queue, known.key)
        holder = self.holders.setdefault(place, known.id)
        if holder != known.id:
            if not self._popping(known.queue):
                raise BrokenPromise("a key has one live message", f"{place}: {known} and {self.here[holder]}")
            self.holders[place] = known.id
        self.ever.add((*place, known.id))

    def _free(self, known: Known) -> None:
        if known.key is not None and self.holders.get((known.queue, known.key)) == known.id:
            del self.holders[known.queue, known.key]
            self.former[known.queue, known.key] = self.changes

    def _leave(self, known: Known, why: str, began: Moment) -> None:
        if not known.dead:
            self._free(known)
        if why != "merged":
            self._remember(known, began)
        del self.here[known.id]
        self.gone[known.id] = why

    def _remember(self, known: Known, began: Moment) -> None:
        keep = KEEP.get(known.queue)
        if keep is not None and keep.keys is not None and known.key is not None:
            self.remembered[known.queue, known.key] = (self.changes, began[1] + keep.keys)

    def _bury(self, known: Known, to: str | None) -> None:
        self._free(known)
        known.hand = None
        if to is None:
            known.dead = True
        else:
            self.queues.add(to)
            known.queue, known.key, known.attempts = to, None, 0

    def _replace(self, known: Known, group: str | None) -> None:
        known.hand, known.attempts, known.place, known.group = None, 0, None, group
        known.token += 1

    def _popping(self, queue: str) -> bool:
        """Return whether somebody is popping from a queue, or died meanwhile: nobody else knows what is gone."""
        return queue in self.pops

    def _trace_hand(self, what: What, record: Record, token: int) -> None:
        at, until = record.last_attempt_at, record.leased_until
        self._trace(what, record.id, token, queue=record.queue, group=record.group, key=record.key, at=at, until=until)

    def _trace(self, what: What, id: int, token: int, **more: Any) -> None:
        """Record an event as `duerow.testing.trace` does; calls are over one after the other."""
        self.events.append(Event(what, id, token, 2 * self.changes, 2 * self.changes + 1, **more))

    def _about(self, id: int) -> str:
        return str(self.here.get(id) or self.gone.get(id) or "nobody knows it")

    # The end.

    def over(self, left: dict[int, str]) -> None:
        """Check what is left when everything that could be handed out was done: messages by id."""
        for violation in check(self.events):
            raise BrokenPromise(violation.rule, str(violation))
        for id, place in left.items():
            known = self.here.get(id)
            if known is None:
                raise BrokenPromise("what has left is not there", f"{id} is {place}: {self._about(id)}")
            if not known.dead:
                raise BrokenPromise("nothing is stuck", f"{id} is {place}: {known}")
        for known in self.here.values():
            if known.id not in left and not self._popping(known.queue):
                raise BrokenPromise("nothing is lost", f"{known}")
        if self.coming:
            raise BrokenPromise("nothing is lost", f"{sorted(self.coming)} never came")
        if lost := set(self.parts) - self.gathered:
            raise BrokenPromise("each part comes out once", f"{lost} never did")

    def history(self, found: dict[tuple[str, int, int], str]) -> None:
        """Check the finished turns, by queue, id and token."""
        for turn, how in self.ended.items():
            if turn not in found:
                raise BrokenPromise("each end of a turn is in the history", f"{turn} {how}")
        for turn, outcome in found.items():
            if turn[1:] not in self.turns and not self._popping(turn[0]):
                raise BrokenPromise("history has turns that were begun", f"{turn} {outcome}")
