"""A change of any statement is seen in review."""

from __future__ import annotations

import sqlite3

import pytest
from sqlalchemy import create_mock_engine

from examples.sms.tables import Base
from tests.sql.texts import DIALECTS, SHIPMENT, reviewed, wanted

WANTED = wanted()
REVIEWED = {f"{dialect}/{name}": text for dialect in DIALECTS for name, text in reviewed(dialect).items()}
APART = {
    f"sqlite/{name}"
    for name in (
        "queues/hold",
        "read/time",
        "push/next_ids",
        "migrations/migrations",
        "read/search",
        "read/search-indexed",
        "read/tally",
    )
}
"""What reads no messages, what SQLite is never sent, and searches, which may have to look at every message."""


@pytest.mark.parametrize("name", WANTED)
def test_what_the_database_reads_is_what_was_reviewed(name: str) -> None:
    assert name in REVIEWED, f"{name} has not been reviewed yet: run python -m tests.sql and read it"
    assert REVIEWED[name] == WANTED[name], f"{name} has changed: run python -m tests.sql and read the difference"


def test_no_text_is_kept_of_a_statement_that_is_gone() -> None:
    assert set(REVIEWED) == set(WANTED)


@pytest.mark.parametrize("name", [name for name in WANTED if name.startswith("sqlite/") and name not in APART])
def test_sqlite_serves_each_statement_without_scanning_the_messages(name: str) -> None:
    database = sqlite3.connect(":memory:")
    database.executescript(WANTED["sqlite/migrations/migrations"])
    engine = create_mock_engine("sqlite://", lambda made, *_, **__: database.execute(str(made.compile(engine))))
    for metadata in (Base.metadata, SHIPMENT.metadata):
        metadata.create_all(engine, checkfirst=False)
    plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {WANTED[name]}", _Anything())]
    assert not [
        line for line in plan if line.startswith(("SCAN duerow_message", "SCAN sms_message", "SCAN shipment"))
    ], plan


class _Anything(dict[str, object]):
    """A value for every placeholder."""

    def __missing__(self, name: str) -> object:
        return "[]" if name in ("given", "ids", "keys", "statuses") else 1
