"""What the server says is told as what it means, and servers that cannot keep the promises are refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pymysql
import pytest
from sqlalchemy import create_mock_engine, make_url

import duerow
from duerow import Commit, Draft, Rollback
from duerow.errors import (
    ConfigurationError,
    Conflict,
    DuerowError,
    SchemaOutdated,
    StoreRefused,
    StoreUnavailable,
)
from duerow.stores.sql.connections.engines import RESTED
from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.mysql.mysql import MySQL
from duerow.stores.sql.dialects.mysql.versions import MARIADB, MYSQL, met, presumed
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face, unwrapped
from duerow.testing.faults import at, watch
from tests.stores.mariadb.callers import opened

MEANINGS: list[tuple[list[int], type[DuerowError]]] = [
    ([1205, 1213, 1062, 1020], Conflict),
    ([2003, 2006, 2013, 1927, 1040, 1053, 1290, 1021, 1114, 1317], StoreUnavailable),
    ([1044, 1045, 1049, 1142], ConfigurationError),
    ([1146, 1054], SchemaOutdated),
    ([1406, 1064, 1153, 1046], StoreRefused),
]


@pytest.mark.parametrize(("codes", "meaning"), MEANINGS, ids=[meaning.__name__ for _, meaning in MEANINGS])
def test_each_number_of_an_error_has_its_meaning(codes: list[int], meaning: type[DuerowError]) -> None:
    for code in codes:
        for dialect in (MariaDB(), MySQL()):
            found = dialect.explain(pymysql.err.OperationalError(code, "as the server says"))
            assert type(found) is meaning, code
            assert dialect.product in str(found) or meaning in (SchemaOutdated, StoreRefused)


ROOM = 16 << 20
"""Bytes of a packet that are enough."""


def test_servers_that_cannot_keep_the_promises_are_refused() -> None:
    check = MariaDB().check_server
    check(("10.11.6-MariaDB", 0, "STATEMENT", ROOM))
    check(("5.5.5-10.6.0-MariaDB-log", 1, "MIXED", ROOM))
    check(("11.4.2-MariaDB", 1, "ROW", ROOM))
    for row, why in (
        (("10.5.22-MariaDB", 0, "ROW", ROOM), "10.6 or later"),
        (("10.11.6-MariaDB", 1, "STATEMENT", ROOM), "binlog_format"),
        (("10.11.6-MariaDB", 1, "ROW", ROOM - 1), "SET GLOBAL max_allowed_packet = 16777216"),
    ):
        with pytest.raises(ConfigurationError, match=why):
            check(row)
    check = MySQL().check_server
    check(("8.0.19-log", 0, "STATEMENT", ROOM))
    check(("9.7.4-2", 1, "ROW", ROOM))
    for row, why in (
        (("5.7.44", 0, "ROW", ROOM), "MySQL 5.7.44; duerow needs 8.0.19"),
        (("8.0.11-TiDB-v7.5.0", 0, "ROW", ROOM), "duerow needs 8.0.19"),
        (("8.4.3", 1, "STATEMENT", ROOM), "binlog_format"),
    ):
        with pytest.raises(ConfigurationError, match=why):
            check(row)


def test_a_moment_that_an_older_mysql_gives_as_text_is_one() -> None:
    read = MYSQL.moment_reader(None)
    assert read is not None
    assert read("2026-01-02 03:04:05.000006") == read(datetime(2026, 1, 2, 3, 4, 5, 6))
    assert read("2026-01-02 03:04:05.000006").tzinfo is UTC


def test_which_server_it_is_a_connection_tells_and_not_its_address() -> None:
    driver, greeted = create_mock_engine("mysql+pymysql://", print).dialect, SimpleNamespace
    assert presumed("mysql://host/base") is MYSQL
    assert presumed("mariadb+pymysql://host/base") is MARIADB
    assert met(driver, greeted(get_server_info=lambda: "9.7.0")) is MYSQL
    assert met(driver, greeted(get_server_info=lambda: "5.5.5-10.11.6-MariaDB-1")) is MARIADB
    asked = SimpleNamespace(server_version_info=(10, 11), is_mariadb=True)
    assert met(asked, greeted(get_server_info=lambda: "8.0.11 of a proxy")) is MARIADB


def test_an_address_that_names_the_other_server_leads_to_the_same_queues(face: Face, place: Place) -> None:
    for number, scheme in enumerate(("mysql://", "mariadb://")):
        with face.connect(place.url.replace("mysql://", scheme), **place.settings) as db:
            db.queue("mail").push_many([Draft(number), Draft(number, key=scheme)])
    with face.connect(place.url, **place.settings) as db:
        assert sorted(message.payload for message in db.queue("mail").pop_many(9)) == [0, 0, 1, 1]


@pytest.fixture
def end_sessions(superuser: Any) -> Callable[[], None]:
    """A function that ends all sessions that this test began, and waits until they are gone."""
    superuser.execute("SELECT MAX(id) FROM information_schema.processlist")
    ((last,),) = superuser.fetchall()

    def end() -> None:
        others = f"SELECT id FROM information_schema.processlist WHERE user = 'root' AND id > {last}"
        superuser.execute(others)
        for (id,) in superuser.fetchall():
            superuser.execute(f"KILL {id}")
        while superuser.execute(others):
            time.sleep(0.01)

    return end


def test_a_session_that_was_ended_is_not_used_again(
    face: Face, place: Place, end_sessions: Callable[[], None], bytewise: str
) -> None:
    with face.connect(place.url, **place.settings) as db:
        queue = db.queue("mail")
        queue.push(1)
        end_sessions()
        with pytest.raises(StoreUnavailable) as broken:
            queue.push(2)
        # On MySQL a push is a transaction, and broke off before its end.
        assert broken.value.outcome == ("none" if bytewise == MYSQL.bytewise else "unknown")
        queue.push(3)
        assert [message.payload for message in queue.find()] == [1, 3]


def test_a_session_that_ended_while_it_rested_is_replaced_before_it_is_used(
    face: Face, place: Place, end_sessions: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with face.connect(place.url, **place.settings) as db:
        queue = db.queue("mail")
        queue.push(1)
        end_sessions()
        now = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: now() + 2 * RESTED)
        queue.push(2)
        assert [message.payload for message in queue.find()] == [1, 2]


def test_the_pool_logs_nothing_of_the_idle_connections_that_a_server_has_ended(
    place: Place, end_sessions: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    with duerow.connect(place.url, **place.settings) as db:
        with db.connections.open(), db.connections.open(), db.connections.open():
            pass  # three connections rest now
        end_sessions()
        with pytest.raises(StoreUnavailable):
            db.queue("mail").push(1)
        with db.connections.open(), db.connections.open():
            pass
        end_sessions()
    assert [(one.name, one.getMessage()) for one in caplog.records if one.name.startswith("sqlalchemy")] == []


def test_a_connection_that_drops_in_mid_transaction_leaves_nothing_half_done(
    face: Face, place: Place, end_sessions: Callable[[], None]
) -> None:
    with face.connect(place.url, **place.settings) as db:
        watch(unwrapped(db), at("reserve: step 1", end_sessions))
        queue = db.queue("mail")
        queue.push_many([Draft(number, group="g" if number else None) for number in range(3)])
        with pytest.raises(StoreUnavailable):
            queue.reserve_many(3)
        assert [(message.attempts, message.leased_by) for message in queue.find()] == [(0, None)] * 3
        assert [one.attempt for one in queue.reserve_many(3)] == [1, 1]


@pytest.mark.parametrize(
    ("change", "repair", "why"),
    [
        (
            "ENGINE=MyISAM",
            "ENGINE=InnoDB",
            "part uses MyISAM, which cannot roll back a transaction.* ENGINE=InnoDB",
        ),
        (
            "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            "CONVERT TO CHARACTER SET utf8mb4 COLLATE {bytewise}",
            "column content of table duerow_part compares text with utf8mb4_general_ci.* COLLATE {bytewise}",
        ),
    ],
    ids=["engine", "collation"],
)
def test_tables_that_cannot_keep_the_promises_are_refused_when_a_handle_is_opened(
    face: Face, bare_place: Place, superuser: Any, bytewise: str, change: str, repair: str, why: str
) -> None:
    face.connect(bare_place.url, migrate=True, **bare_place.settings).close()
    table = f"`{bare_place.settings['schema']}`.duerow_part"
    superuser.execute(f"ALTER TABLE {table} {change}")
    for migrate in (False, True):
        with pytest.raises(ConfigurationError, match=why.format(bytewise=bytewise)):
            face.connect(bare_place.url, migrate=migrate, **bare_place.settings)
    superuser.execute(f"ALTER TABLE {table} {repair.format(bytewise=bytewise)}")
    face.connect(bare_place.url, **bare_place.settings).close()


def test_a_transaction_that_lost_in_a_deadlock_is_carried_out_again(place: Place, superuser: Any) -> None:
    message = f"`{place.settings['schema']}`.duerow_message"
    with duerow.connect(place.url, **place.settings) as db, closing(opened(place.url)) as rival:
        queue = db.queue("mail")
        queue.push_many([Draft(1), Draft(2)])
        first, second = queue.reserve_many(2)
        cursor = rival.cursor()
        # The one that has written less is the victim: the rival writes more, and holds the second row.
        cursor.executemany(
            f"INSERT INTO {message}"
            " (id, queue, kind, payload, priority, status, first_due_at, attempts, token, created_at)"
            " VALUES (1000000 + %s, 'sms', 'json', '1', 0, 'new', NOW(), 0, 0, NOW())",
            [[number] for number in range(100)],
        )
        cursor.execute(f"UPDATE {message} SET attempts = attempts + 1 WHERE id = %s", [second.message.id])
        refused: list[Any] = []
        endings = [(first, Commit()), (second, Rollback(timedelta(minutes=1)))]
        settling = threading.Thread(target=lambda: refused.append(queue.settle(endings)))
        settling.start()
        wait_until_locked(superuser)
        cursor.execute(f"UPDATE {message} SET attempts = attempts + 1 WHERE id = %s", [first.message.id])
        rival.commit()
        settling.join(30)
        assert refused == [[]]
        assert [(message.payload, message.status) for message in queue.find()] == [(2, "error")]


def wait_until_locked(superuser: Any) -> None:
    """Return once a transaction waits for a lock."""
    waiting = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
    for _ in range(100):
        if superuser.execute(waiting):
            return
        time.sleep(0.2)  # the view is made anew only when nobody looked for a tenth of a second
    raise AssertionError("nobody waits")


def test_a_url_of_no_database_or_with_options_that_the_driver_does_not_know_is_refused_in_a_line(
    face: Face, server_url: str
) -> None:
    url = make_url(server_url)
    for wrong, says in (
        (url.set(database="nowhere"), r"no such database \(error 1049\).*CREATE DATABASE"),
        (url.update_query_dict({"colour": "red"}), "cannot connect with this URL, TypeError: .*colour"),
    ):
        with pytest.raises(ConfigurationError, match=says):
            face.connect(wrong.render_as_string(False), migrate=True)
    with pytest.raises(StoreRefused, match=r"no database is named.*schema=") as refused:
        face.connect(server_url.rpartition("/")[0], migrate=True)
    assert "Hand this" not in str(refused.value)  # nobody has to run any SQL for that


@pytest.fixture
def humble(server_url: str, superuser: Any) -> Iterator[str]:
    """The URL of a user without any rights to create."""
    superuser.execute("CREATE USER 'humble'@'127.0.0.1' IDENTIFIED BY 'pw'")
    url = make_url(server_url)
    superuser.execute(f"GRANT SELECT ON `{url.database}`.* TO 'humble'@'127.0.0.1'")
    yield url.set(username="humble", password="pw").render_as_string(False)
    superuser.execute("DROP USER 'humble'@'127.0.0.1'")


def test_a_user_without_the_right_to_create_is_told_what_to_hand_to_whom_and_works_on_tables_that_are_there(
    face: Face, humble: str, bare_place: Place, superuser: Any
) -> None:
    schema = bare_place.settings["schema"]
    with pytest.raises(ConfigurationError, match=r"(?s)not let this user.*Hand this to.*CREATE TABLE"):
        face.connect(humble, migrate=True, **bare_place.settings)
    face.connect(bare_place.url, migrate=True, **bare_place.settings).close()
    superuser.execute(f"GRANT SELECT ON `{schema}`.* TO 'humble'@'127.0.0.1'")
    with face.connect(humble, **bare_place.settings) as database:
        with pytest.raises(ConfigurationError, match=r"does not let this user do that \(error 1142\)"):
            database.queue("mail").push("hello")
        assert database.queue("mail").count() == 0
    superuser.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON `{schema}`.* TO 'humble'@'127.0.0.1'")
    with face.connect(humble, migrate=True, **bare_place.settings) as database:
        queue = database.queue("mail")
        queue.push("hello", key="m-1")
        with queue.reserving() as message:
            assert message is not None
        assert queue.count() == 0
        indexed = database.queue("mail", indexed={"to": str})
        with pytest.raises(ConfigurationError, match=r"(?s)not let this user.*Hand this to.*CREATE INDEX"):
            indexed.declare()


SECRET = "the-secret-of-a-payload"


@pytest.mark.parametrize("dialect", [MariaDB(), MySQL()], ids=["mariadb", "mysql"])
@pytest.mark.parametrize(
    ("code", "text", "told"),
    [
        (1062, f"Duplicate entry 'mail-it's for key 'x' {SECRET}' for key 'live_key'", "for key live_key"),
        (1366, f"Incorrect string value: '{SECRET}' for column `shop`.`m`.`payload` at row 1", "(error 1366)"),
        (1064, f"You have an error in your SQL syntax near '{SECRET}'", "(error 1064)"),
        (4025, "CONSTRAINT `none_so_urgent` failed for `shop`.`duerow_message`", "none_so_urgent"),
        (1406, "Data too long for column 'key' at row 1", "column 'key'"),
    ],
)
def test_an_error_of_the_database_names_key_and_column_and_repeats_no_value(
    dialect: Any, code: int, text: str, told: str
) -> None:
    found = str(dialect.explain(pymysql.err.IntegrityError(code, text)))
    assert told in found
    assert SECRET not in found


def test_what_the_server_refuses_of_a_row_is_told_without_its_values(face: Face, server_url: str) -> None:
    prefix = "refusing_"
    with face.connect(server_url, migrate=True, prefix=prefix) as db, closing(opened(server_url)) as raw:
        raw.cursor().execute(f"ALTER TABLE {prefix}message ADD CONSTRAINT none_so_urgent CHECK (priority > 0)")
        with pytest.raises(StoreRefused) as told:
            db.queue("mail").push_many([Draft({"card": SECRET}, key=f"{SECRET}-key")])
        raw.cursor().execute(f"ALTER TABLE {prefix}message DROP CONSTRAINT none_so_urgent")
    assert "none_so_urgent" in str(told.value)
    assert SECRET not in str(told.value)
