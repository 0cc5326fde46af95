"""What tests of deliveries to tables share: batches as tasks write them, and deliveries that are killed. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyarrow import parquet

import duerow
from duerow import TableSink
from duerow.reservation import BareReservation
from duerow.spark import table_files
from duerow.spark.tables.delivery import Deliverer, deliverer
from duerow.spark.tables.folder import Folder
from duerow.spark.tables.job import folder_of
from duerow.spark.tables.manifest import FILES, DataFile, TableEntry
from duerow.spark.tables.partitions import folder_name
from duerow.testing.clock import MovableClock


class Killed(BaseException):
    """Stands for the end of a process."""


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(tmp_path: Path, clock: MovableClock) -> Iterator[duerow.Database]:
    with duerow.connect(f"sqlite:///{tmp_path}/queues.db", migrate=True, clock=clock) as opened:
        yield opened


def delivering(sink: TableSink) -> Deliverer:
    return deliverer(sink.consumers[1])  # type: ignore[arg-type]  # it is the second one


def batch(
    sink: TableSink, name: str, numbers: list[int], column: str = "n", partition: dict[str, str | None] | None = None
) -> TableEntry:
    """Write what tasks write for a batch; return its entry."""
    folder = Folder(folder_of(sink))
    file = f"{FILES}/{folder_name(partition or {})}{name}.parquet"
    with folder.writing(file) as stream:
        parquet.write_table(pa.table({column: pa.array(numbers, pa.int64())}), stream)
    return TableEntry(name, [DataFile(file, len(numbers), folder.size(file), partition or {})])


def push(db: duerow.Database, sink: TableSink, payload: Any) -> None:
    db.queue(sink.batches).push(msgspec.to_builtins(payload))


def rows(sink: TableSink) -> list[int]:
    return sorted(n for file in table_files(str(sink.path)) for n in parquet.read_table(file)["n"].to_pylist())


def work_off(db: duerow.Database, station: Any) -> None:
    """Carry out whatever is due."""
    while (held := station.queue(db).reserve()) is not None:
        settle(db, station, held)


def settle(db: duerow.Database, station: Any, held: BareReservation[Any]) -> None:
    for refused in station.queue(db).settle([(held, station.settlement(held.message, 9))]):
        raise refused.error


def killed_at(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, after: bool) -> None:
    """Kill the next process that calls this, before it does so or right after."""
    does = getattr(where, name)

    def call(*given: Any, **more: Any) -> Any:
        monkeypatch.setattr(where, name, does)
        if after:
            does(*given, **more)
        raise Killed

    monkeypatch.setattr(where, name, call)
