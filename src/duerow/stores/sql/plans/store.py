"""The store, composed of its plans as the parts of the contract."""

from __future__ import annotations

from collections.abc import Mapping

from duerow.clock import Clock
from duerow.store import Check, Store
from duerow.stores.sql.diagnosis import SqlCheck, checks
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.plans.change import ChangePlans
from duerow.stores.sql.plans.claim import ClaimPlans
from duerow.stores.sql.plans.context import Context, installed
from duerow.stores.sql.plans.counters import CounterPlans
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.index import IndexPlans
from duerow.stores.sql.plans.join import JoinPlans
from duerow.stores.sql.plans.lend import LendPlans
from duerow.stores.sql.plans.next_due import NextDuePlans
from duerow.stores.sql.plans.parts import SqlBulk, SqlCounters, SqlHistory, SqlMessages, SqlMetadata, SqlOperations
from duerow.stores.sql.plans.pipelines import PipelinePlans
from duerow.stores.sql.plans.priorities import PriorityPlans
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.plans.push import PushPlans
from duerow.stores.sql.plans.queues import QueuePlans
from duerow.stores.sql.plans.read import ReadPlans
from duerow.stores.sql.plans.receive import ReceivePlans
from duerow.stores.sql.plans.reserve import ReservePlans
from duerow.stores.sql.plans.savepoints import SavepointPlans
from duerow.stores.sql.plans.scan import ScanPlans
from duerow.stores.sql.plans.schedules import SchedulePlans
from duerow.stores.sql.plans.schema import SchemaPlans
from duerow.stores.sql.plans.settle import SettlePlans
from duerow.stores.sql.plans.stage import StagePlans


class SqlStore(Store):
    """The store contract on an SQL database; see `duerow.store.Store`.

    Args:
        dialect: the database.
        prefix: the prefix of all table names.
        schema: the database schema that holds them.
        clock: a clock to use instead of the database's.
        family_checks: the checks of `duerow.doctor` for this family only.

    Attributes:
        context: shared by its plans and connections.
    """

    def __init__(
        self,
        dialect: Dialect,
        prefix: str,
        schema: str | None,
        clock: Clock | None,
        family_checks: Mapping[str, SqlCheck] | None = None,
    ) -> None:
        self._family_checks = family_checks or {}
        self.capabilities = dialect.capabilities
        self.context = context = Context(dialect, installed(prefix, schema), clock)
        history, promote, priorities = HistoryPlans(context), PromotePlans(context), PriorityPlans(context)
        push = PushPlans(context, history, promote)
        settle = SettlePlans(context, push, JoinPlans(context, push), history, promote)
        claims = ClaimPlans(context, priorities, SavepointPlans(context, promote), history, promote)
        reserve = ReservePlans(context, claims, settle, history, promote)
        queues = QueuePlans(context, promote)
        read = ReadPlans(context, priorities, queues)
        change = ChangePlans(context, push, read, history, promote)
        lend = LendPlans(context, reserve, claims, history)
        stage = StagePlans(context, push, settle, history, promote)
        self.messages = SqlMessages(push, reserve, settle, read, NextDuePlans(context, priorities))
        self.operations = SqlOperations(read, change)
        self.history = SqlHistory(history)
        self.metadata = SqlMetadata(queues, IndexPlans(context), SchedulePlans(context, push), PipelinePlans(context))
        self.counters = SqlCounters(CounterPlans(context))
        self.bulk = SqlBulk(lend, stage, ScanPlans(context, history), ReceivePlans(context, push, promote))
        self.schema = SchemaPlans(context)

    def checks(self) -> Mapping[str, Check]:
        """Return the checks of `duerow.doctor`; see SelfChecking."""
        return checks(self.context.tables, self.context.dialect, self._family_checks)
