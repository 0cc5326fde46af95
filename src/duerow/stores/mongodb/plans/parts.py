"""The parts of the store contract, composed of plans.

The methods of the plans are attributes of the part, so a call goes directly to its plan.
"""

from __future__ import annotations

from duerow.stores.mongodb.plans.change import MongoChange
from duerow.stores.mongodb.plans.pop import MongoPop
from duerow.stores.mongodb.plans.push import MongoPush
from duerow.stores.mongodb.plans.read import MongoRead
from duerow.stores.mongodb.plans.receive import MongoReceive
from duerow.stores.mongodb.plans.reserve import MongoReserve
from duerow.stores.mongodb.plans.settle import MongoSettle
from duerow.stores.mongodb.plans.stage import MongoStage


class MongoMessages:
    """Push, reserve and settle; see `duerow.store.MessageStore`."""

    def __init__(
        self, push: MongoPush, reserve: MongoReserve, settle: MongoSettle, pop: MongoPop, read: MongoRead
    ) -> None:
        self.push, self.reserve, self.pop = push.push, reserve.reserve, pop.pop
        self.extend, self.settle = settle.extend, settle.settle
        self.find, self.next_due = read.find, read.next_due


class MongoOperations:
    """Queue statistics, and changes to messages; see `duerow.store.OperationStore`."""

    def __init__(self, read: MongoRead, pop: MongoPop, change: MongoChange) -> None:
        self.peek, self.count, self.tally = pop.peek, read.count, read.tally
        self.queue_stats, self.inspect, self.queues = read.queue_stats, read.inspect, read.queues
        self.change, self.remove, self.purge = change.change, change.remove, change.purge


class MongoBulk:
    """Batches for engines, scans, and imports from other databases; see `duerow.store.BulkStore`."""

    def __init__(self, reserve: MongoReserve, read: MongoRead, stage: MongoStage, receive: MongoReceive) -> None:
        self.lend, self.leased_range, self.message_headers = reserve.lend, read.leased_range, read.message_headers
        self.stage, self.publish, self.discard = stage.stage, stage.publish, stage.discard
        self.scan, self.receive = read.scan, receive.receive
