"""Which database a connection leads to, and whether its server and its tables can keep the promises."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base.types import Types


class Server(Types):
    """Which database a connection leads to, and whether it can keep the promises; see `connections.identity`.

    By default a connection writes to one database, and any server and any tables will do.
    """

    @abstractmethod
    def identity(self, table: Table) -> Executable:
        """Return a query for what identifies a connection's database, and for the table that the name leads to."""

    def identified(self, rows: Sequence[Sequence[Any]]) -> tuple[Hashable, ...]:
        """Return the identity that the query found, starting with a readable name; several if any may be the right one.

        A row in which a part is missing, such as the table, identifies nothing.
        """
        return tuple(tuple(row) for row in rows if None not in row)

    def in_first(self, table: Table) -> Executable | None:
        """Return a query that finds rows if the first of several databases has the table; None if there is only one."""
        return None

    def server(self) -> Executable | None:
        """Return a query for what `check_server` judges; None if any server will do."""
        return None

    def check_server(self, row: Sequence[Any]) -> None:
        """Raise ConfigurationError if this server cannot keep the promises."""

    def unfit(self, tables: Sequence[Table], ours: bool) -> Executable | None:
        """Return a query for what `check_tables` judges of tables that exist; None if any will do.

        Args:
            tables: which.
            ours: whether they are duerow's own, in which rows are looked up by text.
        """
        return None

    def check_tables(self, rows: Sequence[Sequence[Any]]) -> None:
        """Raise ConfigurationError if the tables were changed so that they cannot keep the promises."""


def asked(*columns: Any) -> Executable:
    """Return a query for one row of these values, each under its own name."""
    return select(*(one.label(f"asked_{number}") for number, one in enumerate(columns)))
