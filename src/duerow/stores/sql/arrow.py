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
from duerow.where import Condition

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
        self._made: tuple[tuple[object, ...], Condition | None, Text] | None = None

    def read(self, query: Scan, shown: Sequence[str]) -> Table:
        """Return what a scan finds: these columns, named as the fields of records or turns, moments in UTC.

        Raises:
            StoreUnavailable: the server broke off.
        """
        text = self._text(query, shown)
        try:
            with self._way.connection.cursor() as cursor:
                cursor.execute(text.text, text.values(self._store.scan_values(query)))
                return cursor.fetch_arrow_table().rename_columns(list(shown))
        except Exception as error:
            raise (self._store.dialect.explain(error) or error) from error

    def _text(self, query: Scan, shown: Sequence[str]) -> Text:
        """Return the statement of a scan; that of the page before if only its place is another one."""
        shape = (query.past, query.queues is None, query.statuses is None, query.descending, *shown)
        if self._made is None or self._made[0] != shape or self._made[1] is not query.where:
            text = Text(self._store.scanning(query, shown).statement, self._way.written)
            self._made = (shape, query.where, text)
        return self._made[2]

    def close(self) -> None:
        """Close the connection."""
        self._way.connection.close()
