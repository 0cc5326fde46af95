# Generated from ../aio/in_parts.py by tools/generate_sync.py; edit that file instead.
"""Steps that take several statements."""

from __future__ import annotations

from typing import Any

from duerow.plan import BEGIN, run
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.connections.ownership import Whose
from duerow.stores.sql.connections.sync.raw import Raw
from duerow.stores.sql.connections.sync.through_sqlalchemy import ThroughSqlalchemy
from duerow.stores.sql.dialects.base import Dialect


class RawInParts(Raw):
    """Runs steps on a driver's connection; some run as several statements in a transaction.

    Args:
        raw: the driver's connection.
        dialect: the database.
        texts: the compiled statements for its driver.
        whose: "own" for duerow's engine, "lent" for the user's, "joined" for the caller's own transaction.
    """

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts, whose: Whose) -> None:
        super().__init__(raw, dialect, texts)
        self.whose = whose

    def __call__(self, step: Any) -> Any:
        """Execute all parts of one step."""
        if step is BEGIN or step.statement.parts is None:
            return super().__call__(step)
        if not step.statement.element.alone:
            super().__call__(BEGIN)
        return run(step.statement.parts(step.values), super().__call__)


class InPartsThroughSqlalchemy(ThroughSqlalchemy):
    """Like ThroughSqlalchemy, for databases where some steps take several statements."""

    def __call__(self, step: Any) -> Any:
        """Execute all parts of one step."""
        if step.statement.parts is None:
            return super().__call__(step)
        return run(step.statement.parts(step.values), super().__call__)
