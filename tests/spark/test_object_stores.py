"""Tables and files in an object store that speaks S3: each row is there once, whichever step is killed."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import deltalake
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

import duerow
from duerow import Draft, Pipeline, Relay, TableSink, TableSource, spark
from duerow.spark import table_files
from duerow.spark.tables import compaction
from duerow.spark.tables.folder import Folder
from duerow.spark.tables.manifest import Manifest
from duerow.testing.clock import MovableClock, hours, minutes
from tests.servers.process import free_port, serving, workspace
from tests.spark.deliveries import Killed, batch, clock, db, delivering, killed_at, push, rows, settle

__all__ = ["clock", "db"]

SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request"}
"""Says for which of Amazon's services a request is; the store checks no signatures."""


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The address of a store, which PyArrow and deltalake find in the environment, as they find Amazon's."""
    address = f"127.0.0.1:{free_port()}"
    given = {
        "AWS_ENDPOINT_URL": f"http://{address}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
    host, _, port = address.partition(":")
    command = [sys.executable, "-m", "moto.server", "-H", host, "-p", port]  # deltalake would not let a thread answer
    with (
        workspace("s3", owner=None) as home,
        serving(command, home, lambda: urlopen(f"http://{address}/moto-api/").close()),
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in given.items():
            patch.setenv(name, value)
        yield address


@pytest.fixture
def bucket(store: str) -> str:
    """The URL of an empty bucket."""
    name = f"b{secrets.token_hex(8)}"
    with urlopen(Request(f"http://{store}/{name}", method="PUT", headers=SIGNED)):
        return f"s3://{name}"


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", ["put", "delete", "settle"])
def test_a_table_has_each_row_once_whichever_step_of_a_delivery_or_a_compaction_is_killed(
    db: duerow.Database, clock: MovableClock, bucket: str, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    lake = TableSink("lake", format="parquet", path=f"{bucket}/lake", compact=2)
    station = delivering(lake)
    monkeypatch.setattr(compaction.time, "time", lambda: clock.now().timestamp())
    kills = 0
    for number in range(4):
        push(db, lake, batch(lake, f"b{number:02}", [2 * number, 2 * number + 1]))
        killed = False
        while (held := station.queue(db).reserve()) is not None:
            if not killed:
                killed_at(monkeypatch, duerow.Queue if step == "settle" else Folder, step, after)
            try:
                settle(db, station, held)
            except Killed:
                killed, kills = True, kills + 1
                assert set(rows(lake) if Manifest(Folder(str(lake.path))).names() else ()) <= {*range(2 * number + 2)}
                clock.advance(minutes(11))
            clock.advance(minutes(1))
        assert rows(lake) == list(range(2 * number + 2))
        clock.advance(hours(1))
    assert kills
    assert db.queues() == []


def test_delta_refuses_the_second_of_two_commits_of_a_batch_in_an_object_store(
    db: duerow.Database, clock: MovableClock, bucket: str
) -> None:
    lake = TableSink("lake", format="delta", path=f"{bucket}/lake")
    station = delivering(lake)
    for name, numbers in (("a", [1, 2]), ("b", [3])):
        push(db, lake, batch(lake, name, numbers))
        dies = station.queue(db).reserve()
        assert dies is not None
        station.settlement(dies.message, 9)
        clock.advance(minutes(11))
        again = station.queue(db).reserve()
        assert again is not None
        settle(db, station, again)
    found = pa.table(deltalake.DeltaTable(f"{bucket}/lake").to_pyarrow_table())
    assert sorted(found["n"].to_pylist()) == [1, 2, 3]


def test_the_address_of_a_store_may_be_in_the_url(bucket: str, store: str) -> None:
    folder = Folder(f"{bucket}/lake?endpoint_override={store}&scheme=http&region=us-east-1")
    folder.put("a/b", b"c")
    assert folder.url("a/b") == f"{bucket}/lake/a/b?endpoint_override={store}&scheme=http&region=us-east-1"
    assert Folder(f"{bucket}/lake").read("a/b") == b"c"


@pytest.mark.parametrize("clock", [None], ids=["the machine's clock"])
def test_files_of_a_store_go_through_a_pipeline_on_spark_into_a_table_there(
    session: SparkSession, db: duerow.Database, bucket: str, store: str, tmp_path: Path
) -> None:
    with Folder(f"{bucket}/in").writing("more/a.parquet") as stream:
        parquet.write_table(pa.table({"n": [*range(30)]}), stream)

    def path(folder: str) -> str:  # with all that the processes of Spark need to know, which started before the store
        signed = bucket.replace("://", "://key:secret@")
        return f"{signed}/{folder}?endpoint_override={store}&scheme=http&region=us-east-1"

    pipeline = Pipeline(
        "through",
        [
            TableSource("in", "twice", format="parquet", path=path("in")),
            Relay("twice", lambda message: {"n": 2 * message.payload["n"]}, to="lake"),
            TableSink("lake", format="parquet", path=path("out"), schema="n long"),
        ],
    )
    db.queue("twice").push_many([Draft({"n": n}) for n in range(30, 40)])
    for _ in range(2):
        spark.run(pipeline, f"sqlite:///{tmp_path}/queues.db", session)
    files = table_files(path("out"))
    assert sorted(n for file in files for n in parquet.read_table(file)["n"].to_pylist()) == [*range(0, 80, 2)]
