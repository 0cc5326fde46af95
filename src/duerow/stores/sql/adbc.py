"""Large reads as Arrow: the store's own statements, through a driver that creates no Python values.

Statements, parameters and plans are the same as on any other connection; only the results differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from duerow.arrow.adbc import AdbcScan
from duerow.store import Scan
from duerow.stores.sql.connections.compiled import Text
from duerow.stores.sql.dialects.base import ArrowWay
from duerow.stores.sql.plans.context import Context
from duerow.stores.sql.plans.scan import scan_values, scanning


def adbc_scan(context: Context, way: ArrowWay, query: Scan, shown: Sequence[str]) -> AdbcScan:
    """Return a scan for the driver, with these columns; they are named after the fields of records or turns."""
    text = Text(scanning(context, query, shown).statement, way.written)
    dialect = type(context.dialect)
    return AdbcScan(
        driver=way.driver,
        address=way.address,
        prepare=way.prepare,
        text=text.text,
        positions=tuple(text.positions or ()),
        values={**text.constants, **scan_values(context, query)},
        shown=tuple(shown),
        dialect=f"{dialect.__module__}:{dialect.__qualname__}",
    )
