"""On PostgreSQL each statement uses its index, sorts no queue, and looks at no more rows than it is about."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import sql

import duerow
from duerow.store import Committed, Turn
from duerow.stores.sql.plans.store import SqlStore
from duerow.testing.conformance.fixtures import Place
from tests.plans.bulk_rows import FULL, SMALL, Crowd, insertions
from tests.plans.explain import OnPostgresql
from tests.plans.history import on_postgresql
from tests.plans.operations import OPERATIONS, Leased, Operation

MARGIN = 50
"""How many rows more than it is about an operation may look at."""

FOR_PEOPLE = {"find by key", "remove", "the newest of all queues", "the queues", "peek of groups"}
"""Operations that may read more after a vacuum that found almost no rows, until the tables are analyzed."""


class Postgresql:
    """How PostgreSQL writes the crowd."""

    def series(self, count: int) -> str:
        return f"generate_series(1, {count}) AS numbers(n)"

    def moment(self, seconds: str) -> str:
        return f"statement_timestamp() + ({seconds}) * INTERVAL '1 second'"


@dataclass(frozen=True)
class Crowded:
    """Where the crowd is, and how large."""

    place: Place
    crowd: Crowd


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(SMALL, id="small"),
        pytest.param(FULL, id="full", marks=[pytest.mark.soak, pytest.mark.timeout(1_800)]),
    ],
)
def crowded(request: pytest.FixtureRequest, postgresql_url: str) -> Iterator[Crowded]:
    """Tables with a crowd in them."""
    with filled(postgresql_url, request.param) as crowded:
        yield crowded


@pytest.fixture(scope="module", params=[0, 10], ids="{} rows".format)
def vacuumed(request: pytest.FixtureRequest, postgresql_url: str) -> Iterator[Crowded]:
    """Tables with a crowd that came after a vacuum, which found so many rows, and before the next ANALYZE."""
    with filled(postgresql_url, SMALL) as crowded, closing(psycopg.connect(postgresql_url, autocommit=True)) as server:
        found = "reltuples = %s WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'i')"
        server.execute(f"UPDATE pg_class SET {found}", (request.param, crowded.place.settings["schema"]))
        yield crowded


@contextmanager
def filled(url: str, crowd: Crowd) -> Iterator[Crowded]:
    """Write a crowd into tables of their own, and drop them at the end."""
    place = Place(url, {"schema": f"crowd_{uuid.uuid4().hex[:12]}"})
    schema = sql.Identifier(place.settings["schema"])
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        duerow.connect(place.url, migrate=True, **place.settings).close()
        try:
            fill(connection, place.settings["schema"], crowd)
            yield Crowded(place, crowd)
        finally:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(schema))


def fill(connection: psycopg.Connection, schema: str, crowd: Crowd) -> None:
    """Write the crowd."""
    for text in insertions(Postgresql(), f"{schema}.duerow_message", crowd):
        connection.execute(text.encode())
    connection.execute(on_postgresql(schema, crowd.history).encode())
    connection.execute("VACUUM ANALYZE")


@pytest.fixture
def examining(crowded: Crowded) -> Iterator[OnPostgresql]:
    """A handle that knows nothing of the crowd yet."""
    with duerow.connect(crowded.place.url, **crowded.place.settings) as database:
        yield OnPostgresql(database)


@pytest.fixture(scope="module")
def leased(crowded: Crowded) -> Leased:
    """The messages that operations are about."""
    with duerow.connect(crowded.place.url, **crowded.place.settings) as database:
        return OnPostgresql(database).leased()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_operation_finds_its_rows_by_an_index_and_looks_at_no_others(
    crowded: Crowded, examining: OnPostgresql, leased: Leased, operation: Operation
) -> None:
    examined = examining.examine(operation.plan(examining.store, leased))
    assert examined.steps
    assert examined.scans == []
    assert examined.indexes <= operation.indexes, examined.indexes
    assert examined.most <= operation.count + MARGIN, examined.busiest
    if operation.sorts is None:
        assert examined.sorts == []


@pytest.mark.parametrize(
    "operation",
    [operation for operation in OPERATIONS if operation.name not in FOR_PEOPLE],
    ids=lambda operation: operation.name,
)
def test_a_worker_finds_rows_by_their_index_even_if_the_last_vacuum_found_almost_none(
    vacuumed: Crowded, operation: Operation
) -> None:
    with duerow.connect(vacuumed.place.url, **vacuumed.place.settings) as database:
        examining = OnPostgresql(database)
        examined = examining.examine(operation.plan(examining.store, examining.leased()))
    assert examined.scans == []
    assert examined.most <= operation.count + MARGIN, examined.busiest


def test_the_next_of_a_group_is_found_by_its_index_even_if_statistics_promise_one_soon(postgresql_url: str) -> None:
    place = Place(postgresql_url, {"schema": f"one_group_{uuid.uuid4().hex[:12]}"})
    schema = place.settings["schema"]
    with (
        closing(psycopg.connect(postgresql_url, autocommit=True)) as connection,
        duerow.connect(place.url, migrate=True, **place.settings) as database,
    ):
        try:
            queue, others = database.queue("q"), database.queue("others")
            others.push_many([duerow.Draft(n) for n in range(2_000)])
            for start in range(0, 2_000, 20):  # in turns, so that the index of groups leads here and there
                queue.push_many([duerow.Draft(n, group="only") for n in range(start, start + 20)])
                others.push_many([duerow.Draft(n, group="only") for n in range(start, start + 20)])
            (head,) = queue.reserve_many(1)
            # A third of all messages are of the group: whoever reads by id expects to meet one soon.
            connection.execute("VACUUM ANALYZE")
            store: SqlStore = database.store  # type: ignore[assignment]
            turn = Turn(head.receipt, Committed(), ("q", "only"))
            examined = OnPostgresql(database).examine(store.messages.settle([turn]))
            assert examined.indexes == {"id", "group"}
            assert examined.most <= MARGIN, examined.busiest
        finally:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
