"""Limits that operators set for a queue while its workers run."""

from __future__ import annotations

from collections.abc import Sequence

from duerow.aio.executor import Executor
from duerow.aio.handle import P, QueueHandle
from duerow.aio.own_messages import OwnMessages
from duerow.clock import NEVER
from duerow.queue import limits
from duerow.queue.limits import LIMITS, NONE, RunLimits
from duerow.worker.budget import Rate


class LimitsOfQueue(QueueHandle[P]):
    """The part of a queue that limits what its workers do; see `Queue`."""

    async def limits(self) -> RunLimits:
        """Return the limits that `limit` has set for the queue's workers."""
        return await read_limits(self.database, [self.name])

    async def limit(
        self,
        *,
        concurrency: int | None = None,
        cluster_concurrency: int | None = None,
        rate: Rate | None = None,
    ) -> RunLimits:
        """Limit what workers of the queue do, including running ones: each worker reads the limits every ten seconds.

        The new limits replace the old ones. Without arguments, each worker has only the limits that it was started
        with. A worker of several queues applies the strictest of their limits.

        Args:
            concurrency: how many handlers each worker runs at once, instead of as many as it was started with; child
                processes are started and ended accordingly. On SQLite, one transactional handler runs at a time.
            cluster_concurrency: how many handlers run at once in all workers that were started with a
                `cluster_concurrency`, instead of that number.
            rate: the maximum number of messages that each worker starts in any span of time, and the length of that
                span, such as `(100, timedelta(minutes=1))`; each worker's own rate also applies.

        Raises:
            ConfigurationError: a limit is out of bounds (InvalidMessage: the span of the rate).
        """
        wanted = limits.checked(concurrency, cluster_concurrency, rate)
        await write_limits(self.database, self.name, wanted)
        return wanted


async def write_limits(database: Executor, name: str, wanted: RunLimits) -> None:
    """Replace the limits of a queue."""
    stored = OwnMessages(database, LIMITS)
    if wanted == NONE:
        await stored.remove(name)
    else:
        await stored.push([stored.entry(name, limits.payload_of(wanted), NEVER)], "replace")


async def read_limits(database: Executor, names: Sequence[str]) -> RunLimits:
    """Return the strictest limits of these queues."""
    return limits.strictest((await read_limits_of_each(database, names)).values())


async def read_limits_of_each(database: Executor, names: Sequence[str]) -> dict[str, RunLimits]:
    """Return the limits of each of these queues; queues without limits are left out."""
    stored = await OwnMessages(database, LIMITS).read(names)
    return {name: limits.limits_of(one) for name, one in stored.items()}
