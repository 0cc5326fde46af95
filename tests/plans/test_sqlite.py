"""On SQLite each statement uses its index, sorts no queue, and takes no longer beside a crowd."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

import duerow
from tests.plans.bulk_rows import FEW, FULL, SMALL, Crowd, insertions
from tests.plans.explain import OnSqlite
from tests.plans.history import on_sqlite
from tests.plans.operations import OPERATIONS, Leased, Operation

MARGIN = 50
"""How many rows more it may look at beside the crowd."""

ROW = 60
"""Steps of SQLite's machine that it takes to look at a row, at the least."""


class Sqlite:
    """How SQLite writes the crowd."""

    def series(self, count: int) -> str:
        return (
            f"(WITH RECURSIVE numbers(n) AS (SELECT 1 WHERE {count} > 0 UNION ALL SELECT n + 1 FROM numbers "
            f"WHERE n < {count}) SELECT n FROM numbers)"
        )

    def moment(self, seconds: str) -> str:
        return f"(SELECT CAST(strftime('%s', 'now') AS INTEGER)) * 1000000 + CAST(({seconds}) * 1000000 AS INTEGER)"


@dataclass(frozen=True)
class Two:
    """A file with a crowd, and one with few messages; the same operations are about the same number in both."""

    crowded: Path
    lonely: Path
    crowd: Crowd


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(SMALL, id="small"),
        pytest.param(FULL, id="full", marks=[pytest.mark.soak, pytest.mark.timeout(1_800)]),
    ],
)
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Two:
    """Both, written."""
    folder = tmp_path_factory.mktemp("crowds")
    two = Two(folder / "crowded.db", folder / "lonely.db", request.param)
    fill(two.crowded, request.param)
    fill(two.lonely, FEW)
    return two


def fill(path: Path, crowd: Crowd) -> None:
    """Make a file and write the crowd."""
    duerow.connect(f"sqlite:///{path}", migrate=True).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for text in insertions(Sqlite(), "duerow_message", crowd):
            connection.execute(text)
        connection.execute(on_sqlite(crowd.history))
        connection.commit()


@pytest.fixture(scope="module")
def leased(files: Two) -> dict[Path, Leased]:
    """The messages that operations are about, in each file."""
    found: dict[Path, Leased] = {}
    for path in (files.lonely, files.crowded):
        with duerow.connect(f"sqlite:///{path}") as database:
            found[path] = OnSqlite(database).leased()
    return found


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_operation_finds_its_rows_by_an_index_and_a_crowd_makes_it_take_no_more_steps(
    files: Two, leased: dict[Path, Leased], operation: Operation
) -> None:
    instructions = []
    for path in (files.lonely, files.crowded):
        with duerow.connect(f"sqlite:///{path}") as database:
            examining = OnSqlite(database)
            examined = examining.examine(operation.plan(examining.store, leased[path]))
        assert examined.steps
        assert examined.scans == []
        assert examined.indexes <= operation.indexes, examined.indexes
        if operation.sorts is None:
            assert examined.sorts == []
        instructions.append(examined.instructions)
    lonely, crowded = instructions
    assert crowded <= lonely + MARGIN * ROW
