"""On MySQL and MariaDB no operation reads more rows in a crowd than it does beside few messages."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

import duerow
from duerow.testing.conformance.fixtures import Place
from tests.plans.bulk_rows import FEW, FULL, SMALL, Crowd, insertions
from tests.plans.explain import OnMariadb
from tests.plans.history import on_mariadb
from tests.plans.operations import OPERATIONS, Leased, Operation
from tests.servers.fixtures import ON_MYSQL
from tests.stores.mariadb.callers import opened

MARGIN = 150
"""How many rows more an operation may read in the crowd."""


class Mariadb:
    """How MariaDB writes the crowd."""

    prepare = "SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'"

    def series(self, count: int) -> str:
        return f"(SELECT CAST(seq AS SIGNED) AS n FROM seq_1_to_{max(count, 1)} WHERE {count} > 0) AS numbers"

    def moment(self, seconds: str) -> str:
        return f"TIMESTAMPADD(MICROSECOND, ({seconds}) * 1000000, UTC_TIMESTAMP(6))"


class Mysql(Mariadb):
    """How MySQL does."""

    prepare = f"{Mariadb.prepare}, cte_max_recursion_depth = 10000000"

    def series(self, count: int) -> str:
        counted = f"SELECT 1 AS n UNION ALL SELECT n + 1 FROM counted WHERE n < {count}"
        return f"(WITH RECURSIVE counted AS ({counted}) SELECT n FROM counted WHERE {count} > 0) AS numbers"


APART = 10_000_000
"""How many ids each statement that writes the crowd has."""


def with_ids(text: str, place: int) -> str:
    """Return an INSERT with ids, which MySQL's table does not make."""
    return text.replace("(queue,", "(id, queue,", 1).replace("SELECT ", f"SELECT {place * APART} + n, ", 1)


@dataclass(frozen=True)
class Two:
    """A database with a crowd, and one with few messages."""

    crowded: Place
    lonely: Place


@pytest.fixture(scope="module", params=["mariadb", *ON_MYSQL])
def server(request: pytest.FixtureRequest) -> str:
    """Which of the two."""
    name: str = request.param
    return name


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(SMALL, id="small"),
        pytest.param(FULL, id="full", marks=[pytest.mark.soak, pytest.mark.timeout(1_800)]),
    ],
)
def databases(request: pytest.FixtureRequest, server: str) -> Iterator[Two]:
    """Both, written."""
    url = request.getfixturevalue(f"{server}_url")
    dialect = Mysql() if server == "mysql" else Mariadb()
    places = [Place(url, {"schema": f"crowd_{uuid.uuid4().hex[:12]}"}) for _ in range(2)]
    with closing(opened(url, autocommit=True)) as connection, connection.cursor() as cursor:
        cursor.execute(dialect.prepare)
        try:
            for place, crowd in zip(places, (request.param, FEW), strict=True):
                fill(cursor, place, crowd, dialect)
            yield Two(*places)
        finally:
            for place in places:
                cursor.execute(f"DROP DATABASE IF EXISTS {place.settings['schema']}")


def fill(cursor: object, place: Place, crowd: Crowd, dialect: Mariadb) -> None:
    """Make the tables and write the crowd."""
    duerow.connect(place.url, migrate=True, **place.settings).close()
    schema = place.settings["schema"]
    texts = [
        text.replace(", key, kind", ', "key", kind') for text in insertions(dialect, f"{schema}.duerow_message", crowd)
    ]
    if isinstance(dialect, Mysql):
        texts = [with_ids(text, place) for place, text in enumerate(texts)]
        cursor.execute(f"ALTER TABLE {schema}.duerow_message_id AUTO_INCREMENT = {len(texts) * APART}")  # type: ignore[attr-defined]
    for text in [*texts, on_mariadb(schema, dialect.series(crowd.history))]:
        cursor.execute(text)  # type: ignore[attr-defined]
    cursor.execute(f"ANALYZE TABLE {schema}.duerow_message, {schema}.duerow_history")  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def leased(databases: Two) -> dict[str, Leased]:
    """The messages that operations are about, in each database."""
    found: dict[str, Leased] = {}
    for place in (databases.lonely, databases.crowded):
        with duerow.connect(place.url, **place.settings) as database:
            found[place.settings["schema"]] = OnMariadb(database).leased()
    return found


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_operation_reads_no_more_rows_in_a_crowd(
    databases: Two, leased: dict[str, Leased], operation: Operation
) -> None:
    read = []
    for place in (databases.lonely, databases.crowded):
        with duerow.connect(place.url, **place.settings) as database:
            examining = OnMariadb(database)
            examined = examining.examine(operation.plan(examining.store, leased[place.settings["schema"]]))
        assert examined.steps
        read.append(examined)
    lonely, crowded = read
    # The crowd has a line more; what is counted of it is read, written to a table and read again.
    assert crowded.instructions <= lonely.instructions + 3 * operation.count + MARGIN, crowded.busiest
