"""What the doctor finds on PostgreSQL alone."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
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
    settings = {
        "default_transaction_isolation": ("serializable", "isolation"),
        "statement_timeout": ("2s", "short-timeout"),
        "synchronous_commit": ("off", "setting-synchronous-commit"),
    }
    options = " ".join(f"-c {name}={value}" for name, (value, _) in settings.items())
    engine = create_engine(make_url(place.url).set(drivername="postgresql+psycopg"), connect_args={"options": options})
    with duerow.connect(engine, **place.settings) as database:
        found = {one.code for one in examine(database)}
    engine.dispose()
    assert {code for _, code in settings.values()} <= found


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
            assert "rights-partly" in codes(database)
    finally:
        superuser.execute(f"DROP OWNED BY {name}")
        superuser.execute(f"DROP ROLE {name}")


def test_notifications_that_a_pooler_drops_are_found(place: Place):
    with pooler(place.url) as url, duerow.connect(f"{url}&prepare_threshold=none", **place.settings) as database:
        assert codes(database) == {"pushes-unheard"}
