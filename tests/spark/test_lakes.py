"""Batches are added to real tables of Delta Lake and Iceberg once, whichever step of a delivery is killed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import deltalake
import msgspec
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyspark.sql import SparkSession

import duerow
from duerow import Draft, Pipeline, TableSink, spark
from duerow.errors import ConfigurationError
from duerow.spark.tables import lakes
from duerow.spark.tables.delivery import Deliverer
from duerow.testing.clock import MovableClock, minutes
from tests.spark.deliveries import Killed, batch, clock, db, delivering, killed_at, push, settle, work_off

__all__ = ["clock", "db"]


@dataclass(frozen=True)
class Lake:
    """A table.

    Attributes:
        sink: its station.
        rows: returns its rows.
    """

    sink: TableSink
    rows: Callable[[], pa.Table]

    @property
    def station(self) -> Deliverer:
        return delivering(self.sink)

    def numbers(self) -> list[int]:
        return sorted(self.rows()["n"].to_pylist())


def delta(folder: Path) -> Lake:
    path = str(folder / "delta")
    sink = TableSink("lake", format="delta", path=path)
    return Lake(sink, lambda: pa.table(deltalake.DeltaTable(path).to_pyarrow_table()))


def iceberg(folder: Path) -> Lake:
    options = {"name": "here", "type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
    catalog = load_catalog(**options)
    catalog.create_namespace("shop")
    catalog.create_table("shop.sales", schema=pa.schema([("n", pa.int64())]))
    sink = TableSink("lake", format="iceberg", table="shop.sales", options=options)
    return Lake(sink, lambda: catalog.load_table("shop.sales").scan().to_arrow())


@pytest.fixture(params=[delta, iceberg])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    made: Lake = request.param(tmp_path)
    return made


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", ["add", "settle"])
def test_a_batch_is_in_the_table_once_whichever_step_of_its_delivery_is_killed(
    db: duerow.Database, clock: MovableClock, lake: Lake, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    for number in range(3):
        push(db, lake.sink, batch(lake.sink, f"b{number}", [2 * number, 2 * number + 1]))
        held = lake.station.queue(db).reserve()
        assert held is not None
        commits: tuple[Any, str] = (deltalake.DeltaTable, "create_write_transaction")
        if lake.sink.format == "iceberg":
            commits = Table, "add_files"
        killed_at(monkeypatch, *(commits if step == "add" else (duerow.Queue, "settle")), after)
        with pytest.raises(Killed):
            settle(db, lake.station, held)
        clock.advance(minutes(11))
        work_off(db, lake.station)
        assert lake.numbers() == list(range(2 * number + 2))
    assert db.queues() == []


def test_of_two_processes_that_add_a_batch_at_the_same_time_one_fails_and_finds_it_there_later(
    db: duerow.Database, clock: MovableClock, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(db, lake.sink, batch(lake.sink, "first", [1]))
    work_off(db, lake.station)
    made = batch(lake.sink, "b", [2, 3])
    where: Any = deltalake.DeltaTable if lake.sink.format == "delta" else Table
    name = "create_write_transaction" if lake.sink.format == "delta" else "add_files"
    add = lakes.add_to_delta if lake.sink.format == "delta" else lakes.add_to_iceberg
    commit = getattr(where, name)

    def after_another(*given: Any, **more: Any) -> Any:
        monkeypatch.setattr(where, name, commit)
        add(lake.sink, made)  # another process has looked at the table, too, and is faster
        return commit(*given, **more)

    monkeypatch.setattr(where, name, after_another)
    with pytest.raises((deltalake.exceptions.CommitFailedError, CommitFailedException)):
        add(lake.sink, made)
    assert lake.numbers() == [1, 2, 3]
    add(lake.sink, made)
    assert lake.numbers() == [1, 2, 3]


def test_a_table_of_delta_is_made_with_its_partitions_and_others_are_refused(
    db: duerow.Database, tmp_path: Path
) -> None:
    path = str(tmp_path / "delta")
    parted = TableSink("lake", format="delta", path=path, partition_by=["day"])
    lake = Lake(parted, lambda: pa.table(deltalake.DeltaTable(path).to_pyarrow_table()))
    made = batch(lake.sink, "b", [1, 2], partition={"day": "monday"})
    schema = pa.schema([("n", pa.int64()), ("day", pa.string())])
    deltalake.DeltaTable.create(path, schema, partition_by=["day"])
    push(db, parted, made)
    work_off(db, lake.station)
    table = deltalake.DeltaTable(path)
    assert table.metadata().partition_columns == ["day"]
    assert pa.table(table.to_pyarrow_table(filters=[("day", "=", "monday")]))["n"].to_pylist() == [1, 2]
    with pytest.raises(ConfigurationError, match="partitioned by the columns 'day'; partition_by names none"):
        lakes.check_partitions_of_table(TableSink("lake", format="delta", path=path))


def test_a_batch_of_iceberg_is_a_snapshot_that_names_it(db: duerow.Database, tmp_path: Path) -> None:
    lake = iceberg(tmp_path)
    for name in ("a", "b"):
        push(db, lake.sink, msgspec.to_builtins(batch(lake.sink, name, [1])))
    work_off(db, lake.station)
    table = load_catalog(**lake.sink.options).load_table("shop.sales")
    assert [one.summary[lakes.PROPERTY] for one in table.snapshots() if one.summary is not None] == ["a", "b"]


@pytest.mark.parametrize("clock", [None], ids=["the machine's clock"])
def test_a_run_on_spark_writes_both_formats(session: SparkSession, db: duerow.Database, tmp_path: Path) -> None:
    both = {"delta": delta(tmp_path), "iceberg": iceberg(tmp_path)}
    stations = [replace(lake.sink, name=name, schema="n long") for name, lake in both.items()]
    for name in both:
        db.queue(name).push_many([Draft({"n": n}) for n in range(20)])
    spark.run(Pipeline("lakes", stations), f"sqlite:///{tmp_path}/queues.db", session)
    for lake in both.values():
        assert lake.numbers() == list(range(20))
    assert db.queues() == []
