"""A full disk, for a database that is a file."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, event


def be_full() -> None:
    """Simulate a full disk in this process: its connections fail where the file would have to grow.

    SQLite then ends the statement, and usually its transaction, with the error for a full disk.
    """

    @event.listens_for(Engine, "connect")
    def limit(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA max_page_count = 1")  # SQLite raises this to the number of pages that exist
        cursor.close()
