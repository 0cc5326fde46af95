"""Statements are sent to PostgreSQL one after the other without waiting, as long as little is unanswered."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from duerow.stores.sql.connections.sync import pipelined
from duerow.testing.conformance.fixtures import Place

TEXT = "SELECT %(value)s::text"
SIZE = len(TEXT) + 100


def sent_all(url: str, count: int) -> tuple[list[str], list[Any]]:
    """What was done in which order, and the rows."""
    done: list[str] = []

    class Cursor(psycopg.Cursor[Any]):
        def execute(self, *args: Any, **named: Any) -> Any:
            done.append("send")
            return super().execute(*args, **named)

        def fetchall(self) -> Any:
            done.append("read")
            return super().fetchall()

    statements = ((TEXT, {"value": str(number).zfill(100)}) for number in range(count))
    with psycopg.connect(url, cursor_factory=Cursor) as connection:
        return done, pipelined.send_all(connection, connection.cursor, statements)


@pytest.mark.parametrize(
    ("most", "order"),
    [
        (4 * SIZE, ["send"] * 4 + ["read"] * 4),
        (4 * SIZE - 1, ["send"] * 3 + ["read"] * 3 + ["send", "read"]),
        (1, ["send"] * 2 + ["read"] * 2 + ["send"] * 2 + ["read"] * 2),
    ],
)
def test_what_exceeds_the_limit_of_unanswered_characters_waits_but_two_statements_never_do(
    most: int, order: list[str], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelined, "IN_FLIGHT", most)
    done, rows = sent_all(place.url, 4)
    assert done == order
    assert rows == [[(str(number).zfill(100),)] for number in range(4)]
