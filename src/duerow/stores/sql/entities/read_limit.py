"""Time limits for reads in ORM sessions, like those for reads of duerow's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from sqlalchemy.util import await_only

from duerow.errors import QueryTimeout
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.errors import milliseconds


@contextmanager
def limited_reads(session: Session, limit: timedelta | None, connections: Any) -> Iterator[None]:
    """Cancel each read of a new session that exceeds the limit.

    Args:
        session: a new session; its transaction is rolled back when it is closed.
        limit: the time limit; None: no limit.
        connections: the connections of the session's engine, of either face.

    Raises:
        QueryTimeout: a read exceeded the limit.
    """
    if limit is None:
        yield
        return
    connection = session.connection()
    raw: Any = connection.connection.driver_connection
    connections.detect_server(raw)
    dialect: Dialect = connections.dialect
    most = milliseconds(limit)
    before, *_ = dialect.limited("", most)
    if before and getattr(
        connection.connection.dbapi_connection, "autocommit", False
    ):  # statements before a read apply to its transaction
        session.rollback()
        connection = session.connection(execution_options={"isolation_level": "READ COMMITTED"})

    def limited(_: Any, cursor: Any, text: str, values: Any, *more: Any) -> tuple[str, Any]:
        return dialect.limited(text, most)[1], values

    try:
        if before:
            connection.exec_driver_sql(before)
        event.listen(connection, "before_cursor_execute", limited, retval=True)
        with dialect.timed(_InItsThread(raw) if connection.dialect.driver == "aiosqlite" else raw, most):
            yield
    except DBAPIError as error:
        if error.orig is not None and dialect.ran_out_of_time(error.orig):
            raise QueryTimeout(limit) from error
        raise


class _InItsThread:
    """Wraps an aiosqlite connection, so that a time limit is set on it as on a sqlite3 connection."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def set_progress_handler(self, handler: Callable[[], int | None] | None, steps: int) -> None:
        await_only(self.raw.set_progress_handler(handler, steps))
