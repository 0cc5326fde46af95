# Generated from ../aio/queue.py by tools/generate_sync.py; edit that file instead.
"""A queue: push, pop, reserve and settle, each a single atomic write."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Unpack

from msgspec import UNSET

from duerow import reservation as core
from duerow.conditions.model import Condition
from duerow.errors import (
    CodecError,
    ConfigurationError,
    Conflict,
    DuerowError,
    KeyMissing,
    LeaseLost,
    NotSupported,
    StoreUnavailable,
)
from duerow.message import (
    Draft,
    Failure,
    Message,
    OnDuplicate,
    Pushed,
    Scalar,
    check_on_duplicate,
    check_queue_name,
    check_span,
)
from duerow.payload import dead_letter_headers
from duerow.payload.codec import MAX_PAYLOAD_BYTES, Encoded
from duerow.payload.encoding import AS_STORED, Payloads, sealed_of
from duerow.payload.types import Declared, Upgrades
from duerow.phrases import Argument
from duerow.plan import BEGIN, Plan
from duerow.queue import edits, mapping, refusals
from duerow.queue import redrive as redriving
from duerow.queue.consumer_id import check_consumer, new_claim
from duerow.queue.definition import check_indexed, check_max_payload_bytes, indexed_again
from duerow.queue.handler import Handled
from duerow.queue.history import keeping
from duerow.queue.redrive import Redriven
from duerow.queue.throttle import Throttle
from duerow.reservation import Receipt
from duerow.retry import RetryFunction, RetryPolicy, as_policy
from duerow.settlement import DONE, Bury, Commit, Move, MoveOptions, Release, Retry, Rollback, Settlement, decide
from duerow.store import Query, Record, Refused, Turn
from duerow.sync import offload
from duerow.sync.bulk import QueueBulk
from duerow.sync.definition import Definitions
from duerow.sync.edits import Edits, P
from duerow.sync.history import History
from duerow.sync.operations import Operations
from duerow.sync.unknown_kinds import UnknownKinds
from duerow.where import as_condition

if TYPE_CHECKING:
    from duerow.sync.database import Database

LOG: Final = logging.getLogger("duerow.queue")

SHORTEST_LEASE: Final = timedelta(milliseconds=1)
POLL_WOKEN: Final = timedelta(seconds=5)
POLL_ALONE: Final = timedelta(seconds=1)

MOST_PUT_OFF: Final = 100
"""How many messages with missing keys one call puts off: a consumer without keys must not go through a whole queue."""


_PAIRS: Final = "settle takes pairs of a reservation and its settlement"


class Reservation(core.BareReservation[P], Generic[P], frozen=True, gc=False):
    """One message, leased to this consumer until a given time; settle it here or through its queue.

    Attributes:
        queue: the queue that it was reserved from.
    """

    queue: Queue[P]

    def commit(self, *, payload: Any = UNSET, then: Sequence[Draft] = (), within: Any = None) -> None:
        """Same as Queue.commit."""
        self.queue.commit(self, payload=payload, then=then, within=within)

    def rollback(
        self, *, delay: timedelta | None = None, error: BaseException | str | None = None, within: Any = None
    ) -> None:
        """Same as Queue.rollback."""
        self.queue.rollback(self, delay=delay, error=error, within=within)

    def bury(self, reason: str | Failure | BaseException, *, within: Any = None) -> None:
        """Same as Queue.bury."""
        self.queue.bury(self, reason, within=within)

    def release(self, *, within: Any = None) -> None:
        """Same as Queue.release."""
        self.queue.release(self, within=within)

    def extend(self, lease: timedelta | None = None, *, within: Any = None) -> Reservation[P]:
        """Same as Queue.extend."""
        return self.queue.extend(self, lease, within=within)

    def move(self, to: str, payload: Any = UNSET, *, within: Any = None, **options: Unpack[MoveOptions]) -> None:
        """Same as Queue.move."""
        self.queue.move(self, to, payload, within=within, **options)


class Queue(Edits[P], History[P], Operations, Definitions, UnknownKinds, Handled):
    """A named queue of messages, made by `Database.queue`. The payloads of a `Queue[Order]` are declared as `Order`.

    Attributes:
        database: the database that holds it.
        name: its name.
        lease: how long a reservation lasts unless it is extended.
        retry: the delays between attempts, and how many attempts are allowed.
        dead_letter: the queue that receives messages that have failed for good; None: they stay here as dead.
        payload: the declared type of its payloads; None: JSON and bytes.
        upgrades: functions that convert other payloads to that type.
        indexed: the payload fields that have an index once the queue is declared.
        keeping: how long finished turns stay in its history, and how long it remembers the keys of messages that left;
            None: it keeps neither.
        locked_while_handled: whether only a transactional handler itself can end its turn, because its message is
            locked.
    """

    locked_while_handled = False

    def __init__(
        self,
        database: Database,
        name: str,
        lease: timedelta = timedelta(minutes=1),
        retry: RetryPolicy | RetryFunction | None = None,
        max_payload_bytes: int = MAX_PAYLOAD_BYTES,
        dead_letter: str | None = None,
        payload: type[P] | None = None,
        upgrades: Upgrades | None = None,
        indexed: Mapping[str, type] | None = None,
        history: timedelta | None = None,
        remember_keys: timedelta | None = None,
    ) -> None:
        self.database = database
        self.name = check_queue_name(name)
        self.lease = check_span("lease", lease, SHORTEST_LEASE)
        self.retry = as_policy(retry)
        self.max_payload_bytes = check_max_payload_bytes(max_payload_bytes)
        self.dead_letter = None if dead_letter is None else check_queue_name(dead_letter)
        self.payload, self.upgrades = payload, upgrades
        self.indexed = check_indexed(indexed)
        self.keeping = keeping(history, remember_keys)
        self._remembers = remember_keys is not None
        self._store = database.store
        self._payloads = Payloads(self.name, _declared(payload, upgrades), database.encryption)
        UnknownKinds.__init__(self)

    def on_terms(self, lease: timedelta | None, retry: RetryPolicy | RetryFunction | None) -> Queue[P]:
        """Return another handle of this queue with this lease and retry policy; None: the same as here."""
        return self.database.queue(
            self.name,
            lease=self.lease if lease is None else lease,
            retry=self.retry if retry is None else retry,
            max_payload_bytes=self.max_payload_bytes,
            dead_letter=self.dead_letter,
            payload=self.payload,
            upgrades=self.upgrades,
            indexed=indexed_again(self.declared.indexed),
            history=None if self.keeping is None else self.keeping.history,
            remember_keys=None if self.keeping is None else self.keeping.keys,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The queues that a worker of this queue consumes."""
        return (self.name,)

    @property
    def bulk(self) -> QueueBulk:
        """Whole batches: reserve without reading, read in ranges, end turns; for engines such as Spark."""
        return QueueBulk(self)

    @property
    def payloads(self) -> Payloads:
        """How its payloads are written and read; for engines."""
        return self._payloads

    def __repr__(self) -> str:
        return f"<Queue {self.name!r}>"

    # Push.

    def push(
        self,
        payload: P,
        *,
        key: str | None = None,
        due: datetime | None = None,
        delay: timedelta | None = None,
        headers: Mapping[str, Scalar] | None = None,
        group: str | None = None,
        priority: int = 0,
        on_duplicate: OnDuplicate = "ignore",
        within: Any = None,
    ) -> Pushed:
        """Add a message; return its id and whether it was created, updated or ignored.

        Args:
            payload: JSON (see `duerow.payload.codec`) or bytes; a value of the declared type if the queue has one.
            key: unique among the queue's live messages, 1 to 255 characters.
            due: the earliest time to hand it out, an aware datetime; give at most one of `due` and `delay`. Default:
                now.
            delay: how long from now, by the database's clock, until it is due.
            headers: names and scalars that travel with the message.
            group: messages of one group are handed out one at a time, in the order in which they were pushed.
            priority: lower goes first, -32,768 to 32,767.
            on_duplicate: what to do when a live message has the key: "ignore" leaves it as it is, "replace" gives it
                this content and ends any lease on it, "earliest" gives it the earlier due time, "reject" raises. If
                only a message that has left had the key and the queue remembers it, "reject" raises and any other
                mode ignores the push.
            within: the caller's open transaction: an SQLAlchemy Connection or Session, or a driver's connection.

        Raises:
            InvalidMessage: a field is out of bounds (CodecError: the payload or a header).
            DuplicateKey: the key is taken and `on_duplicate` is "reject".
        """
        entry = offload.entry(
            self.name, payload, key, due, delay, headers, group, priority, self.max_payload_bytes, self._payloads
        )
        mode = check_on_duplicate(on_duplicate)
        pushed = self.database.run(lambda: self._store.push([entry], mode, self._remembers), within)
        return pushed[0]

    def push_many(
        self, drafts: Iterable[Draft[P]], *, on_duplicate: OnDuplicate = "ignore", within: Any = None
    ) -> list[Pushed]:
        """Add all messages or none; return one result per message in the order given, even if two share a key.

        Raises:
            InvalidMessage: a field of a message is out of bounds; nothing was pushed.
            DuplicateKey: `on_duplicate` is "reject" and keys are taken (the error names them all); nothing was pushed.
        """
        mode = check_on_duplicate(on_duplicate)
        each = edits.each_of(drafts, "push_many takes a list of Drafts")
        entries = offload.entries(each, self.name, self.max_payload_bytes, self._payloads)
        if not entries:
            return []
        many = len(entries)
        return self.database.run(lambda: self._store.push(entries, mode, self._remembers), within, many)

    def encode(self, payload: P) -> Encoded:
        """Return a payload as this queue stores it, not yet encrypted, for a `Move` or a `Draft` to this queue.

        JSON and objects of a declarable type do not need it; a TypedDict with values that JSON lacks does.
        """
        return self._payloads.encode(payload, self.max_payload_bytes)

    # Take at most once.

    def pop(self, *, timeout: timedelta | None = None, within: Any = None) -> Message[P] | None:  # noqa: ASYNC109
        """Remove and return the next due message: at most once. Return None when nothing is due.

        Args:
            timeout: wait up to this long for a message to become due.
            within: the caller's open transaction; the message is gone if it commits and back if it does not, so
                effects in the same database happen exactly once.
        """
        if timeout is not None and within is not None:
            raise ConfigurationError("pop(timeout=…) cannot wait inside a transaction of yours; leave one of them out")
        wait = None if timeout is None else check_span("timeout", timeout)
        messages = self.pop_many(1, within=within)
        if messages or wait is None:
            return messages[0] if messages else None
        return self._pop_later(wait)

    def pop_many(self, n: int, *, within: Any = None) -> list[Message[P]]:
        """Remove and return up to n due messages, oldest first: at most once."""
        limit = edits.how_many(n)
        can = self._store.capabilities
        if within is None and not (can.transactions and can.passes_over):
            return self._pop_by_lease(limit)

        def take(apart: bool) -> Plan[list[Message[P]]]:
            # Decode before the transaction ends, so that an unreadable message is not lost.
            yield BEGIN
            # Nothing can be given back in the caller's transaction, so take only known kinds there.
            kinds = self._only if within is None else self._known
            records = yield from self._store.pop(self.name, limit, self.keeping, kinds, apart)
            return [mapping.message(record, self._payloads) for record in records]

        try:
            messages = self.database.claim(take, within, limit)
        except CodecError:
            if within is not None:
                raise
            reservations = self.reserve_many(limit)  # buries unreadable messages, or leaves them
            self.release_many(reservations)
            messages = self.database.claim(take, None, limit)
        if within is None:
            self.database.meter.claimed(self.name, messages)
            self.database.meter.ended(self.name, len(messages))
        return messages

    def _pop_by_lease(self, limit: int) -> list[Message[P]]:
        """Reserve and commit, so that an unreadable message is kept even if the store cannot undo a transaction."""
        reservations = self.reserve_many(limit)
        refused = {one.receipt for one in self.commit_many(reservations)}
        return [one.message for one in reservations if one.receipt not in refused]

    def _pop_later(self, timeout: timedelta) -> Message[P] | None:  # noqa: ASYNC109
        deadline = time.monotonic() + timeout.total_seconds()
        poll = POLL_WOKEN if self._store.capabilities.wakes_consumers else POLL_ALONE
        listener = self.database.connections.listen([self.name])
        try:
            while (left := deadline - time.monotonic()) > 0:
                sleep = min(timedelta(seconds=left), poll)
                due_in = self.database.run(
                    lambda until=sleep: self._store.next_due([self.name], until, self.only)  # type: ignore[misc]
                )
                if messages := self.pop_many(1):
                    return messages[0]
                listener.wait(max(0.0, min(sleep, sleep if due_in is None else due_in).total_seconds()))
            messages = self.pop_many(1)
            return messages[0] if messages else None
        finally:
            listener.close()

    # Reserve.

    def reserve(self, *, lease: timedelta | None = None, within: Any = None) -> Reservation[P] | None:
        """Reserve the next due message for this consumer until now + lease; None when nothing is due."""
        reservations = self.reserve_many(1, lease=lease, within=within)
        return reservations[0] if reservations else None

    def reserve_many(
        self, n: int, *, lease: timedelta | None = None, consumer: str | None = None, within: Any = None
    ) -> list[Reservation[P]]:
        """Reserve up to n due messages for this consumer until now + lease, oldest first; never one for two consumers.

        A message is buried instead if it cannot be decoded, or if the lease of its last allowed attempt ran out. A
        message of a kind that this handle does not know is left unchanged for consumers that know it. A message whose
        encryption key is missing here is put off until the lease would have ended, with no attempt counted.

        Args:
            n: the most to reserve.
            lease: how long; default: the queue's lease.
            consumer: who takes them, as host:pid:worker/claim; default: a new claim of this process.
            within: refused.

        Raises:
            NotSupported: `within` was given; a lease that no other consumer can see would be no lease.
        """
        if within is not None:
            raise NotSupported("reserve(within=…): a lease that nobody else can see is none; use pop(within=…)")
        limit, span = edits.how_many(n), self._lease(lease)
        claim = new_claim() if consumer is None else check_consumer(consumer)
        lent: list[Reservation[P]] = []
        put_off = 0
        while len(lent) < limit and put_off < MOST_PUT_OFF:
            wanted = limit - len(lent)
            try:
                reserved = self.database.claim(
                    lambda apart, wanted=wanted: self._store.reserve(  # type: ignore[misc]
                        self.name,
                        wanted,
                        span,
                        self.retry.limit,
                        claim,
                        self.dead_letter,
                        self.keeping,
                        self._only,
                        apart,
                    ),
                    None,
                    wanted,
                )
                records = reserved.records
                self.database.meter.claimed(self.name, records)
                self._given_up(reserved.buried)
                readable, unreadable = offload.done(lambda records=records: self._read(records), len(records))  # type: ignore[misc]
                lent += readable
                if not unreadable:
                    break
                self._end_unreadable(unreadable)
            except StoreUnavailable:
                if not lent:
                    raise
                break  # the caller must get what is reserved already; a lasting failure will show up again
            put_off += sum(one.message.kind in self._known for one, end in unreadable if isinstance(end, Release))
        return lent

    def _read(
        self, records: list[Record]
    ) -> tuple[list[Reservation[P]], list[tuple[core.BareReservation, Settlement]]]:
        readable: list[Reservation[P]] = []
        unreadable: list[tuple[core.BareReservation, Settlement]] = []
        payloads, encrypted = self._payloads, self.database.encryption is not None  # else nobody reads `sealed`
        for record in records:
            assert record.leased_until is not None  # noqa: S101 - the store's promise
            try:
                message = mapping.message(record, payloads)
                sealed = sealed_of(record) if encrypted else None
                readable.append(Reservation(message, record.leased_until, self, sealed=sealed))
            except CodecError as error:
                unreadable.append(self._unreadable(record, error))
        return readable, unreadable

    def _unreadable(self, record: Record, error: CodecError) -> tuple[core.BareReservation, Settlement]:
        """Return how to end the turn of a message whose payload cannot be read here."""
        assert record.leased_until is not None  # noqa: S101 - the store's promise
        reservation = core.BareReservation(mapping.readable(record), record.leased_until)
        if record.kind not in self._known:
            return reservation, Release()
        if isinstance(error, KeyMissing):
            LOG.warning("message %d of %s is put off: %s", record.id, self.name, error)
            return mapping.put_off(record), Release()
        return reservation, Bury(error)

    def _end_unreadable(self, unreadable: list[tuple[core.BareReservation, Settlement]]) -> None:
        refused = {one.receipt for one in self.settle(unreadable)}
        for reservation, settlement in unreadable:
            message = reservation.message
            if isinstance(settlement, Bury) and reservation.receipt not in refused:
                self._tell_buried(message.id, message.key, message.attempts, str(settlement.reason))
        if any(reservation.message.kind not in self._known for reservation, _ in unreadable):
            self._meet_unknown()

    @contextmanager
    def reserving(self, *, lease: timedelta | None = None) -> Iterator[Message[P] | None]:
        """Reserve the next due message for the duration of a block: `with queue.reserving() as message:`.

        The end of the block commits it. An exception rolls it back by the queue's policy and is raised again (`Retry`
        and `Bury` end the turn as they say and are not raised again). The message is None when nothing is due.
        """
        reservation = self.reserve(lease=lease)
        if reservation is None:
            yield None
            return
        try:
            yield reservation.message
        except (Retry, Bury) as wish:
            self._settle_one(reservation, decide(reservation.message, wish, self.retry))
        except BaseException as error:
            self._settle_one(reservation, decide(reservation.message, error, self.retry))
            raise
        else:
            self.commit(reservation)

    # Settle.

    def commit(
        self, reservation: core.BareReservation, *, payload: Any = UNSET, then: Sequence[Draft] = (), within: Any = None
    ) -> None:
        """End the turn: the message is done and leaves the queue.

        Args:
            reservation: the result of `reserve`.
            payload: what the queue's history keeps instead of the payload; an error if the queue has no history.
            then: messages to push in the same transaction; each names its `queue`.
            within: the caller's open transaction.

        Raises:
            LeaseLost: the message was already taken over, changed, removed or settled; nothing was changed.
            ConfigurationError: the reservation is from another queue or another database.
            StoreUnavailable: with outcome "unknown", if the connection broke and the message is no longer ours.
        """
        if not isinstance(then, Iterable):
            raise ConfigurationError(f"then= takes a list of Drafts, not {type(then).__name__}")
        self._settle_one(reservation, Commit(payload, tuple(then)), within)

    def rollback(
        self,
        reservation: core.BareReservation,
        *,
        delay: timedelta | None = None,
        error: BaseException | Failure | str | None = None,
        within: Any = None,
    ) -> None:
        """End the turn as failed: the message is due again after a delay, with the error recorded.

        Args:
            reservation: the result of `reserve`.
            delay: how long until it is due; None: the queue's policy decides, and buries it after its last attempt.
            error: why it failed.
            within: the caller's open transaction.

        Raises:
            LeaseLost: as in `commit`.
        """
        self._check_lent(reservation)
        settlement = decide(reservation.message, Rollback(delay, error), self.retry)
        self._settle_one(reservation, settlement, within)

    def bury(
        self, reservation: core.BareReservation, reason: str | Failure | BaseException, *, within: Any = None
    ) -> None:
        """End the turn: the message is dead and kept for inspection, with the reason. LeaseLost as in `commit`."""
        self._settle_one(reservation, Bury(reason), within)

    def release(self, reservation: core.BareReservation, *, within: Any = None) -> None:
        """Give back a message that was not started: same due time, place and attempts. LeaseLost as in `commit`."""
        self._settle_one(reservation, Release(), within)

    def move(
        self,
        reservation: core.BareReservation,
        to: str,
        payload: Any = UNSET,
        *,
        within: Any = None,
        **options: Unpack[MoveOptions],
    ) -> None:
        """End the turn by moving the message to another queue, in one write.

        Args:
            reservation: the result of `reserve`.
            to: the queue to move it to.
            payload: the new payload; omitted: unchanged; None: JSON null.
            within: the caller's open transaction.
            options: by name, as in `Move`: patch, key, headers, due, delay, on_duplicate, group, priority.

        Raises:
            LeaseLost: as in `commit`.
            DuplicateKey: the key is live in the target and `on_duplicate` is "reject"; the lease continues.
        """
        self._settle_one(reservation, Move(to, payload, **options), within)

    def extend(
        self, reservation: core.BareReservation[P], lease: timedelta | None = None, *, within: Any = None
    ) -> Reservation[P]:
        """Extend the lease until now + lease; return the reservation with its new end. LeaseLost as in `commit`."""
        self._check_lent(reservation)
        span = self._lease(lease)
        receipt = reservation.receipt
        ends = self.database.run(lambda: self._store.extend([receipt], span), within)
        if receipt not in ends:
            raise LeaseLost(receipt.id, reservation.until)
        return Reservation(reservation.message, ends[receipt], self, sealed=reservation.sealed)

    def commit_many(self, reservations: Iterable[core.BareReservation], *, within: Any = None) -> list[Refused]:
        """Like `commit`, in one statement; return those that were refused, each with its error."""
        return self.settle([(reservation, DONE) for reservation in _each(reservations)], within=within)

    def rollback_many(
        self,
        reservations: Iterable[core.BareReservation],
        *,
        delay: timedelta | None = None,
        error: BaseException | Failure | str | None = None,
        within: Any = None,
    ) -> list[Refused]:
        """Like `rollback`, in one statement; return those that were refused, each with its error."""
        wish = Rollback(delay, error)
        return self.settle(
            [(one, decide(one.message, wish, self.retry)) for one in self._lent(reservations)], within=within
        )

    def bury_many(
        self, reservations: Iterable[core.BareReservation], reason: str | Failure | BaseException, *, within: Any = None
    ) -> list[Refused]:
        """Like `bury`, in one statement; return those that were refused, each with its error."""
        return self.settle([(reservation, Bury(reason)) for reservation in _each(reservations)], within=within)

    def release_many(self, reservations: Iterable[core.BareReservation], *, within: Any = None) -> list[Refused]:
        """Like `release`, in one statement; return those that were refused, each with its error."""
        return self.settle([(reservation, Release()) for reservation in _each(reservations)], within=within)

    def move_many(
        self,
        reservations: Iterable[core.BareReservation],
        to: str,
        payload: Any = UNSET,
        *,
        within: Any = None,
        **options: Unpack[MoveOptions],
    ) -> list[Refused]:
        """Like `move`, in one statement; return those that were refused, each with its error."""
        move = Move(to, payload, **options)
        return self.settle([(reservation, move) for reservation in _each(reservations)], within=within)

    def extend_many(
        self, reservations: Iterable[core.BareReservation], lease: timedelta | None = None, *, within: Any = None
    ) -> list[Refused]:
        """Extend the leases until now + lease; return those that were refused, each with its error."""
        span = self._lease(lease)
        untils = {reservation.receipt: reservation.until for reservation in self._lent(reservations)}
        if not untils:
            return []
        ends = self.database.run(lambda: self._store.extend(list(untils), span), within)
        return [Refused(receipt, LeaseLost(receipt.id, untils[receipt])) for receipt in untils if receipt not in ends]

    def settle(self, pairs: Iterable[tuple[core.BareReservation, Settlement]], *, within: Any = None) -> list[Refused]:
        """End many turns, each in its own way, in one transaction where the store has transactions.

        Returns those that were refused, each with its error: LeaseLost, the DuplicateKey of a move, or the reason why
        a settlement cannot be carried out. The others are settled.

        Raises:
            ConfigurationError: a reservation is from another queue or another database; nothing was settled.
            StoreUnavailable: with outcome "unknown", if the connection broke and a message is no longer ours.
        """
        refused: list[Refused] = []
        turns: list[Turn] = []
        others: list[tuple[core.BareReservation, Settlement]] = []
        letters = self._dead_letter()
        for pair in edits.each_of(pairs, _PAIRS):
            try:
                reservation, settlement = pair
            except (TypeError, ValueError) as error:
                raise ConfigurationError(f"{_PAIRS}, and a {type(pair).__name__} is none") from error
            if type(reservation) is not Reservation or reservation.queue is not self:
                self._check_lent(reservation)
            if settlement is DONE:
                turns.append(mapping.done(reservation.message))
                continue
            others.append((reservation, settlement))
            try:
                turns.append(mapping.turn(reservation, settlement, letters, self._payloads, self._history_bytes))
            except DuerowError as error:
                refused.append(Refused(reservation.receipt, error))
        number = len(turns) + len(refused)
        if turns:
            refused += self._settle(turns, within)
        if within is None:
            self.database.meter.ended(self.name, number, others, refused)
        return refused

    def _check_lent(self, reservation: object) -> None:
        """Raise ConfigurationError unless it is a reservation of this queue, made by any handle."""
        if type(reservation) is not Reservation or reservation.queue is not self:
            mapping.check_lent(reservation, self.name, self.database.connections.place)

    def _lent(self, reservations: Iterable[core.BareReservation]) -> Iterator[core.BareReservation]:
        """Yield each reservation after checking that it is of this queue."""
        for reservation in _each(reservations):
            self._check_lent(reservation)
            yield reservation

    def _settle_one(self, reservation: core.BareReservation, settlement: Settlement, within: Any = None) -> None:
        self._check_lent(reservation)
        turn = mapping.turn(reservation, settlement, self._dead_letter(), self._payloads, self._history_bytes)
        refused = self._settle([turn], within)
        if within is None and not refused:
            self.database.meter.ended(self.name, 1, [(reservation, settlement)])
        if refused:
            error = refused[0].error
            raise LeaseLost(error.message_id, reservation.until) if isinstance(error, LeaseLost) else error

    def _settle(self, turns: list[Turn], within: Any) -> list[Refused]:
        """End turns; if the database refuses one of them, end the others in transactions of their own."""
        try:
            return self._settle_together(turns, within)
        except DuerowError as error:
            if within is not None or not error.of_row:
                raise
        return refusals.in_order(self._settle_apart(turns), turns)

    def _settle_apart(self, turns: list[Turn]) -> list[Refused]:
        """Settle without writing counts; halve a refused batch until the turn at fault stands alone."""
        try:
            return self._settle_only(turns, None)
        except DuerowError as error:
            if not error.of_row:
                raise
            if len(turns) == 1:
                return [refusals.of_one(turns[0], error)]
        first, second = refusals.halves(turns)
        return self._settle_apart(first) + self._settle_apart(second)

    def _settle_only(self, turns: list[Turn], within: Any) -> list[Refused]:
        return self.database.run(lambda: self._store.settle(turns, self.keeping), within, len(turns))

    def _settle_together(self, turns: list[Turn], within: Any) -> list[Refused]:
        try:
            if within is None and self.database.meter.due() and self._store.capabilities.transactions:
                return self._settle_and_write_counts(turns)
            return self._settle_only(turns, within)
        except StoreUnavailable as broken:
            if within is not None or isinstance(broken, Conflict):
                raise
            return self._settle_again(turns, broken)

    def _settle_and_write_counts(self, turns: list[Turn]) -> list[Refused]:
        """Settle, and write the counts gathered so far in the same transaction: one commit for both."""
        meter = self.database.meter

        def settle() -> Plan[list[Refused]]:
            yield BEGIN
            refused = yield from self._store.settle(turns, self.keeping)
            if rows:
                yield from self._store.note_counts(meter.process, rows)
            return refused

        with meter.writing() as rows:
            return self.database.run(settle)

    def _settle_again(self, turns: list[Turn], broken: StoreUnavailable) -> list[Refused]:
        """Settle again after a lost answer: turns that still carry our token were not settled; the rest are unknown."""
        query = Query(self.name, ids=tuple(turn.receipt.id for turn in turns), by_id=True, limit=len(turns))
        try:
            records = self.database.run(lambda: self._store.find(query))
        except StoreUnavailable:
            raise broken from broken.__cause__
        kept = {Receipt(record.id, record.token) for record in records}
        ours = [turn for turn in turns if turn.receipt in kept]
        refused = self.database.run(lambda: self._store.settle(ours, self.keeping)) if ours else []
        # A lease lost only now: the first try did take effect, between the query and the second try.
        lost = {one.receipt for one in refused if isinstance(one.error, LeaseLost)}
        unsure = [str(turn.receipt.id) for turn in turns if turn.receipt not in kept or turn.receipt in lost]
        if unsure:
            raise StoreUnavailable(
                f"the connection broke while messages {', '.join(unsure[:20])} of queue {self.name!r} were settled; "
                "they are no longer ours, so they were most likely settled",
                outcome="unknown",
            ) from broken
        return refused

    # Dead letters.

    def redrive(
        self,
        limit: int | None = None,
        *,
        where: str | Condition | None = None,
        rate: float | None = None,
        on_duplicate: OnDuplicate = "reject",
        dry_run: bool = False,
    ) -> Redriven:
        """Bring dead letters back, each with its key, as if newly pushed: attempts 0, due now.

        On a queue, this redrives its own dead letters: those due in its dead-letter queue, and those that stayed here
        as dead. On a dead-letter queue, it returns each due message to the queue that it came from. It works in
        batches, one transaction per batch.

        Args:
            limit: the most to redrive; None: all that are there now.
            where: only dead letters that meet this condition where they are now:
                `headers."dead-letter-reason" like 'TimeoutError%'`.
            rate: the most per second; None: as fast as possible.
            on_duplicate: what to do when a live message has the key by now. "reject" leaves the dead letter where it
                is. The others work as in `move`: "ignore" keeps the live message as it is, "replace" gives it the dead
                letter's content, "earliest" makes it due now; the dead letter is then gone, and counts as redriven.
            dry_run: change nothing, only count.

        Raises:
            ConfigurationError: `limit` is not a positive integer, or `rate` not a positive number.
            InvalidCondition: the condition cannot be parsed.
            NotSupported: `on_duplicate` would change two messages together, which the store cannot do.
        """
        most = None if limit is None else edits.how_many(limit)
        pace = Throttle(rate, redriving.BATCH)
        mode = check_on_duplicate(on_duplicate)
        condition = None if where is None else as_condition(where)
        self._check_redrive(mode)
        done, given = Redriven(), frozenset[redriving.Place]()
        for dead in self._dead_ones(condition, mode):
            previous: edits.EditBatch | None = None
            while most is None or done.count < most:
                many = pace.batch(most, done.count)
                batch = self.database.run(partial(dead.batch, self._store, many, previous, given, dry_run))
                done, given, previous = done + batch.done, batch.given, batch.place
                if previous.last is None:
                    break
                if not dry_run:
                    time.sleep(pace.pause(batch.done.count))
        return done

    def _check_redrive(self, mode: OnDuplicate) -> None:
        if mode in ("replace", "earliest") and not self._store.capabilities.transactions:
            raise NotSupported(
                f"a redrive with {mode!r} changes two messages together, which this store cannot; say ",
                Argument("on_duplicate", "reject"),
                " or 'ignore'",
            )

    def _dead_ones(self, where: Condition | None, mode: OnDuplicate) -> list[redriving.Dead]:
        """Return the places where a redrive of this queue looks for dead letters."""
        stayed = redriving.Stayed(self.name, where, mode, self.keeping, self.indexed)
        if self.dead_letter is not None:
            return [redriving.Away(self.dead_letter, self.name, where, mode, None), stayed]
        if self._takes_dead_letters():
            return [redriving.Away(self.name, None, where, mode, self.keeping), stayed]
        return [stayed]

    def _takes_dead_letters(self) -> bool:
        """Return whether this is a dead-letter queue: by what is declared, else by its first messages.

        Messages of any other queue are left alone: no dead letters are looked for among them.
        """
        if self.database.is_dead_letter_queue(self.name):
            return True
        first = self.database.run(lambda: self._store.find(Query(self.name, limit=redriving.BATCH)))
        sources = (mapping.readable(record, AS_STORED).headers.get(dead_letter_headers.FROM) for record in first)
        return any(source not in (None, self.name) for source in sources)

    def _dead_letter(self) -> mapping.DeadLetter | None:
        if self.dead_letter is None:
            return None
        return mapping.DeadLetter(self.dead_letter, self.database.host_time())

    @property
    def _history_bytes(self) -> int | None:
        """How large a payload may be in the history; None: the queue has no history."""
        return self.max_payload_bytes if self.keeping is not None and self.keeping.history is not None else None

    def _lease(self, lease: timedelta | None) -> timedelta:
        return self.lease if lease is None else check_span("lease", lease, SHORTEST_LEASE)


def _each(reservations: Iterable[core.BareReservation]) -> Iterator[core.BareReservation]:
    return edits.each_of(reservations, "what ends many turns takes a list of reservations")


def _declared(payload: type[P] | None, upgrades: Upgrades | None) -> Declared[P] | None:
    if payload is None:
        if upgrades:
            raise ConfigurationError("upgrades make payloads of the declared type of others: say payload=… as well")
        return None
    return Declared(payload, upgrades)
