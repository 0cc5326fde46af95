# Generated from ../aio/reserve.py by tools/generate_sync.py; edit that file instead.
"""Reserve messages from a queue: decode the claimed messages, and end the turns of those that cannot be read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Final

from duerow import reservation as core
from duerow.errors import CodecError, KeyMissing, NotSupported, StoreUnavailable
from duerow.message import Message
from duerow.payload.encoding import sealed_of
from duerow.plan import Plan
from duerow.queue import edits, mapping
from duerow.settlement import Bury, Release, Settlement
from duerow.store import Record, Refused, Reserved, Turn
from duerow.store.consumer_id import check_consumer, new_claim
from duerow.sync import offload
from duerow.sync.handle import P
from duerow.sync.reservation import Reservation
from duerow.sync.settle import QueueSettlements
from duerow.sync.unknown_kinds import UnknownKinds

LOG: Final = logging.getLogger("duerow.queue")

MOST_PUT_OFF: Final = 100
"""How many messages with missing keys one call postpones: a consumer without keys must not go through a whole queue."""


class Reservations(QueueSettlements[P], UnknownKinds[P]):
    """The part of a queue that hands out messages for a while; see `Queue`."""

    def reserve(self, *, lease: timedelta | None = None, within: Any = None) -> Reservation[P] | None:
        """Reserve the next due message for this consumer until now + lease; None when nothing is due."""
        reservations = self.reserve_many(1, lease=lease, within=within)
        return reservations[0] if reservations else None

    def reserve_many(
        self,
        n: int,
        *,
        lease: timedelta | None = None,
        consumer: str | None = None,
        within: Any = None,
        exact: bool = True,
    ) -> list[Reservation[P]]:
        """Reserve up to n due messages until now + lease, oldest first; no message goes to two consumers.

        A message is buried instead if it cannot be decoded, or if the lease of its last allowed attempt ran out. A
        message of a kind that this handle does not know is left unchanged for consumers that know it. A message whose
        encryption key is missing here is put off until the lease would have ended, with no attempt counted.

        Args:
            n: the maximum number to reserve.
            lease: how long; default: the queue's lease.
            consumer: the consumer that takes them, as host:pid:worker/claim; default: a new claim of this process.
            within: refused.
            exact: whether an empty answer means that nothing was due. On PostgreSQL, if another session has kept a
                snapshot for long, it can take seconds to look for a message that became due in the past. A loop that
                asks again soon can pass False: such looks then take 5 percent of the time, and the message is found
                within a minute.

        Raises:
            NotSupported: `within` was given; a lease that no other consumer can see protects nothing.
        """
        if within is not None:
            raise NotSupported("reserve(within=…) would take a lease that no one else can see; use pop(within=…)")
        limit, span = edits.how_many(n), self._lease(lease)
        claim = new_claim() if consumer is None else check_consumer(consumer)
        self._leave_own()
        reservations: list[Reservation[P]] = []
        put_off = 0
        while len(reservations) < limit and put_off < MOST_PUT_OFF:
            wanted = limit - len(reservations)
            try:
                reserved = self.database.claim(
                    lambda apart, wanted=wanted: self._store.messages.reserve(  # type: ignore[misc]
                        self.name,
                        wanted,
                        span,
                        self.retry.limit,
                        claim,
                        self.dead_letter,
                        self.keeping,
                        self._only,
                        apart,
                        exact,
                    ),
                    None,
                    wanted,
                )
                more = self._received(reserved, reservations)
            except StoreUnavailable:
                if not reservations:
                    raise
                break  # the caller must get what is already reserved; a lasting failure will occur again
            if more is None:
                break
            put_off += more
        return reservations

    def settle_and_reserve(
        self,
        pairs: Iterable[tuple[core.BareReservation, Settlement]],
        n: int,
        *,
        lease: timedelta | None = None,
        consumer: str | None = None,
    ) -> tuple[list[Refused], list[Reservation[P]]]:
        """End many turns as `settle` does, then reserve up to n messages as `reserve_many` does.

        For loops that handle messages in batches. On SQLite, both are done in one transaction. On other SQL databases,
        commits and a claim are, if messages are in no groups and have one priority, and the queue has no history,
        remembers no keys and has no dead-letter queue; psycopg then sends both in one round trip.

        Args:
            pairs: each reservation with its settlement; may be empty.
            n: the maximum number of messages to reserve.
            lease: how long; default: the queue's lease.
            consumer: the consumer that takes them, as in `reserve_many`.

        Returns:
            The turns that were refused, and the new reservations; none if nothing is due.

        Raises:
            ConfigurationError: as `settle` does; nothing was settled or reserved.
            StoreUnavailable: as `settle` and `reserve_many` do. If only the claim fails, the turns have ended.
        """
        limit, span = edits.how_many(n), self._lease(lease)
        claim = new_claim() if consumer is None else check_consumer(consumer)
        self._leave_own()
        refused, reservations = self._settle_and_claim(pairs, limit, span, claim)
        return refused, reservations or self.reserve_many(limit, lease=span, consumer=claim)

    @property
    def _in_one_go(self) -> Callable[..., Plan[tuple[list[Refused], Reserved] | None]] | None:
        """SettlesAndReserves.settle_and_reserve of this queue's store, if it has that; for workers."""
        return getattr(self._store.messages, "settle_and_reserve", None)

    def _settle_and_claim(
        self, pairs: Iterable[tuple[core.BareReservation, Settlement]], limit: int, lease: timedelta, claim: str
    ) -> tuple[list[Refused], list[Reservation[P]] | None]:
        """End turns, and claim messages if that can be done at the same time; None: it cannot. For workers."""
        in_one_go, reserved = self._in_one_go, None

        def settle(turns: list[Turn]) -> Plan[tuple[list[Refused], Reserved] | None]:
            assert in_one_go is not None  # noqa: S101 - see `write`
            terms = (self.retry.limit, claim, self.dead_letter, self.keeping, self._only)
            return in_one_go(turns, self.name, limit, lease, *terms)

        def write(turns: list[Turn]) -> list[Refused]:
            nonlocal reserved
            if in_one_go is None:
                return self._turns.writer.write(turns, None)
            refused, reserved = self._turns.writer.write_and_claim(turns, settle)
            return refused

        refused = self._turns.settle(pairs, write=write)
        return refused, None if reserved is None else self._reserved_along(reserved)

    def _reserved_along(self, reserved: Reserved) -> list[Reservation[P]]:
        reservations: list[Reservation[P]] = []
        # The turns have ended, which the caller must learn; the leases of what cannot be buried will end, too.
        with suppress(StoreUnavailable):
            self._received(reserved, reservations)
        return reservations

    def _received(self, reserved: Reserved, reservations: list[Reservation[P]]) -> int | None:
        """Add what a claim returned to the reservations, and end the turns of messages that cannot be read here.

        Returns how many of those were put off; None if there are none.
        """
        records = reserved.records
        self.database.metrics.claimed(self.name, records)
        if reserved.buried:
            self._given_up(reserved.buried)
        readable, unreadable = offload.done(lambda: self._read(records), len(records))
        reservations += readable
        if not unreadable:
            return None
        self._end_unreadable(unreadable)
        return sum(self.knows_kind(one.message.kind) for one, end in unreadable if isinstance(end, Release))

    def _read(
        self, records: list[Record]
    ) -> tuple[list[Reservation[P]], list[tuple[core.BareReservation, Settlement]]]:
        readable: list[Reservation[P]] = []
        unreadable: list[tuple[core.BareReservation, Settlement]] = []
        payloads, encrypted = self._payloads, self.database.encryption is not None  # otherwise nobody reads `sealed`
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
        if not self.knows_kind(record.kind):
            return reservation, Release()
        if isinstance(error, KeyMissing):
            named = {"event": "postponed", "queue": self.name, "message_id": record.id}
            LOG.warning("message %d of %s is postponed: %s", record.id, self.name, error, extra=named)
            return mapping.put_off(record), Release()
        return reservation, Bury(error)

    def _end_unreadable(self, unreadable: list[tuple[core.BareReservation, Settlement]]) -> None:
        refused = {one.receipt for one in self.settle(unreadable)}
        for reservation, settlement in unreadable:
            message = reservation.message
            if isinstance(settlement, Bury) and reservation.receipt not in refused:
                self._tell_buried(message.id, message.key, message.attempts, str(settlement.reason))
        if any(not self.knows_kind(reservation.message.kind) for reservation, _ in unreadable):
            self._found_unknown()

    @contextmanager
    def reserving(self, *, lease: timedelta | None = None) -> Iterator[Message[P] | None]:
        """Reserve the next due message for the duration of a block: `with queue.reserving() as message:`.

        When the block ends normally, the message is committed. An exception rolls it back according to the queue's
        policy and is raised again (`Retry` and `Bury` end the turn accordingly and are not raised again). The message
        is None when nothing is due.
        """
        reservation = self.reserve(lease=lease)
        if reservation is None:
            yield None
            return
        try:
            yield reservation.message
        except BaseException as error:
            if not self._turns.end_by(reservation, error):
                raise
        else:
            self.commit(reservation)
