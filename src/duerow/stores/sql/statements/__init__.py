"""Every statement of the SQL stores: one short function for each, built once, the same for all dialects.

Values are always bound; their names carry a suffix of `_in` where a column has the name. What each database is sent
is kept as text beside the tests and reviewed like code.
"""

from __future__ import annotations

from duerow.stores.sql.statements.change import CHANGED, ChangeStatements
from duerow.stores.sql.statements.core import ENTRY, LENT, ONE, RECEIPT, RECORD, OverRows, Statement, Step
from duerow.stores.sql.statements.counters import CounterStatements
from duerow.stores.sql.statements.history import PAST, STORY
from duerow.stores.sql.statements.join import JoinStatements
from duerow.stores.sql.statements.pipelines import PipelineStatements
from duerow.stores.sql.statements.queues import QueueStatements
from duerow.stores.sql.statements.read import ReadStatements
from duerow.stores.sql.statements.receive import ARRIVED, TOLD, ReceiveStatements
from duerow.stores.sql.statements.reserve import ReserveStatements
from duerow.stores.sql.statements.savepoints import SavepointStatements
from duerow.stores.sql.statements.schedules import ScheduleStatements
from duerow.stores.sql.statements.stage import STAGED

__all__ = [
    "ARRIVED",
    "CHANGED",
    "ENTRY",
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
    "Statements",
    "Step",
]


class Statements(
    ReceiveStatements,
    ReserveStatements,
    ChangeStatements,
    SavepointStatements,
    ReadStatements,
    QueueStatements,
    CounterStatements,
    ScheduleStatements,
    JoinStatements,
    PipelineStatements,
):
    """The statements of one installation.

    Args:
        tables: its tables.
        dialect: its database.
        timed: whether each statement is given the time as the bound value `now`.
    """
