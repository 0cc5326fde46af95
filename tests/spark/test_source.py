"""`spark.read.format("duerow")` looks at messages and turns that are over, in parallel, and takes nothing."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import duerow
from duerow import Draft
from duerow.arrow import adbc
from duerow.encryption import Encryption
from duerow.errors import (
    ConfigurationError,
    InvalidCondition,
    InvalidMessage,
    KeyMissing,
    NotSupported,
    StoreUnavailable,
)
from duerow.spark import options as options_module
from duerow.spark import pages, source
from duerow.spark.columns import MESSAGE, TURN
from duerow.spark.options import SourceOptions
from duerow.spark.source import SourceReader, dealt, schema
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import everything


def options_of(place: Place, **more: Any) -> dict[str, str]:
    return {"url": place.url, **place.settings, **{name: str(value) for name, value in more.items()}}


def frame(session: SparkSession, place: Place, **more: Any) -> DataFrame:
    return session.read.format("duerow").options(**options_of(place, **more)).load()


def read(place: Place, **more: Any) -> list[dict[str, Any]]:
    """What the tasks would read, without Spark."""
    options = options_of(place, **more)
    reader = SourceReader(options, schema(options))
    return [row for partition in reader.partitions() for batch in reader.read(partition) for row in batch.to_pylist()]


def test_a_frame_has_the_messages_with_their_fields_as_columns_and_changes_none(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    orders, mail = db.queue("orders"), db.queue("mail")
    due = datetime(2040, 1, 2, 3, 4, 5, 678901, UTC)
    orders.push({"n": 1, "to": "Žofka"}, key="k", group="g", priority=-3, headers={"a": "b", "n": 1.5}, due=due)
    orders.push_many([Draft({"n": n}) for n in range(2, 20)])
    mail.push("hello")
    failed, dead = orders.reserve_many(2)
    orders.rollback(failed, delay=timedelta(hours=1), error=ValueError("no line"))
    orders.bury(dead, "no use")
    lent = mail.reserve()
    assert lent is not None
    before = everything(db)

    found = frame(session, place, partitions=3)
    assert found.columns == list(MESSAGE)
    assert [field.dataType for field in found.schema.fields] == list(MESSAGE.values())
    rows = {row.id: row for row in found.collect()}
    assert everything(db) == before
    assert set(rows) == {record.id for record in before if record.status != "dead"}
    first = rows[min(rows)]
    assert (first.queue, first.key, first.group, first.priority, first.kind) == ("orders", "k", "g", -3, "json")
    assert (first.payload, first.headers) == ('{"n":1,"to":"Žofka"}', {"a": "b", "n": "1.5"})
    assert frame(session, place, key="k").where(F.col("due_at") == F.lit(due)).count() == 1
    assert rows[failed.message.id].last_error == "ValueError: no line"
    assert (rows[failed.message.id].status, rows[failed.message.id].attempts) == ("error", 1)
    held = rows[lent.message.id]
    assert (held.token, held.leased_by, held.payload) == (lent.message.token, lent.message.leased_by, '"hello"')
    [grave] = frame(session, place, table="dead").collect()
    assert (grave.id, grave.last_error) == (dead.message.id, "Bury: no use")


def test_what_is_asked_for_by_options_alone_is_read(place: Place, db: duerow.Database) -> None:
    orders = db.queue("orders")
    orders.push_many([Draft({"n": n}, key=f"k{n}") for n in range(10)])
    orders.push({"n": 100}, delay=timedelta(days=1))
    db.queue("mail").push_many([Draft({"n": n}) for n in range(3)])
    tomorrow = (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    assert len(read(place)) == 14
    assert len(read(place, queue="mail, none")) == 3
    assert [row["payload"] for row in read(place, key="k7", columns="payload")] == ['{"n":7}']
    assert len(read(place, queue="orders", due_before=tomorrow)) == 10
    assert len(read(place, where="payload.n < 3 and key is not null", due_before=tomorrow)) == 3
    assert [row["id"] for row in read(place, limit=4, columns="id")] == sorted(row["id"] for row in read(place))[:4]
    assert read(place, queue="none") == []


def test_history_is_a_frame_of_turns(session: SparkSession, place: Place, db: duerow.Database) -> None:
    orders = db.queue("orders", history=timedelta(days=1))
    orders.push_many([Draft({"n": n}, headers={"parent": 5}) for n in range(3)])
    failed, *others = orders.reserve_many(3)
    orders.rollback(failed, delay=timedelta(0), error=ValueError("no line"))
    orders.move(others[0], to="mail")
    orders.commit(others[1])

    found = frame(session, place, table="history")
    assert found.columns == list(TURN)
    rows = sorted(found.collect(), key=lambda row: row.id)
    assert [(row.outcome, row.moved_to, row.error) for row in rows] == [
        ("failed", None, "ValueError: no line"),
        ("moved", "mail", None),
        ("done", None, None),
    ]
    assert {row.worker for row in rows} == {failed.message.leased_by}
    assert rows[0].headers == {"parent": "5"}
    assert len(read(place, table="history", where="outcome = 'failed' and error.type = 'ValueError'")) == 1


def test_each_row_is_read_once_however_the_ids_are_dealt_out_and_cut_to_pages(
    place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = db.queue("orders", history=timedelta(days=1))
    orders.push_many([Draft(n) for n in range(300)])
    db.queue("mail").push_many([Draft(n) for n in range(20)])
    for reservation in orders.reserve_many(100):
        orders.rollback(reservation, delay=timedelta(0))
    orders.commit_many(orders.reserve_many(50))
    monkeypatch.setattr(source, "NARROWEST", 3)
    monkeypatch.setattr(pages, "FIRST_PAGE", 2)

    for queue, many in (("orders", 250), ("mail", 20), ("orders,mail", 270)):
        rows = read(place, queue=queue, partitions=4)
        assert len({row["id"] for row in rows}) == len(rows) == many
    turns = read(place, table="history", partitions=4)
    assert len({(row["id"], row["token"]) for row in turns}) == len(turns) == 150


@pytest.mark.parametrize(
    ("first", "last", "many"), [(1, 1, None), (5, 100_000, 3), (7, 7_000_000, None), (1, 10, 4), (1, 9, 10**17)]
)
def test_ranges_cover_all_ids_once(first: int, last: int, many: int | None) -> None:
    hands = dealt(first, last, many)
    ranges = sorted(one for hand in hands for one in hand)
    assert (ranges[0][0], ranges[-1][1]) == (first, last)
    assert all(after[0] == before[1] + 1 for before, after in pairwise(ranges))
    assert len(hands) <= (many or source.MOST_PARTITIONS)


def test_rows_of_postgresql_come_as_arrow_and_not_by_way_of_python(
    place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.queue("orders").push_many([Draft(n) for n in range(10)])
    by_values: list[int] = []
    made = pages.of_records
    monkeypatch.setattr(pages, "of_records", lambda *given: by_values.append(1) or made(*given))
    rows = read(place)
    assert len(rows) == 10
    assert bool(by_values) == (not place.url.startswith("postgresql"))

    monkeypatch.setattr(adbc, "is_installed", lambda driver: False)  # a task where the driver is missing
    assert read(place) == rows
    assert by_values


TASK = """
import gc, pickle, sys
reader, parts = pickle.load(sys.stdin.buffer)
print(sum(batch.num_rows for part in parts for batch in reader.read(part)))
print([name for name in ("sqlalchemy", "psycopg", "pandas", "duerow.pipeline", "duerow.sync") if name in sys.modules])
print(gc.get_freeze_count() > 0)
"""


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_task_that_gets_arrow_begins_to_read_without_a_store_and_without_pandas(
    place: Place, db: duerow.Database
) -> None:
    orders = db.queue("orders")
    orders.push_many([Draft(n, headers={"n": n}) for n in range(10)])
    failed = orders.reserve()
    assert failed is not None
    orders.rollback(failed, delay=timedelta(0), error=ValueError("no line"))
    options = options_of(place, queue="orders")
    reader = SourceReader(options, schema(options))
    carried = pickle.dumps((reader, reader.partitions()))
    kept = {**os.environ, "SPARK_REUSE_WORKER": "1"}  # as Spark says to a process that it keeps
    for environment, frozen in ((kept, "True"), (None, "False")):
        task = subprocess.run(
            [sys.executable, "-c", TASK], input=carried, env=environment, capture_output=True, check=True
        )
        assert task.stdout.decode().splitlines() == ["10", "[]", frozen]


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_connection_that_broke_while_it_was_at_rest_is_noticed_and_the_servers_errors_are_duerows(
    place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.queue("orders").push(1)
    options = options_of(place)
    reader = SourceReader(options, schema(options))
    [part] = reader.partitions()
    arrow = part.pages.arrow
    assert isinstance(arrow, adbc.AdbcScan)

    def break_what_rests() -> None:
        way, _ = adbc._at_rest[arrow.driver, arrow.address, arrow.prepare]
        process = way.read("SELECT pg_backend_pid()", [])[0][0].as_py()
        with psycopg.connect(place.url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 10000)", [process])

    assert len(list(reader.read(part))) == 1
    break_what_rests()
    with pytest.raises(StoreUnavailable):
        list(reader.read(part))  # it has not rested long enough to be tried first
    assert len(list(reader.read(part))) == 1

    break_what_rests()
    monkeypatch.setattr(adbc, "RESTED", 0.0)
    assert len(list(reader.read(part))) == 1
    assert reader.partitions()  # on the connection of the plan before
    [planned] = [one for reach, one in options_module._planned.items() if reach == reader._reach]
    [link] = planned.connections._at_hand
    process = link.lent.driver_connection.info.backend_pid
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 10000)", [process])
    assert reader.partitions()  # on a new one

    away = dataclasses.replace(arrow, address="postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(StoreUnavailable), away.reading():
        pass


def test_encrypted_payloads_are_read_with_their_keys_as_they_are_kept_or_not_at_all(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = Encryption.new_key()
    with duerow.connect(place.url, **place.settings, encryption=Encryption([key])) as db:
        db.queue("orders").push({"card": "4111-1111"})
    with duerow.connect(place.url, **place.settings) as db:
        db.queue("orders").push({"n": 1})
    monkeypatch.setenv("QUEUE_KEYS", key)
    (tmp_path / "keys").write_text(f"{key}\n")
    for given in ({"keysenv": "QUEUE_KEYS"}, {"keysfile": tmp_path / "keys"}):
        rows = read(place, columns="kind,payload", **given)
        assert rows == [{"kind": "json", "payload": '{"card":"4111-1111"}'}, {"kind": "json", "payload": '{"n":1}'}]
    with pytest.raises(KeyMissing):
        read(place)
    sealed, _ = read(place, encrypted="keep")
    assert sealed["kind"] == "json+encrypted"
    assert "4111-1111" not in sealed["payload"]
    assert len(read(place, columns="id,kind")) == 2  # nobody asked for payloads


def test_the_url_may_stand_in_the_environment_or_in_a_file_and_shows_in_no_plan(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.queue("orders").push(1)
    (tmp_path / "url").write_text(f"{place.url}\n")
    monkeypatch.setenv("QUEUES", place.url)
    asked = {"queue": "orders", **place.settings}
    for way in ({"urlenv": "QUEUES"}, {"urlfile": str(tmp_path / "url")}):
        options = {**asked, **way}
        reader = SourceReader(options, schema(options))
        assert sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part)) == 1
        assert place.url not in repr(vars(reader))
    found = frame(session, place)
    plan = found._jdf.queryExecution().toString() if hasattr(found, "_jdf") else ""
    assert plan
    assert place.url not in plan


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"que": "orders"}, ConfigurationError, "no option que here; the options are .*queue"),
        ({"path": "orders"}, ConfigurationError, "take no path; got 'orders'"),
        ({"table": "done"}, ConfigurationError, "option table must be one of live, dead, history, not 'done'"),
        ({"queue": "no spaces!"}, InvalidMessage, "a queue cannot be called 'no spaces!'"),
        ({"where": "payload.n ="}, InvalidCondition, "payload.n ="),
        ({"where": "outcome = 'done'"}, InvalidCondition, "a message has no field 'outcome'"),
        ({"table": "history", "where": "status = 'new'"}, InvalidCondition, "has no field 'status'"),
        ({"due_before": "2026-03-01"}, ConfigurationError, "due_before must be a time such as"),
        ({"partitions": "0"}, ConfigurationError, "partitions must be a number above zero"),
        ({"limit": "9" * 5_000}, ConfigurationError, "limit must be a number above zero, of at most 18 digits"),
        ({"queue": " , "}, ConfigurationError, "option queue names no queue"),
        ({"partitions": "2", "limit": "5"}, ConfigurationError, "give limit or partitions"),
        ({"columns": "id,nothing"}, ConfigurationError, "no column nothing; the columns are id, token"),
        ({"columns": "id,id"}, ConfigurationError, "must name each column once"),
        ({"urlenv": "X"}, ConfigurationError, "not with url and urlenv"),
    ],
)
def test_an_option_that_cannot_be_is_said_before_a_database_is_asked(
    given: dict[str, str], error: type[Exception], said: str
) -> None:
    options = {"url": "postgresql://nobody@127.0.0.1:1/none", **given}
    with pytest.raises(error, match=said):
        SourceReader(options, schema(options))


def test_a_way_to_the_queues_must_be_given_and_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", " ")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for given, said in (
        ({}, "not with none"),
        ({"urlenv": "NOT_THERE"}, "no environment variable NOT_THERE"),
        ({"urlfile": str(tmp_path / "none")}, "cannot be read: No such file"),
        ({"url": "x", "keysenv": "NOT_THERE"}, "option keysenv: .* no environment variable NOT_THERE"),
        ({"url": "x", "keysenv": "EMPTY"}, "option keysenv is empty; give a key"),
        ({"url": "x", "keysenv": "EMPTY", "keysfile": "y"}, "one of the options keysenv and keysfile"),
        ({"urlenv": "EMPTY"}, "option urlenv is empty; it must give a URL"),
        ({"urlfile": str(tmp_path / "binary")}, "binary is not text"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            SourceOptions(given, ()).reach()


def test_a_file_is_refused_where_a_task_runs_on_another_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duerow.connect(f"sqlite:///{tmp_path}/queues.db", migrate=True).close()
    reach = SourceOptions({"url": f"sqlite:///{tmp_path}/queues.db"}, ()).reach()
    reach.open().close()
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    with pytest.raises(NotSupported, match=f"in a file or in the memory of {reach.host}, and Spark runs on elsewhere"):
        assert reach.database
    with pytest.raises(NotSupported, match="use a local"):
        SourceOptions({"url": "memory://"}, ()).reach().open()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_spark_says_what_is_wrong(session: SparkSession, place: Place) -> None:
    with pytest.raises(PySparkException, match="no option que here"):
        frame(session, place, que="orders")
    reading = session.read.format("duerow").options(**options_of(place))
    with pytest.raises(PySparkException, match="column id is of type bigint, not string"):
        reading.schema("id string").load().collect()
    assert reading.schema("payload string, id long").load().columns == ["payload", "id"]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_sql_reads_and_a_view_stands_for_a_queue(session: SparkSession, place: Place, db: duerow.Database) -> None:
    db.queue("orders").push_many([Draft({"n": n}) for n in range(5)])
    given = ", ".join(f"{name} '{value}'" for name, value in options_of(place, queue="orders").items())
    session.sql(f"CREATE TEMPORARY VIEW waiting USING duerow OPTIONS ({given})")
    try:
        found = session.sql("SELECT sum(get_json_object(payload, '$.n')) AS total FROM waiting WHERE priority = 0")
        assert found.first().total == 10
    finally:
        session.catalog.dropTempView("waiting")
    with pytest.raises(PySparkException, match="use CREATE TEMPORARY VIEW"):
        session.sql(f"CREATE TABLE queue_of_orders USING duerow OPTIONS ({given})")
