"""The parts of the store contract, composed of plans.

Each part has the methods of its plans as attributes, so that a call goes directly to its plan.
"""

from __future__ import annotations

from duerow.stores.sql.plans.change import ChangePlans
from duerow.stores.sql.plans.counters import CounterPlans
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.index import IndexPlans
from duerow.stores.sql.plans.lend import LendPlans
from duerow.stores.sql.plans.next_due import NextDuePlans
from duerow.stores.sql.plans.pipelines import PipelinePlans
from duerow.stores.sql.plans.push import PushPlans
from duerow.stores.sql.plans.queues import QueuePlans
from duerow.stores.sql.plans.read import ReadPlans
from duerow.stores.sql.plans.receive import ReceivePlans
from duerow.stores.sql.plans.reserve import ReservePlans
from duerow.stores.sql.plans.scan import ScanPlans
from duerow.stores.sql.plans.schedules import SchedulePlans
from duerow.stores.sql.plans.settle import SettlePlans
from duerow.stores.sql.plans.stage import StagePlans


class SqlMessages:
    """Push, reserve and settle; see `duerow.store.MessageStore`."""

    def __init__(
        self, push: PushPlans, reserve: ReservePlans, settle: SettlePlans, read: ReadPlans, next_due: NextDuePlans
    ) -> None:
        self.push, self.push_chunks = push.push, push.push_chunks
        if push.context.dialect.sends_ahead:  # otherwise encoding would only make the locks on keys last longer
            self.push_keyed_chunks = push.push_keyed_chunks
        self.reserve, self.pop = reserve.reserve, reserve.pop
        self.extend, self.settle = settle.extend, settle.settle
        self.settle_and_reserve = reserve.settle_and_reserve
        self.find, self.next_due = read.find, next_due.next_due


class SqlOperations:
    """Statistics of queues, and changes of messages; see `duerow.store.OperationStore`."""

    def __init__(self, read: ReadPlans, change: ChangePlans) -> None:
        self.peek, self.count, self.tally = read.peek, read.count, read.tally
        self.queue_stats, self.inspect, self.queues = read.queue_stats, read.inspect, read.queues
        self.change, self.remove, self.purge = change.change, change.remove, change.purge


class SqlHistory:
    """Finished turns; see `duerow.store.HistoryStore`."""

    def __init__(self, history: HistoryPlans) -> None:
        self.find, self.prune = history.find, history.prune


class SqlMetadata:
    """Settings of queues, schedules, pipelines and consumers; see `duerow.store.MetadataStore`."""

    def __init__(
        self, queues: QueuePlans, index: IndexPlans, schedules: SchedulePlans, pipelines: PipelinePlans
    ) -> None:
        self.put_settings, self.settings, self.index = queues.put_settings, queues.settings, index.index
        self.set_schedule, self.schedules = schedules.set_schedule, schedules.schedules
        self.set_pipeline, self.pipelines = pipelines.set_pipeline, pipelines.pipelines
        self.note_consumer, self.consumers = queues.note_consumer, queues.consumers


class SqlCounters:
    """Counters; see `duerow.store.CounterStore`."""

    def __init__(self, counters: CounterPlans) -> None:
        self.note_counts, self.read = counters.note_counts, counters.read


class SqlBulk:
    """Batches for engines, scans, and imports from other databases; see `duerow.store.BulkStore`."""

    def __init__(self, lend: LendPlans, stage: StagePlans, scan: ScanPlans, receive: ReceivePlans) -> None:
        self.lend, self.leased_range, self.message_headers = lend.lend, lend.leased_range, lend.message_headers
        self.stage, self.publish, self.discard = stage.stage, stage.publish, stage.discard
        self.scan, self.receive = scan.scan, receive.receive
