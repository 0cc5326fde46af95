"""What the doctor finds on MariaDB and MySQL alone."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

import duerow
from duerow.cli.options import unchecked
from duerow.doctor import examine
from duerow.testing.conformance.fixtures import Place
from tests.stores.mariadb.callers import opened

AT_ONCE = timedelta(0)

OF_THE_TESTS = {"lazy-commits"}
"""The server of the tests is not durable, which the doctor says."""


def codes(database: duerow.Database) -> set[str]:
    return {one.code for one in examine(database)} - OF_THE_TESTS


@pytest.fixture
def database(place: Place) -> Iterator[duerow.Database]:
    with duerow.connect(place.url, **place.settings) as database:
        yield database


def test_a_sound_database_without_trouble_has_no_findings(database: duerow.Database):
    assert codes(database) == set()


def test_an_index_that_was_dropped_is_found(database: duerow.Database, place: Place, superuser: Any):
    table = f"`{place.settings['schema']}`.duerow_message"
    superuser.execute(f"DROP INDEX duerow_message_stopped ON {table}")
    found = {one.code: one for one in examine(database)}
    superuser.execute(found["index-missing"].todo.removeprefix("Create it: "))
    assert codes(database) == set()


def test_packets_that_are_too_small_are_found(place: Place, superuser: Any):
    superuser.execute("SELECT @@global.max_allowed_packet")
    before = superuser.fetchone()[0]
    superuser.execute("SET GLOBAL max_allowed_packet = 1048576")
    try:
        with closing(unchecked(place.url, "duerow_", place.settings["schema"])) as database:
            assert {"unfit", "small-packets"} <= codes(database)
    finally:
        superuser.execute(f"SET GLOBAL max_allowed_packet = {before}")


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [("innodb_flush_log_at_trx_commit", "2", "lazy-commits"), ("read_only", "1", "read-only")],
)
def test_a_setting_of_the_server_that_does_harm_is_found(
    database: duerow.Database, superuser: Any, name: str, value: str, code: str
):
    superuser.execute(f"SELECT @@global.{name}")
    before = superuser.fetchone()[0]
    superuser.execute(f"SET GLOBAL {name} = {value}")
    try:
        assert code in {one.code for one in examine(database)}
    finally:
        superuser.execute(f"SET GLOBAL {name} = {before}")


def test_a_check_for_which_a_user_lacks_rights_is_told(place: Place, superuser: Any):
    name, schema = f"user_{uuid.uuid4().hex[:8]}", place.settings["schema"]
    superuser.execute(f"CREATE USER '{name}'@'%' IDENTIFIED BY 'x'")
    superuser.execute(f"GRANT ALL ON `{schema}`.* TO '{name}'@'%'")
    url = make_url(place.url).set(username=name, password="x", database=schema).render_as_string(hide_password=False)
    try:
        with duerow.connect(url, **place.settings) as database:
            (found,) = [one for one in examine(database) if one.code not in OF_THE_TESTS]
            assert (found.code, found.where) == ("not-checked", "snapshots")
    finally:
        superuser.execute(f"DROP USER '{name}'@'%'")


def test_an_isolation_of_the_users_own_engine_that_locks_gaps_is_found(place: Place):
    engine = create_engine(make_url(place.url).set(drivername="mysql+pymysql"), isolation_level="REPEATABLE READ")
    with duerow.connect(engine, **place.settings) as database:
        assert "isolation" in codes(database)
    engine.dispose()


def test_a_server_that_soon_hangs_up_is_found(place: Place):
    engine = create_engine(
        make_url(place.url).set(drivername="mysql+pymysql"),
        isolation_level="READ COMMITTED",
        connect_args={"init_command": "SET SESSION wait_timeout = 10"},
    )
    with duerow.connect(engine, **place.settings) as database:
        assert codes(database) == {"short-timeout"}
    engine.dispose()


def test_a_transaction_that_stays_open_is_found(database: duerow.Database, place: Place, server_url: str):
    with closing(opened(server_url, autocommit=False)) as other:
        cursor = other.cursor()
        cursor.execute(f"SELECT * FROM `{place.settings['schema']}`.duerow_message")
        time.sleep(0.2)  # InnoDB lists transactions anew once nobody has asked for a tenth of a second
        assert "old-snapshot" not in codes(database)
        found = {one.code: one for one in examine(database, patience=AT_ONCE)}
        assert found["old-snapshot"].where == f"connection {other.thread_id()}"
        other.rollback()
