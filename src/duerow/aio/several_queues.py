"""Several queues of one database, as a worker sees them: claims go round, settlements where the messages came from."""

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
    """What a worker asks of a queue, of several at once."""

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
        """As Queue.kinds_of, the queues of the same kinds together."""
        names: dict[tuple[str, ...], tuple[str, ...]] = {}
        for name, queue in self._by_name.items():
            names[queue.kinds] = (*names.get(queue.kinds, ()), name)
        return {queues: kinds for kinds, queues in names.items()}

    @property
    def only(self) -> Mapping[str, Collection[str]]:
        """As Queue.only, of all."""
        return {name: kinds for queue in self._by_name.values() for name, kinds in queue.only.items()}

    @property
    def unknown(self) -> Mapping[str, Mapping[str, int]]:
        """As Queue.unknown, of all."""
        return {name: kinds for queue in self._by_name.values() for name, kinds in queue.unknown.items()}

    async def look_for_unknown(self) -> None:
        """As Queue.look_for_unknown, of each."""
        for queue in self._by_name.values():
            await queue.look_for_unknown()

    async def limits(self) -> RunLimits:
        """As Queue.limits, the strictest of all."""
        return await read_limits(self.database, self.names)

    async def tell_differences(self) -> None:
        """As Queue.tell_differences, of each."""
        for queue in self._by_name.values():
            await queue.tell_differences()

    async def reserve_many(self, n: int, *, consumer: str) -> list[Reservation]:
        """Lend up to n due messages, as many of each queue as it has and the others leave.

        Where the database fails once some are lent, those are all: they must not wait for the end of their leases.
        """
        reserved: dict[str, list[Reservation]] = {}
        for share in self._round.share(n):
            try:
                found = await share.queue.reserve_many(share.limit, consumer=consumer)
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
        """End turns, those of each queue in one transaction; return the refused ones."""
        parts: dict[str, list[tuple[core.BareReservation, Settlement]]] = {}
        for pair in pairs:
            parts.setdefault(pair[0].message.queue, []).append(pair)
        return [one for name, part in parts.items() for one in await self._by_name[name].settle(part, within=within)]

    async def extend_many(self, reservations: Iterable[core.BareReservation]) -> list[Refused]:
        """Let leases go on, each as long as its queue's; return the refused ones."""
        parts: dict[str, list[core.BareReservation]] = {}
        for reservation in reservations:
            parts.setdefault(reservation.message.queue, []).append(reservation)
        return [one for name, part in parts.items() for one in await self._by_name[name].extend_many(part)]
