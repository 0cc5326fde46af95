"""Read large numbers of messages or finished turns, ordered by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duerow.plan import Plan
from duerow.store import HistoryRow, Record, Scan
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.statements import PAST, RECORD, Step


class ScanPlans(Plans):
    """Plans that read many queues.

    Args:
        context: shared by all plans of the store.
        history: reads turns.
    """

    def __init__(self, context: Context, history: HistoryPlans) -> None:
        super().__init__(context)
        self._history = history

    def scan(self, query: Scan) -> Plan[list[Record] | list[HistoryRow]]:
        """Read messages or turns of many queues; see BulkStore.scan."""
        rows = yield scanning(self.context, query, PAST if query.turns else RECORD)
        if query.turns:
            return [self._history.past(row) for row in rows]
        return [self.context.dialect.record(row) for row in rows]


def scanning(context: Context, query: Scan, shown: Sequence[str]) -> Step:
    """Return the step of a scan for these columns, which are named after the fields of records or turns."""
    asked = (("queues", query.queues), ("statuses", query.statuses), ("descending", query.descending or None))
    by = tuple(name for name, wanted in asked if wanted is not None)
    statements = context.statements
    scan = statements.history.scan_history if query.turns else statements.read.scan
    return context.step(scan(by, query.where, shown), scan_values(context, query))


def scan_values(context: Context, query: Scan) -> dict[str, Any]:
    """Return the bound values of a scan's step, except those of its condition."""
    values: dict[str, Any] = {"last": query.last, "limit_in": query.limit}
    for name, wanted in (("queues", query.queues), ("statuses", query.statuses)):
        if wanted is not None:
            values |= context.dialect.pack(name, {"value": wanted})
    if not query.descending:
        values["after"] = query.after[0]
        if query.turns:
            values["after_token"] = query.after[1]
    return values
