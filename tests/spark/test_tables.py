"""Table stations: messages become rows of a table once, and rows become messages once, whatever is killed."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import duerow
from duerow import Draft, Pipeline, TableSink, TableSource, spark
from duerow.errors import ConfigurationError, StationFailed
from duerow.spark.frames import FrameJob
from duerow.spark.tables.job import TableJob
from duerow.testing.clock import seconds
from duerow.testing.conformance.fixtures import Place
from tests.spark.random_kills import DyingTableSink, RandomKills

SCHEMA = "n long, name string"


def sink(tmp_path: Path, **more: Any) -> TableSink:
    return TableSink("lake", **{"format": "parquet", "path": tmp_path / "lake", "schema": SCHEMA, "batch": 10} | more)


def run(station: Any, place: Place, session: SparkSession, **more: Any) -> None:
    spark.run(Pipeline("p", [station], **more), place.url, session, **place.settings)


def numbers(session: SparkSession, tmp_path: Path) -> list[int]:
    return sorted(row.n for row in spark.read_table(session, tmp_path / "lake").collect())


def test_messages_become_rows_of_a_parquet_table_once_and_leave_the_queue(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    db.queue("lake").push_many([Draft({"n": n, "name": str(n)}) for n in range(25)])
    run(sink(tmp_path), place, session)
    assert numbers(session, tmp_path) == list(range(25))
    assert db.queues() == []


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_small_files_are_merged_and_each_row_is_still_there_once(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    for start in (0, 25):
        db.queue("lake").push_many([Draft({"n": n, "name": str(n)}) for n in range(start, start + 25)])
        run(sink(tmp_path, compact=2), place, session)
        assert numbers(session, tmp_path) == list(range(start + 25))
    assert len(spark.table_files(tmp_path / "lake")) <= 4
    assert db.queues() == []


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_table_that_columns_divide_keeps_their_values_and_types_and_spark_reads_only_the_folders_it_needs(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    terms: dict[str, Any] = {"compact": 2, "retry": duerow.limited(1, duerow.fixed(seconds(0)))}
    days, shops = ("2026-11-25", "2026-11-26", "2026-11-26"), ("007", "a/b=c: d%", None, "")
    pushed = [(4 * n + m, shop, day) for n, day in enumerate(days) for m, shop in enumerate(shops)]
    db.queue("lake").push_many([Draft({"n": n, "shop": shop, "day": day}) for n, shop, day in pushed])
    run(
        sink(tmp_path, batch=4, schema="n long, shop string, day date", partition_by=["day", "shop"], **terms),
        place,
        session,
    )

    table = spark.read_table(session, tmp_path / "lake")
    expected = [(n, shop, date.fromisoformat(day)) for n, shop, day in pushed if shop != ""]
    assert sorted(map(tuple, table.collect())) == expected
    plan = table.where("day = '2026-11-26' AND shop = '007'")._jdf.queryExecution().toString()
    assert "PartitionFilters: [isnotnull(day" in plan
    inside = [file.rpartition("/")[0].partition("/_duerow/files/")[2] for file in spark.table_files(tmp_path / "lake")]
    names = ("shop=007", "shop=a%2Fb%3Dc%3A d%25", "shop=__HIVE_DEFAULT_PARTITION__")
    assert sorted(inside) == sorted(f"day={day}/{name}" for day in {*days} for name in names), "small files are merged"
    dead = db.queue("lake").find()
    assert [m.payload["n"] for m in dead] == [3, 7, 11]
    assert "the column 'shop' is '', which readers of a partitioned table read as null" in str(dead[0].last_error)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("changed", [False, True])
def test_columns_that_cannot_divide_a_table_are_refused_before_anything_is_settled(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path, changed: bool
) -> None:
    db.queue("lake").push({"n": 1, "name": "a"})
    function = {"function": lambda frame: frame.withColumn("x", F.lit(1.5))} if changed else {}
    name, why = (
        ("x", "'x' of type double; a table is partitioned by text") if changed else ("day", "the table has 'n', 'name'")
    )
    with pytest.raises(ConfigurationError, match=why):
        run(sink(tmp_path, partition_by=[name], **function), place, session)
    (message,) = db.queue("lake").find()
    assert (message.attempts, message.status) == (0, "new")


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_rows_reach_the_table_of_a_database_and_one_that_it_refuses_is_dead_with_the_reason(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    target = f"sqlite:///{tmp_path}/target.db" if place.url.startswith("sqlite") else place.url
    table = f"sales{place.settings.get('prefix', '')}"
    engine = sa.create_engine(target.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as on:
        on.exec_driver_sql(
            f"CREATE TABLE {table} (shop VARCHAR(20) CHECK (length(shop) < 6), amount NUMERIC(12, 2), at TIMESTAMP)"
        )
    at = "2026-01-02T03:04:05.678901Z"
    shops = ["split", "zadar", "dubrovnik", "pula"]
    db.queue("lake").push_many([Draft({"shop": shop, "amount": "1.25", "at": at}) for shop in shops])
    station = TableSink(
        "lake",
        lambda sales: sales.withColumn("at", F.col("at").cast("timestamp_ntz")),
        format="jdbc",
        url=target,
        table=table,
        schema="shop string, amount decimal(12, 2), at timestamp",
    )
    run(station, place, session)
    with engine.connect() as on:
        rows = on.exec_driver_sql(f"SELECT shop, amount FROM {table} ORDER BY shop").all()
    assert [(shop, Decimal(amount)) for shop, amount in rows] == [
        (shop, Decimal("1.25")) for shop in ("pula", "split", "zadar")
    ]
    (dead,) = db.queue("lake/batches").find()
    assert dead.status == "dead"
    assert "dubrovnik" in str(dead.payload["rows"])
    assert dead.last_error is not None
    assert "refuses a row" in dead.last_error.message


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_each_file_is_read_once_and_its_rows_arrive_as_the_next_station_declares_them(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    source = TableSource("in", to="rows", format="csv", path=folder, rows=2, key="n")
    (folder / "a.csv").write_text("n,name\n1,a\n2,b\n3,c\n4,d\n")
    (folder / "_b.csv").write_text("n,name\n9,z\n")
    for _ in range(2):
        run(source, place, session, outputs=["rows"])
    assert sorted((m.key, m.payload["name"]) for m in db.queue("rows").find()) == [
        ("1", "a"),
        ("2", "b"),
        ("3", "c"),
        ("4", "d"),
    ]
    (folder / "b.csv").write_text('n,name\n5,"e\nf"\n')
    run(source, place, session, outputs=["rows"])
    assert len(db.queue("rows").find()) == 5


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_table_is_read_on_by_a_column_each_row_once(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/source.db"
    engine = sa.create_engine(url)
    source = TableSource("in", to="rows", format="jdbc", url=url, table="t", column="id", rows=2)
    with engine.begin() as on:
        on.exec_driver_sql("CREATE TABLE t (id INTEGER PRIMARY KEY, at TIMESTAMP)")
    for start in (0, 5, 6):
        with engine.begin() as on:
            for id in range(start, start + 5 if start == 0 else start + 1):
                on.exec_driver_sql("INSERT INTO t VALUES (?, ?)", (id, "2026-01-01 00:00:00"))
        run(source, place, session, outputs=["rows"])
        run(source, place, session, outputs=["rows"])
    assert sorted(m.payload["id"] for m in db.queue("rows").find()) == list(range(7))
    assert db.queues() == ["in/position", "rows"]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("step", ["before it is staged", "before it is published", "after it is published"])
def test_a_batch_whose_driver_dies_is_written_once(
    session: SparkSession,
    place: Place,
    db: duerow.Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    db.queue("lake").push_many([Draft({"n": n, "name": str(n)}) for n in range(5)])
    station = sink(tmp_path, lease=seconds(1))
    name = "_stage" if step == "before it is staged" else "_publish"
    owner: Any = TableJob if name == "_stage" else FrameJob
    does = getattr(owner, name)

    def dies(*given: Any) -> Any:
        if step.startswith("after"):
            does(*given)
        raise Killed

    with monkeypatch.context() as killing:
        killing.setattr(owner, name, dies)
        killing.setattr(FrameJob, "_give_back", lambda *given: None)  # what is dead gives nothing back
        with pytest.raises(Killed):
            run(station, place, session)

    run(station, place, session)
    assert numbers(session, tmp_path) == list(range(5))
    assert db.queues() == []


class Killed(BaseException):
    """Stands for the end of the driver."""


@pytest.mark.soak
@pytest.mark.parametrize("by", [[], ["name"]], ids=["whole", "partitioned"])
def test_tables_whose_tasks_are_killed_anywhere_have_each_row_once(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path, by: list[str]
) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    folder = tmp_path / "killed"
    folder.mkdir()
    kills = RandomKills(str(folder), seed, most=2, chance=0.15)
    given = {"format": "parquet", "path": tmp_path / "lake", "schema": SCHEMA, "batch": 50, "compact": 3}
    terms: dict[str, Any] = {"lease": seconds(2), "retry": duerow.fixed(seconds(0)), "kills": kills, "partition_by": by}
    station = DyingTableSink("lake", **given, **terms)
    pushed = 0
    while kills.where().total() < 4:  # chance may spare a round
        db.queue("lake").push_many([Draft({"n": n, "name": str(n % 3)}) for n in range(pushed, pushed + 200)])
        pushed += 200
        while db.queues():
            with suppress(StationFailed):  # a task may be killed as often as Spark tries it
                run(station, place, session)
    print(kills.where())
    assert numbers(session, tmp_path) == list(range(pushed))
