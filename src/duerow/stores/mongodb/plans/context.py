"""The state that all plans share: the time, collection names, the server's features, and queue settings."""

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
"""The seconds for which a reading of the server's clock is used, advanced by the monotonic clock."""

SAID_GOOD_FOR: Final = 0.25
"""The seconds for which queue settings are cached, such as whether the queue is paused or drained."""

NEEDS: Final = (
    "needs a transaction, which MongoDB has on a replica set or a sharded cluster (one member is enough); this server "
    "is neither, or transactions=off was given. Nothing was changed"
)

UNKNOWN: Final = Capabilities(wakes_consumers=False, passes_over=False)
"""The features that a server is assumed to have until it has been asked."""


class MongoContext:
    """The state that the plans of one store share.

    Args:
        prefix: the prefix of all collection names.
        transactions: whether to use transactions if the server has them.
        clock: a clock to use instead of the server's.

    Attributes:
        names: the names of the collections.
        capabilities: the features of the server; assumed until it has been asked.
    """

    def __init__(self, prefix: str, transactions: bool = True, clock: Clock | None = None) -> None:
        self.prefix, self.names = prefix, CollectionNames(prefix)
        self.capabilities = UNKNOWN
        self.may_have_transactions = transactions
        self._clock = clock
        self._sampled: tuple[float, datetime] | None = None
        self._taking: dict[str, float] = {}
        self._handing_out: dict[str, float] = {}

    def now(self) -> Plan[datetime]:
        """Return the server's time, which is read once a minute and advanced by the monotonic clock in between."""
        if self._clock is not None:
            return self._clock.now().astimezone(UTC)
        sampled = self._sampled
        if sampled is None or time.monotonic() - sampled[0] > CLOCK_GOOD_FOR:
            asked = time.monotonic()
            answer = yield commands.hello()
            # The server read its clock between the question and the answer.
            self._sampled = sampled = (asked + time.monotonic()) / 2, answer["localTime"]
        at, then = sampled
        return then + timedelta(seconds=time.monotonic() - at)

    def work(self, now: datetime, keep: Retention | None = None) -> UnitOfWork:
        """Return a unit of work at this time, which keeps the given history and keys."""
        return UnitOfWork(self.names, now, keep, expiring=self._clock is None)

    # Features that need transactions.

    def need(self, what: str) -> None:
        """Raise NotSupported, before anything changes, if the server has no transactions."""
        if not self.capabilities.transactions:
            raise NotSupported(f"{what} {NEEDS}")

    def check_keeping(self, keep: Retention | None) -> None:
        """Raise NotSupported if keeping something needs transactions and the server has none."""
        if keep is not None and keep.history is not None:
            self.need("history=, which writes turns together with their messages,")
        if keep is not None and keep.keys is not None:
            self.need("remember_keys=, which writes keys together with their messages,")

    def check_entries(self, entries: Iterable[Entry]) -> None:
        """Raise NotSupported if an entry needs transactions and the server has none."""
        if not self.capabilities.transactions and any(entry.group is not None for entry in entries):
            self.need("group=, which makes messages wait for one another,")

    # Queue settings.

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Return the settings of one queue or of all queues; see MetadataStore.settings."""
        chosen = {} if queue is None else {"_id": queue}
        found = yield commands.find(self.names.queues, chosen, {"_id": 1}, outside=True)
        return [
            QueueSettings(one["_id"], one.get("definition"), one.get("paused", False), one.get("draining", False))
            for one in found
        ]

    def check_taking(self, entries: Sequence[Entry]) -> Plan[None]:
        """Raise QueueDraining unless all queues accept messages."""
        for queue in dict.fromkeys(entry.queue for entry in entries):
            if self._taking.get(queue, 0.0) > time.monotonic():
                continue
            if any(said.draining for said in (yield from self.settings(queue))):
                raise QueueDraining(queue)
            self._taking[queue] = time.monotonic() + SAID_GOOD_FOR

    def is_paused(self, queue: str) -> Plan[bool]:
        """Return whether a queue is paused."""
        if self._handing_out.get(queue, 0.0) > time.monotonic():
            return False
        if any(said.paused for said in (yield from self.settings(queue))):
            return True
        self._handing_out[queue] = time.monotonic() + SAID_GOOD_FOR
        return False

    def forget_settings(self, queue: str) -> None:
        """Forget the cached settings of a queue."""
        self._taking.pop(queue, None)
        self._handing_out.pop(queue, None)


class MongoPlans:
    """Plans about one subject.

    Args:
        context: the state that all plans of the store share.
    """

    def __init__(self, context: MongoContext) -> None:
        self.context, self.names = context, context.names
