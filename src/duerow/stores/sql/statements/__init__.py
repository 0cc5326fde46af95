"""Every statement of the SQL stores: one short function for each, built once, the same for all dialects.

Values are always bound; their names end in `_in` where a column has the same name. The SQL for each database is stored
next to the tests, and reviewed like code.
"""

from __future__ import annotations

from duerow.stores.sql.statements.change import CHANGED, ChangeStatements
from duerow.stores.sql.statements.context import StatementContext
from duerow.stores.sql.statements.core import (
    ENTRY,
    IN_GAP,
    IN_LINE,
    LENT,
    ONE,
    RECEIPT,
    RECORD,
    OverRows,
    Statement,
    Step,
    all_bounded,
)
from duerow.stores.sql.statements.counters import CounterStatements
from duerow.stores.sql.statements.groups import GroupStatements
from duerow.stores.sql.statements.history import PAST, STORY, HistoryStatements
from duerow.stores.sql.statements.join import JoinStatements
from duerow.stores.sql.statements.lend import LendStatements
from duerow.stores.sql.statements.pages import PageStatements
from duerow.stores.sql.statements.pipelines import PipelineStatements
from duerow.stores.sql.statements.push import PushStatements
from duerow.stores.sql.statements.queues import QueueStatements
from duerow.stores.sql.statements.read import ReadStatements
from duerow.stores.sql.statements.receive import ARRIVED, TOLD, ReceiveStatements
from duerow.stores.sql.statements.reserve import ReserveStatements
from duerow.stores.sql.statements.savepoints import SavepointStatements
from duerow.stores.sql.statements.schedules import ScheduleStatements
from duerow.stores.sql.statements.settle import SettleStatements
from duerow.stores.sql.statements.stage import STAGED, StageStatements

__all__ = [
    "ARRIVED",
    "CHANGED",
    "ENTRY",
    "IN_GAP",
    "IN_LINE",
    "LENT",
    "ONE",
    "PAST",
    "RECEIPT",
    "RECORD",
    "STAGED",
    "STORY",
    "TOLD",
    "OverRows",
    "Statement",
    "StatementContext",
    "Statements",
    "Step",
    "all_bounded",
]


class Statements:
    """The statements of one installation, by subject.

    Args:
        context: its tables, its database, and the parts that statements share.
    """

    def __init__(self, context: StatementContext) -> None:
        self.context = context
        self.push = PushStatements(context)
        self.reserve = ReserveStatements(context)
        self.lend = LendStatements(context)
        self.groups = GroupStatements(context)
        self.settle = SettleStatements(context)
        self.savepoints = SavepointStatements(context)
        self.change = ChangeStatements(context, self.settle)
        self.read = ReadStatements(context)
        self.pages = PageStatements(context)
        self.history = HistoryStatements(context)
        self.queues = QueueStatements(context)
        self.schedules = ScheduleStatements(context)
        self.pipelines = PipelineStatements(context)
        self.counters = CounterStatements(context)
        self.join = JoinStatements(context)
        self.stage = StageStatements(context, self.push, self.history)
        self.receive = ReceiveStatements(context, self.push)
