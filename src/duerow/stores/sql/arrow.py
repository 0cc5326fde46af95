"""Rows as Arrow, for whoever reads very many: the store's own statements, through a driver that makes no Python values.

The statements, their parameters and their plans are those of every other connection; only the way back differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duerow.store import Scan
from duerow.stores.sql.dialects.base import ArrowWay
from duerow.stores.sql.plans import SqlStore
from duerow.stores.sql.texts import Text

if TYPE_CHECKING:
    from pyarrow import Table


class ArrowScans:
    """Reads scans over one connection.

    Args:
        store: whose statements.
        way: the connection, which is closed with this.
    """

    def __init__(self, store: SqlStore, way: ArrowWay) -> None:
        self._store, self._way = store, way

    def read(self, query: Scan, shown: Sequence[str]) -> Table:
        """Return what a scan finds: these columns, named as the fields of records or turns, moments in UTC.

        Raises:
            StoreUnavailable: the server broke off.
        """
        step = self._store.scanning(query, shown)
        text = Text(step.statement, self._way.written)
        try:
            with self._way.connection.cursor() as cursor:
                cursor.execute(text.text, text.values(step.values))
                return cursor.fetch_arrow_table().rename_columns(list(shown))
        except Exception as error:
            raise (self._store.dialect.explain(error) or error) from error

    def close(self) -> None:
        """Close the connection."""
        self._way.connection.close()
