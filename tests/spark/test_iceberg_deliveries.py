"""A batch is added to an Iceberg table once, even if the table forgets; with a stand-in for the package. No Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import duerow
from duerow import TableSink
from duerow.spark.tables import lakes
from duerow.spark.tables.manifest import DataFile, TableEntry
from duerow.testing.clock import MovableClock, hours, minutes
from tests.spark.deliveries import clock, db, delivering

__all__ = ["clock", "db"]

SINK = TableSink("lake", format="iceberg", table="shop.sales")


class IcebergTable:
    """What deliveries use of a table of `pyiceberg`."""

    def __init__(self, clock: MovableClock) -> None:
        self._clock, self._kept, self._last = clock, [], None  # type: tuple[MovableClock, list[Any], int | None]
        self._files: list[str] = []
        self.rows: list[str] = []
        self.metadata = SimpleNamespace(properties={})
        column = SimpleNamespace(to_pylist=lambda: self._files)
        self.inspect = SimpleNamespace(files=lambda: {"file_path": column})

    def location(self) -> str:
        return "s3://b/sales"

    def snapshots(self) -> list[Any]:
        return self._kept

    def add_files(self, paths: list[str], snapshot_properties: dict[str, str]) -> None:
        self.rows += paths
        self._files += paths
        made, parent = int(self._clock.now().timestamp() * 1000), self._last
        self._last = len(self.rows)
        self._kept.append(SimpleNamespace(parent_snapshot_id=parent, timestamp_ms=made, summary=snapshot_properties))

    def rewrite(self) -> None:
        """Merge all files into one that has their rows."""
        rows = self.rows
        self.rows, self._files = [], []
        self.add_files(["merged"], {})
        self.rows = rows

    def expire(self) -> None:
        """Forget all snapshots but the current one."""
        self._kept = self._kept[-1:]


@pytest.fixture
def table(clock: MovableClock, monkeypatch: pytest.MonkeyPatch) -> IcebergTable:
    made = IcebergTable(clock)
    monkeypatch.setattr(lakes, "_iceberg", lambda sink: made)
    return made


def deliver(db: duerow.Database, settled: bool = True) -> None:
    """Deliver what is due; if it is not settled, the process has died after it."""
    station = delivering(SINK)
    while (held := station.queue(db).reserve()) is not None:
        settlement = station.settlement(held.message, 9)
        assert not settled or not station.queue(db).settle([(held, settlement)])


def push(db: duerow.Database, name: str) -> None:
    entry = TableEntry(name, [DataFile(f"data/{name}.parquet", 1, 9)])
    db.queue(SINK.batches).push(msgspec.to_builtins(entry))


def test_a_batch_that_may_be_in_a_table_that_has_forgotten_it_is_buried_and_not_added_twice(
    db: duerow.Database, clock: MovableClock, table: IcebergTable
) -> None:
    push(db, "old")
    deliver(db)
    push(db, "b")
    deliver(db, settled=False)
    clock.advance(hours(24 * 7))
    table.rewrite()
    table.expire()
    deliver(db)
    assert table.rows == ["s3://b/sales/data/old.parquet", "s3://b/sales/data/b.parquet"]
    (dead,) = db.queue(SINK.batches).find()
    assert dead.status == "dead"
    assert "batch b may have been added to the table shop.sales by an earlier" in str(dead.last_error)

    db.queue(SINK.batches).requeue(dead.id)  # somebody has looked, and it is not there
    deliver(db)
    assert table.rows[2:] == ["s3://b/sales/data/b.parquet"]


@pytest.mark.parametrize("maintenance", ["none", "rewrite", "expire"])
def test_a_repeated_delivery_changes_nothing_while_the_table_remembers(
    db: duerow.Database, clock: MovableClock, table: IcebergTable, maintenance: str
) -> None:
    push(db, "old")
    deliver(db)
    push(db, "b")
    deliver(db, settled=False)
    clock.advance(hours(24 * 7))
    if maintenance != "none":
        getattr(table, maintenance)()
    deliver(db)
    assert len(table.rows) == 2
    assert db.queues() == []


def test_a_batch_whose_first_deliveries_failed_is_added_if_the_snapshots_since_are_there(
    db: duerow.Database, clock: MovableClock, table: IcebergTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        push(db, name)
        deliver(db)
    table.expire()
    clock.advance(hours(24))
    push(db, "b")
    with monkeypatch.context() as down:
        down.setattr(table, "add_files", None)
        held = db.queue(SINK.batches).reserve()
        assert held is not None
        held.rollback()
    clock.advance(minutes(30))
    deliver(db)
    assert table.rows[2:] == ["s3://b/sales/data/b.parquet"]
