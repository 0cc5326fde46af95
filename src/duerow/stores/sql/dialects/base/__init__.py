"""The parts of a dialect: base classes that implement the common case, one topic each.

`types` (columns, drivers and limits), `expressions` (time, JSON, comparisons), `given_rows` (rows of bound values),
`reads` (following indexes), `writes`, `payload_indexes`, `schema` (tables and ids), `server` (which database it is, and
whether it is suitable) and `transactions` (marks, limits, errors). `dialect` combines them.
"""

from __future__ import annotations

from duerow.stores.sql.dialects.base.constants import KEYS, LINE, LONGEST_KEY, const
from duerow.stores.sql.dialects.base.dialect import Dialect
from duerow.stores.sql.dialects.base.json_values import JsonText, Member
from duerow.stores.sql.dialects.base.transactions import ArrowWay

__all__ = ["KEYS", "LINE", "LONGEST_KEY", "ArrowWay", "Dialect", "JsonText", "Member", "const"]
