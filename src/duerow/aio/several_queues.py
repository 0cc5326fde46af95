"""Several queues of one database, as a worker sees them: claims take turns; messages are settled in their queues."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from duerow import reservation as core
from duerow.aio.limits import read_limits
from duerow.aio.queue import Queue
from duerow.aio.reservation import Reservation
from duerow.errors import StoreUnavailable
from duerow.queue.limits import RunLimits
from duerow.settlement import Settlement
from duerow.store import Refused
from duerow.worker.several_queues import Round


class SeveralQueues:
    """What a worker needs of a queue, for several queues at once."""

    locked_while_handled = False

    def __init__(self, queues: Sequence[Queue], mixed: bool) -> None:
        self.database = queues[0].database
        self.name = ", ".join(queue.name for queue in queues)
        self._by_name = {queue.name: queue for queue in queues}
        self._round = Round(queues, mixed)

    @property
    def names(self) -> tuple[str, ...]:
        """The queues that a worker of these consumes."""
        return tuple(self._by_name)

    @property
    def kinds_of(self) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        """Like Queue.kinds_of; queues of the same kinds are grouped."""
        names: dict[tuple[str, ...], tuple[str, ...]] = {}
        for name, queue in self._by_name.items():
            names[queue.kinds] = (*names.get(queue.kinds, ()), name)
        return {queues: kinds for kinds, queues in names.items()}

    @property
    def only(self) -> Mapping[str, Collection[str]]:
        """Like Queue.only, for all queues together."""
        return {name: kinds for queue in self._by_name.values() for name, kinds in queue.only.items()}

    @property
    def unknown(self) -> Mapping[str, Mapping[str, int]]:
        """Like Queue.unknown, for all queues together."""
        return {name: kinds for queue in self._by_name.values() for name, kinds in queue.unknown.items()}

    async def look_for_unknown(self) -> None:
        """Like Queue.look_for_unknown, for each queue."""
        for queue in self._by_name.values():
            await queue.look_for_unknown()

    async def limits(self) -> RunLimits:
        """Like Queue.limits: the strictest limits of all queues."""
        return await read_limits(self.database, self.names)

    async def tell_differences(self) -> None:
        """Like Queue.tell_differences, for each queue."""
        for queue in self._by_name.values():
            await queue.tell_differences()

    async def reserve_many(self, n: int, *, consumer: str, exact: bool) -> list[Reservation]:
        """Reserve up to n due messages, as many from each queue as it has and as the other queues leave room for.

        If the database fails after some have been reserved, return those: they must not wait until their leases end.
        """
        reserved: dict[str, list[Reservation]] = {}
        for share in self._round.share(n):
            try:
                found = await share.queue.reserve_many(share.limit, consumer=consumer, exact=exact)
            except StoreUnavailable:
                if not any(reserved.values()):
                    raise
                break
            share.given = len(found)
            reserved.setdefault(share.queue.name, []).extend(found)
        return self._round.in_line(list(reserved.values()))

    async def settle(
        self, pairs: Iterable[tuple[core.BareReservation, Settlement]], *, within: Any = None
    ) -> list[Refused]:
        """End turns, one transaction per queue; return the refused ones."""
        parts: dict[str, list[tuple[core.BareReservation, Settlement]]] = {}
        for pair in pairs:
            parts.setdefault(pair[0].message.queue, []).append(pair)
        return [one for name, part in parts.items() for one in await self._by_name[name].settle(part, within=within)]

    async def extend_many(self, reservations: Iterable[core.BareReservation]) -> list[Refused]:
        """Extend leases until now + the lease of each message's queue; return the refused ones."""
        parts: dict[str, list[core.BareReservation]] = {}
        for reservation in reservations:
            parts.setdefault(reservation.message.queue, []).append(reservation)
        return [one for name, part in parts.items() for one in await self._by_name[name].extend_many(part)]
