"""What the doctor finds on PostgreSQL alone."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Set
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

import duerow
from duerow.doctor import examine
from duerow.stores.sql.dialects.postgresql import diagnosis
from duerow.testing.conformance.fixtures import Place
from tests.servers import postgresql
from tests.servers.fixtures import provide
from tests.stores.postgresql.pooler import pooler

AT_ONCE = timedelta(0)


OF_THE_TESTS = {"setting-fsync", "setting-full-page-writes", "setting-synchronous-commit"}
"""The server of the tests is not durable, which the doctor says."""

OF_EARLIER_TESTS = {"autovacuum-behind"}
"""Dead rows that earlier tests left in the tables that they share."""


def codes(database: duerow.Database, patience: timedelta = timedelta(minutes=5)) -> set[str]:
    return {one.code for one in examine(database, patience=patience)} - OF_THE_TESTS - OF_EARLIER_TESTS


@pytest.fixture
def database(place: Place) -> Iterator[duerow.Database]:
    with duerow.connect(place.url, **place.settings) as database:
        yield database


@pytest.fixture
def own(bare_place: Place) -> Iterator[duerow.Database]:
    """Tables that a test may damage."""
    with duerow.connect(bare_place.url, migrate=True, **bare_place.settings) as database:
        yield database


def test_a_sound_database_without_trouble_has_no_findings(database: duerow.Database):
    assert codes(database) == set()


def test_an_index_that_was_dropped_is_found(own: duerow.Database, bare_place: Place, superuser: psycopg.Connection):
    schema = bare_place.settings["schema"]
    superuser.execute(f"DROP INDEX {schema}.duerow_message_due")
    found = {one.code: one for one in examine(own)}
    assert found["index-missing"].where == "duerow_message_due"
    superuser.execute(found["index-missing"].todo.removeprefix("Create it: "))
    assert codes(own) == set()


def test_an_index_that_cannot_be_used_is_found(own: duerow.Database, bare_place: Place, superuser: psycopg.Connection):
    schema = bare_place.settings["schema"]
    superuser.execute(f"ALTER TABLE {schema}.duerow_message ADD COLUMN twice integer DEFAULT 1")
    own.queue("mail").push_many([duerow.Draft(1), duerow.Draft(2)])
    with pytest.raises(psycopg.errors.UniqueViolation):
        superuser.execute(f"CREATE UNIQUE INDEX CONCURRENTLY twice ON {schema}.duerow_message (twice)")
    assert codes(own) == {"index-unusable"}


def test_a_table_that_is_not_vacuumed_is_found(
    own: duerow.Database, bare_place: Place, superuser: psycopg.Connection, monkeypatch
):
    monkeypatch.setattr(diagnosis, "FEW_DEAD", 100)
    table = f"{bare_place.settings['schema']}.duerow_message"
    superuser.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
    queue = own.queue("mail")
    queue.push_many([duerow.Draft(number) for number in range(500)])
    while taken := queue.pop_many(500):
        assert taken
    superuser.execute(f"ANALYZE {table}")
    assert {one.code for one in examine(own)} - OF_THE_TESTS == {"autovacuum-off", "autovacuum-behind"}


def test_an_index_that_is_bloated_is_found(
    own: duerow.Database, bare_place: Place, superuser: psycopg.Connection, monkeypatch
):
    monkeypatch.setattr(diagnosis, "SMALL_INDEX", 50_000)
    table = f"{bare_place.settings['schema']}.duerow_message"
    superuser.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
    queue = own.queue("mail")
    queue.push_many([duerow.Draft(number) for number in range(5_000)])
    superuser.execute(f"ANALYZE {table}")
    assert "index-bloated" not in codes(own)
    queue.purge("mail")
    superuser.execute(f"ANALYZE {table}")
    assert "index-bloated" in codes(own)
    superuser.execute(f"REINDEX TABLE {table}")
    assert "index-bloated" not in codes(own)


def test_a_transaction_that_stays_open_is_found(database: duerow.Database, postgresql_url: str):
    with closing(psycopg.connect(postgresql_url)) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT 1")
        assert codes(database) == set()
        found = {one.code: one for one in examine(database, patience=AT_ONCE)}
        assert found["old-snapshot"].where == f"pid {other.info.backend_pid}"


def test_a_setting_of_a_role_that_does_harm_is_found(place: Place):
    assert found_with(place, default_transaction_isolation="serializable") == {"isolation"}
    assert found_with(place, statement_timeout="2s") == {"short-timeout"}
    assert "setting-synchronous-commit" in found_with(place, OF_EARLIER_TESTS, synchronous_commit="off")
    read_only = found_with(place, default_transaction_read_only="on")
    assert read_only == {"setting-default-transaction-read-only", "cannot-push"}


def found_with(place: Place, expected: Set[str] = OF_THE_TESTS | OF_EARLIER_TESTS, **settings: str) -> set[str]:
    """Return what is found by sessions with these settings, besides what is expected."""
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    engine = create_engine(make_url(place.url).set(drivername="postgresql+psycopg"), connect_args={"options": options})
    with duerow.connect(engine, **place.settings) as database:
        found = {one.code for one in examine(database)} - expected
    engine.dispose()
    return found


@pytest.fixture
def replicated(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, Callable[[], None]]]:
    yield from provide("postgresql", postgresql.with_standby, request.config)


def test_a_careless_server_its_standby_and_what_was_left_on_it_are_found(
    replicated: tuple[str, str, Callable[[], None]],
):
    url, other, end_standby = replicated
    with duerow.connect(url, migrate=True) as database, closing(psycopg.connect(url)) as program:
        program.tpc_begin("left")
        program.execute("SELECT pg_current_xact_id()")
        program.tpc_prepare()
        found = {one.code: one for one in examine(database, patience=AT_ONCE)}
        assert {"setting-fsync", "setting-full-page-writes", "setting-autovacuum"} <= set(found)
        assert "left" in found["old-prepared"].where
        with closing(psycopg.connect(url, autocommit=True)) as watcher:
            while True:  # until the standby has it all, and has said what it reads
                state = watcher.execute(
                    "SELECT xmin IS NOT NULL AND replay_lsn >= pg_current_wal_lsn() FROM pg_replication_slots "
                    "JOIN pg_stat_replication ON pid = active_pid"
                ).fetchone()
                if state == (True,):
                    break
                time.sleep(0.05)
        assert "idle-slot" not in found
        with duerow.connect(other) as standby:
            assert {"standby", "cannot-push"} <= codes(standby)
        end_standby()
        assert {one.code: one.where for one in examine(database)}["idle-slot"] == "standby"


def test_what_the_rights_of_a_user_allow_is_found(place: Place, superuser: psycopg.Connection):
    name, schema = f"role_{uuid.uuid4().hex[:8]}", place.settings["schema"]
    superuser.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'x'").format(sql.Identifier(name)))
    superuser.execute(f"GRANT USAGE ON SCHEMA {schema} TO {name}")
    superuser.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {name}")
    url = make_url(place.url).set(username=name, password="x").render_as_string(hide_password=False)
    try:
        with duerow.connect(url, **place.settings) as database:
            assert codes(database) == {"rights", "cannot-push"}
        with duerow.connect(place.url, **place.settings) as administrator:
            for statement in administrator.roles_sql(producer=name).split("\n\n")[0].splitlines():
                if name in statement and not statement.startswith("--"):
                    superuser.execute(statement)
        with duerow.connect(url, **place.settings) as database:
            assert codes(database) == {"rights-partly"}  # one that may only push is not told that it cannot
        superuser.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {name}")
        for more, expected in (("INSERT", "cannot-reserve"), ("UPDATE", "cannot-settle")):
            superuser.execute(f"GRANT SELECT, {more} ON ALL TABLES IN SCHEMA {schema} TO {name}")
            with duerow.connect(url, **place.settings) as database:
                assert codes(database) == {"rights", expected}
        superuser.execute("REVOKE SELECT ON pg_catalog.pg_prepared_xacts FROM PUBLIC")
        with duerow.connect(url, **place.settings) as database:
            (found,) = [one for one in examine(database) if one.code == "not-checked"]
            assert found.where == "snapshots"
    finally:
        superuser.execute("GRANT SELECT ON pg_catalog.pg_prepared_xacts TO PUBLIC")
        superuser.execute(f"DROP OWNED BY {name}")
        superuser.execute(f"DROP ROLE {name}")


def test_notifications_that_a_pooler_drops_are_found(place: Place):
    with pooler(place.url) as url, duerow.connect(f"{url}&prepare_threshold=none", **place.settings) as database:
        assert codes(database) == {"pushes-unheard"}
