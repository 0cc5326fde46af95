"""What all plans share: the time, the names of collections, what the server can do, and what is said of queues."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from duerow.clock import Clock
from duerow.errors import NotSupported, QueueDraining
from duerow.plan import Plan
from duerow.store import Capabilities, Entry, QueueSettings, Retention
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import CollectionNames
from duerow.stores.mongodb.unit_of_work import UnitOfWork

CLOCK_GOOD_FOR: Final = 60.0
"""Seconds for which a sample of the server's clock is carried on by this process's steady one."""

SAID_GOOD_FOR: Final = 0.25
"""Seconds for which it is believed that a queue still takes messages and hands them out."""

NEEDS: Final = (
    "needs a transaction, which MongoDB has on a replica set or a sharded cluster (one member is enough); this server "
    "is neither, or transactions=off was said. Nothing was changed"
)

UNKNOWN: Final = Capabilities(wakes_consumers=False, passes_over=False)
"""What a server is taken for until it was asked."""


class MongoPlans:
    """The base of all plans.

    Args:
        prefix: what the names of all collections begin with.
        transactions: whether to use transactions where the server has them.
        clock: tells the time instead of the server.
    """

    def __init__(self, prefix: str, transactions: bool = True, clock: Clock | None = None) -> None:
        self.prefix, self.names = prefix, CollectionNames(prefix)
        self.capabilities = UNKNOWN
        self._may_have_transactions = transactions
        self._clock = clock
        self._sampled: tuple[float, datetime] | None = None
        self._taking: dict[str, float] = {}
        self._handing_out: dict[str, float] = {}

    def now(self) -> Plan[datetime]:
        """Tell the server's time: asked each minute, carried on by this process's steady clock."""
        if self._clock is not None:
            return self._clock.now().astimezone(UTC)
        sampled = self._sampled
        if sampled is None or time.monotonic() - sampled[0] > CLOCK_GOOD_FOR:
            asked = time.monotonic()
            answer = yield commands.hello()
            # Read somewhere between question and answer.
            self._sampled = sampled = (asked + time.monotonic()) / 2, answer["localTime"]
        at, then = sampled
        return then + timedelta(seconds=time.monotonic() - at)

    def _work(self, now: datetime, keep: Retention | None = None) -> UnitOfWork:
        return UnitOfWork(self.names, now, keep, expiring=self._clock is None)

    # What needs transactions.

    def _need(self, what: str) -> None:
        """Raise NotSupported, before anything changes, where there are no transactions."""
        if not self.capabilities.transactions:
            raise NotSupported(f"{what} {NEEDS}")

    def _check_keeping(self, keep: Retention | None) -> None:
        if keep is not None and keep.history is not None:
            self._need("history=, which keeps turns beside their messages,")
        if keep is not None and keep.keys is not None:
            self._need("remember_keys=, which keeps keys beside their messages,")

    def _check_entries(self, entries: Iterable[Entry]) -> None:
        if not self.capabilities.transactions and any(entry.group is not None for entry in entries):
            self._need("group=, which makes messages wait for one another,")

    # What is said of queues.

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Read what is said of a queue, or of all; see Store.settings."""
        chosen = {} if queue is None else {"_id": queue}
        found = yield commands.find(self.names.queues, chosen, {"_id": 1}, outside=True)
        return [
            QueueSettings(one["_id"], one.get("definition"), one.get("paused", False), one.get("draining", False))
            for one in found
        ]

    def _check_taking(self, entries: Sequence[Entry]) -> Plan[None]:
        """Raise QueueDraining unless all queues take messages."""
        for queue in dict.fromkeys(entry.queue for entry in entries):
            if self._taking.get(queue, 0.0) > time.monotonic():
                continue
            if any(said.draining for said in (yield from self.settings(queue))):
                raise QueueDraining(queue)
            self._taking[queue] = time.monotonic() + SAID_GOOD_FOR

    def _is_paused(self, queue: str) -> Plan[bool]:
        """Whether a queue hands nothing out."""
        if self._handing_out.get(queue, 0.0) > time.monotonic():
            return False
        if any(said.paused for said in (yield from self.settings(queue))):
            return True
        self._handing_out[queue] = time.monotonic() + SAID_GOOD_FOR
        return False

    def _forget_said(self, queue: str) -> None:
        self._taking.pop(queue, None)
        self._handing_out.pop(queue, None)
