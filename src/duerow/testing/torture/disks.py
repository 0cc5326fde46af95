"""A full disk, for a database that is a file."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, event


def be_full() -> None:
    """Let this process meet a full disk: its connections fail where the file would have to grow.

    SQLite then ends the statement, and mostly its transaction, with the error of a disk that has no space left.
    """

    @event.listens_for(Engine, "connect")
    def limit(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA max_page_count = 1")  # which means as many as there are
        cursor.close()
