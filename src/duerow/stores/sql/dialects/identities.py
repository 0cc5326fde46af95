"""How a database identifies itself, on whatever server; see `duerow.stores.sql.connections.identity`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.sql.base import Executable


class OneDatabase:
    """A server's connection writes to one database, which says who it is in a row: a name for people, and the rest."""

    def identified(self, rows: Sequence[Sequence[Any]]) -> tuple[Hashable, ...]:
        """Return the row; nothing if a part of it is missing, such as the table."""
        return tuple(tuple(row) for row in rows if None not in row)

    def in_first(self, table: Table) -> Executable | None:
        """Nothing is asked: there is one."""
        return None


def asked(*columns: Any) -> Executable:
    """Return a query for such a row."""
    return select(*(one.label(f"asked_{number}") for number, one in enumerate(columns)))
