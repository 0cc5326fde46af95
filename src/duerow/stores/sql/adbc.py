"""Rows as Arrow, for whoever reads very many: the store's own statements, through a driver that makes no Python values.

The statements, their parameters and their plans are those of every other connection; only the way back differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from duerow.arrow.adbc import AdbcScan
from duerow.store import Scan
from duerow.stores.sql.connections.compiled import Text
from duerow.stores.sql.dialects.base import ArrowWay
from duerow.stores.sql.plans import SqlStore


def adbc_scan(store: SqlStore, way: ArrowWay, query: Scan, shown: Sequence[str]) -> AdbcScan:
    """Return a scan as the driver is told it: these columns, named as the fields of records or turns."""
    text = Text(store.scanning(query, shown).statement, way.written)
    dialect = type(store.dialect)
    return AdbcScan(
        driver=way.driver,
        address=way.address,
        prepare=way.prepare,
        text=text.text,
        positions=tuple(text.positions or ()),
        values={**text.constants, **store.scan_values(query)},
        shown=tuple(shown),
        dialect=f"{dialect.__module__}:{dialect.__qualname__}",
    )
