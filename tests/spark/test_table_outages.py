"""What table stations do if their position is gone, or the folder of their table cannot be reached. No Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa

import duerow
from duerow import Pipeline, TableSink, TableSource
from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.spark.frames import FrameJob
from duerow.spark.tables import write
from duerow.spark.tables.folder import Folder
from duerow.spark.tables.job import TableJob
from duerow.spark.tables.portions import Portions
from duerow.spark.tables.source import SourceJob
from duerow.spark.write import Written, WrittenFile
from tests.spark.deliveries import work_off

Wait = Callable[[float], bool]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[duerow.Database]:
    with duerow.connect(f"sqlite:///{tmp_path}/queues.db", migrate=True) as opened:
        yield opened


def run_of(db: duerow.Database, source: TableSource, wait: Wait) -> Any:
    """Return what a run on Spark gives to its stations."""
    pipeline = Pipeline("p", [source], outputs=["rows"])
    stop = SimpleNamespace(wait=wait)
    return SimpleNamespace(pipeline=pipeline, database=db, access=None, chunk=9, stop=stop)


class Network:
    """A network that is down for the next calls of a function."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, down: int) -> None:
        self.down, self.waits, does = down, 0, getattr(Folder, name)

        def call(*given: Any) -> Any:
            if self.down:
                self.down -= 1
                raise OSError("When reading from bucket 'b': AWS Error NETWORK_CONNECTION: no route to host")
            return does(*given)

        monkeypatch.setattr(Folder, name, call)

    def wait(self, seconds: float) -> bool:
        """Wait for no time; give up after a few times."""
        self.waits += 1
        return self.waits > 5


def table_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wait: Wait, written: list[Written]) -> TableJob:
    """Return a job whose tasks report this; it publishes nothing."""
    sink = TableSink("lake", format="parquet", path=tmp_path / "lake")
    job = TableJob.__new__(TableJob)
    job.station, job._folder = sink, Folder(str(sink.path))
    job._run = SimpleNamespace(stop=SimpleNamespace(wait=wait), pipeline="p")  # type: ignore[assignment]

    def compute(self: TableJob, batch: Any, name: str) -> None:
        assert job._folder is not None
        job._check([written.pop(0)] if len(written) > 1 else written, batch)
        job._entry(job._folder, written[0].files)

    monkeypatch.setattr(FrameJob, "_check", lambda *given: None)
    monkeypatch.setattr(FrameJob, "_compute", compute)
    return job


def test_a_table_whose_folder_cannot_be_reached_for_a_while_gets_its_batch_when_it_can(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "a.parquet").write_bytes(b"x")
    network = Network(monkeypatch, "size", down=2)
    good = Written(files=[WrittenFile("a.parquet", 1, {})])
    job = table_job(monkeypatch, tmp_path, network.wait, [Written(unreachable="no route"), good])
    job._compute(None, "batch")  # type: ignore[arg-type]
    assert (network.down, network.waits) == (0, 3)


def test_a_table_whose_folder_stays_away_ends_the_run_with_the_station_and_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    network = Network(monkeypatch, "size", down=99)
    good = Written(files=[WrittenFile("a.parquet", 1, {})])
    job = table_job(monkeypatch, tmp_path, network.wait, [good])
    with pytest.raises(StoreUnavailable, match=r"table 'lake': the folder /.*/lake cannot be reached: .*no route"):
        job._compute(None, "batch")  # type: ignore[arg-type]
    assert network.waits == 6
    network.down = 0
    with pytest.raises(FileNotFoundError):  # waiting brings no file back
        job._compute(None, "batch")  # type: ignore[arg-type]
    assert network.waits == 6


def test_a_task_that_cannot_reach_the_folder_blames_no_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sink = TableSink("lake", format="parquet", path=tmp_path / "lake")
    monkeypatch.setattr(write, "_of_process", lambda desk: (sink, None))
    job: Any = SimpleNamespace(desk=None, folder=str(sink.path), prefix="a", has=frozenset())
    rows = {"_id": pa.array([None], pa.int64()), "_error": pa.array([None], pa.string()), "n": pa.array([1])}
    batch = pa.RecordBatch.from_pydict(rows)
    network = Network(monkeypatch, "writing", down=1)
    written = write.FileRows(job).write([batch])
    assert (written.files, written.problem) == ([], None)
    assert "table 'lake': the folder" in str(written.unreachable)
    assert [one.rows for one in write.FileRows(job).write([batch]).files] == [1]
    assert network.down == 0


def test_a_source_whose_folder_cannot_be_reached_for_a_while_finds_its_files_when_it_can(
    monkeypatch: pytest.MonkeyPatch, db: duerow.Database, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("n\n1\n")
    source = TableSource("in", to="rows", format="csv", path=tmp_path / "in")
    network = Network(monkeypatch, "data_files", down=3)
    SourceJob(run_of(db, source, network.wait), source).look_for_more()
    assert [message.key for message in db.queue("in").find()] == ["a.csv"]
    assert network.waits == 3


def test_a_table_source_whose_position_was_removed_says_so_and_reads_nothing_twice(
    db: duerow.Database, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/source.db"
    with sa.create_engine(url).begin() as on:
        on.exec_driver_sql("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        on.exec_driver_sql("INSERT INTO t VALUES (1), (2), (3)")
    source = TableSource("in", to="rows", format="jdbc", url=url, table="t", column="id", rows=2)

    def look() -> None:
        SourceJob(run_of(db, source, threading.Event().wait), source).look_for_more()
        work_off(db, Portions(name="in", to="rows", format="jdbc", url=url, table="t", column="id", rows=2))

    for _ in range(2):
        look()
    (parked,) = db.queue("in/position").find()
    db.queue("in/position").remove(parked.id)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"source 'in': it has read rows .* cannot tell where to continue"):
            look()
    db.queue("in").push({"after": 2})
    look()
    assert sorted(message.payload["id"] for message in db.queue("rows").find()) == [1, 2, 3, 3]
    held = db.queue("in/position").reserve()
    assert held is not None
    held.bury("no use")
    look()  # a dead position is not gone
