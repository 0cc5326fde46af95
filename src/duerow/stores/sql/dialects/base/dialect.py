"""A dialect: how one database implements the operations that duerow needs."""

from __future__ import annotations

from duerow.stores.sql.dialects.base.given_rows import GivenRows
from duerow.stores.sql.dialects.base.payload_indexes import PayloadIndexes
from duerow.stores.sql.dialects.base.reads import Reads
from duerow.stores.sql.dialects.base.schema import Schema
from duerow.stores.sql.dialects.base.server import Server
from duerow.stores.sql.dialects.base.transactions import Transactions
from duerow.stores.sql.dialects.base.writes import Writes


class Dialect(GivenRows, PayloadIndexes, Reads, Writes, Server, Schema, Transactions):
    """How one database implements the operations that duerow needs.

    Each base class implements the common case: RETURNING, ON CONFLICT, partial indexes and identity columns, as in
    PostgreSQL and SQLite. A dialect for a new database overrides what differs, and implements the abstract methods.
    """
