"""A change of any statement is seen in review."""

from __future__ import annotations

import sqlite3
from functools import cache

import pytest
from sqlalchemy import create_mock_engine

from examples.sms.tables import Base
from tests.sql.texts import DIALECTS, SHIPMENT, reviewed, wanted

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


@cache
def texts() -> dict[str, str]:
    """Return the text of every statement as it is now; not while tests are collected, which every process does."""
    return wanted()


@pytest.mark.parametrize("file", sorted({name.rpartition("/")[0] for name in REVIEWED}))
def test_what_the_database_reads_is_what_was_reviewed(file: str) -> None:
    found, wanted = ({name: text for name, text in of.items() if of_file(name, file)} for of in (texts(), REVIEWED))
    gone, changed = wanted.keys() - found.keys(), [name for name in wanted if found.get(name, "") != wanted[name]]
    assert not gone, f"{sorted(gone)} are gone: run python -m tests.sql and read the difference"
    assert not changed, f"{changed} have changed: run python -m tests.sql and read the difference"


def of_file(name: str, file: str) -> bool:
    return name.rpartition("/")[0] == file


def test_every_statement_has_been_reviewed() -> None:
    assert sorted(set(texts()) - set(REVIEWED)) == [], "not reviewed yet: run python -m tests.sql and read them"


@pytest.mark.parametrize("name", [name for name in REVIEWED if name.startswith("sqlite/") and name not in APART])
def test_sqlite_serves_each_statement_without_scanning_the_messages(name: str) -> None:
    database = sqlite3.connect(":memory:")
    database.executescript(texts()["sqlite/migrations/migrations"])
    engine = create_mock_engine("sqlite://", lambda made, *_, **__: database.execute(str(made.compile(engine))))
    for metadata in (Base.metadata, SHIPMENT.metadata):
        metadata.create_all(engine, checkfirst=False)
    plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {texts()[name]}", _Anything())]
    assert not [
        line for line in plan if line.startswith(("SCAN duerow_message", "SCAN sms_message", "SCAN shipment"))
    ], plan


class _Anything(dict[str, object]):
    """A value for every placeholder."""

    def __missing__(self, name: str) -> object:
        return "[]" if name in ("given", "ids", "keys", "statuses") else 1
