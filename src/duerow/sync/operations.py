# Generated from ../aio/operations.py by tools/generate_sync.py; edit that file instead.
"""Operations on a queue: show its statistics, explain why a message is not running, pause it, empty it."""

from __future__ import annotations

from typing import Final

from duerow.errors import ConfigurationError, InvalidMessage
from duerow.errors import shown as briefly
from duerow.message import check_key
from duerow.phrases import Argument
from duerow.plan import Plan
from duerow.queue import mapping
from duerow.queue.counts import CAP
from duerow.queue.edits import one_id, one_of
from duerow.queue.stats import Minute, Reason, Stats, minutes, reasons, work
from duerow.store import Counters, Order, Query, QueueStats
from duerow.sync.handle import P, QueueHandle

PURGE_BATCH: Final = 1_000
"""How many messages a purge removes in one transaction."""


class Operations(QueueHandle[P]):
    """The part of a queue for operators; see `Queue`."""

    def stats(self, *, exact: bool = False) -> Stats:
        """Return the state of the queue: how many messages are ready, delayed, leased, waiting, stopped and dead.

        The result also has the rates, totals and times of work done. Every process counts its own work, so work that
        other processes did in the last ten seconds may be missing. Settlements in the caller's transaction are not
        counted. A message of a group counts as ready until it is found to wait for others.

        Args:
            exact: count all; by default, count up to 10,000 of each, so that the call never takes long.
        """
        cap = None if exact else CAP + 1
        store = self.database.store

        def look() -> Plan[tuple[QueueStats, Counters]]:
            standing = yield from store.operations.queue_stats(self.name, cap)
            return standing, (yield from store.counters.read(self.name))

        standing, counters = self.database.run(look)
        done = work(counters, self.database.metrics.unwritten(self.name))
        names = ("ready", "delayed", "leased", "waiting", "stopped", "dead")
        numbers = {name: getattr(standing, name) for name in names}
        capped = frozenset() if exact else frozenset(name for name in names if numbers[name] > CAP)
        shown = {name: CAP if name in capped else number for name, number in numbers.items()}
        return Stats(
            self.name,
            **shown,
            oldest_due_at=standing.oldest_due_at,
            next_due_at=standing.next_due_at,
            paused=standing.paused,
            capped=capped,
            rates=done.rates,
            lifetime=done.lifetime,
            waiting_time=done.waiting_time,
            handling_time=done.handling_time,
        )

    def minutes(self) -> list[Minute]:
        """Return the work done on the queue in each minute of the last hour, the oldest first.

        Minutes in which nothing was done are left out. Every process writes its counts every ten seconds, so the last
        ten seconds may be missing.
        """
        return minutes(self.database.run(lambda: self.database.store.counters.read(self.name)))

    def why(self, id: int | None = None, *, key: str | None = None) -> list[Reason]:
        """Return why a message is not running: every reason that applies, as a code and a sentence.

        Codes: ready, not-due, stopped, paused, group-blocked, leased, limit, unknown-kind, no-consumer, unreachable,
        done, dead.

        Args:
            id: the message's id.
            key: the key of a live message, instead of the id.

        Raises:
            ConfigurationError: not exactly one of id and key was given, or the id is not valid.
            InvalidMessage: the queue has no such message.
        """
        if (id is None) == (key is None):
            raise ConfigurationError("give either an id or a key: ", *one_of({"id": id, "key": key}))
        chosen, checked = None if id is None else one_id(id), check_key(key)
        seen = self.database.run(lambda: self.database.store.operations.inspect(self.name, chosen, checked))
        if seen is None:
            which = f"message with id {id}" if key is None else f"live message with key {key!r}"
            raise InvalidMessage(f"queue {self.name!r} has no {which}; it may be done, moved or removed")
        return reasons(seen, mapping.readable(seen.record), self.retry.limit)

    def pause(self) -> None:
        """Stop handing out messages; other processes follow within a second. Leased messages can still be settled."""
        self.database.run(lambda: self.database.store.metadata.put_settings(self.name, paused=True))

    def resume(self) -> None:
        """Hand out and accept messages again: ends `pause` and `drain`."""
        self.database.run(lambda: self.database.store.metadata.put_settings(self.name, paused=False, draining=False))

    def purge(self, confirm: str) -> int:
        """Remove all messages from the queue in batches, including leased and dead ones; return how many.

        Messages pushed in the meantime stay, so that the purge ends.

        Args:
            confirm: the queue's name again, to prevent a purge by mistake.

        Raises:
            ConfigurationError: `confirm` is not the queue's name; nothing was changed.
        """
        if confirm != self.name:
            raise ConfigurationError(
                f"purge removes all messages from queue {self.name!r}; to confirm, give its name with ",
                Argument("confirm"),
                f", not {briefly(confirm)}",
            )
        store, gone = self.database.store, 0
        newest = self.database.run(lambda: store.messages.find(Query(self.name, order=Order(descending=True), limit=1)))
        last = newest[0].id if newest else 0
        while some := self.database.run(lambda: store.operations.purge(self.name, PURGE_BATCH, last)):
            gone += some
        return gone
