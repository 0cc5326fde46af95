"""A run on Spark tells OpenLineage which queues and tables each station reads and writes, and how it ended."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import RunEvent
from openlineage.client.serde import Serde
from openlineage.client.transport import Transport
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import duerow
from duerow import Draft, Pipeline, Relay, TableSink, TableSource, spark
from duerow.errors import ConfigurationError, StationFailed
from duerow.pipeline import Elsewhere
from duerow.spark import openlineage
from duerow.spark.command import app
from duerow.spark.openlineage import folder_name, table_name, table_of
from duerow.testing.conformance.fixtures import Place

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # no database is asked


class Kept(Transport):
    """Keeps the events as they would be sent."""

    kind = "kept"

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    @property
    def client(self) -> OpenLineageClient:
        return OpenLineageClient(transport=self)

    def emit(self, event: Any) -> None:
        assert isinstance(event, RunEvent)
        self.events.append(json.loads(Serde.to_json(event)))


def one_station() -> Pipeline:
    return Pipeline("p", [Relay("a", lambda message: message.payload, to="b")], outputs=["b"])


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """The client adds to the environment what it has read there; that ends with the test."""
    before = {*os.environ}
    yield
    for name in {*os.environ} - before:
        if name.startswith("OPENLINEAGE"):
            del os.environ[name]


@pytest.fixture
def kept() -> Kept:
    return Kept()


def told(events: list[dict[str, Any]], job: str) -> list[dict[str, Any]]:
    """The events of one job."""
    return [event for event in events if event["job"]["name"] == job]


def names(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["namespace"], one["name"]) for one in datasets]


def test_a_run_and_its_stations_begin_and_complete_with_what_they_read_and_write(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path, kept: Kept
) -> None:
    lake = tmp_path / "lake"
    pipeline = Pipeline(
        "sales",
        [
            Relay("taken", lambda message: message.payload, to="sold"),
            TableSink("sold", format="parquet", path=lake, schema="n int"),
        ],
    )
    db.queue("taken").push_many([Draft({"n": n}) for n in range(3)])

    spark.run(pipeline, place.url, session, lineage=kept.client)

    file = str(tmp_path / "queues.db")
    whole, taken, sold = (told(kept.events, job) for job in ("sales", "sales.taken", "sales.sold"))
    for events in (whole, taken, sold):
        assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
        assert len({event["run"]["runId"] for event in events}) == 1
    for station in (*taken, *sold):
        assert station["run"]["facets"]["parent"]["run"]["runId"] == whole[0]["run"]["runId"]
        assert station["job"]["facets"]["jobType"]["processingType"] == "BATCH"
    assert names(taken[0]["inputs"]) == [("file", f"{file}/duerow_message/taken")]
    assert names(taken[0]["outputs"]) == names(sold[0]["inputs"]) == [("file", f"{file}/duerow_message/sold")]
    assert names(sold[0]["outputs"]) == [("file", str(lake))]
    facets = sold[0]["inputs"][0]["facets"]
    assert [(one["name"], one["type"]) for one in facets["schema"]["fields"]] == [("n", "int")]
    assert facets["symlinks"]["identifiers"] == [
        {"namespace": "file", "name": f"{file}/duerow_message", "type": "TABLE"}
    ]


def test_a_run_that_fails_says_so_by_the_class_of_its_error_alone(
    session: SparkSession, place: Place, db: duerow.Database, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise StationFailed("a secret payload")

    monkeypatch.setattr("duerow.spark.runner.Runner.run", fail)
    with pytest.raises(StationFailed):
        spark.run(
            one_station(),
            place.url,
            session,
            lineage=kept.client,
        )
    assert [event["eventType"] for event in told(kept.events, "p.a")] == ["START", "FAIL"]
    assert told(kept.events, "p")[-1]["run"]["facets"]["errorMessage"]["message"] == "StationFailed"
    assert "secret" not in json.dumps(kept.events)


def test_a_run_goes_on_if_its_lineage_cannot_be_reported(
    session: SparkSession,
    place: Place,
    db: duerow.Database,
    kept: Kept,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(event: Any) -> None:
        raise ConnectionError("https://user:secret@lineage is down")

    monkeypatch.setattr(kept, "emit", refuse)
    db.queue("a").push({"n": 1})
    spark.run(
        one_station(),
        place.url,
        session,
        lineage=kept.client,
    )
    assert db.queue("b").count() == 1
    assert "its lineage could not be reported: ConnectionError" in caplog.text
    assert "secret" not in caplog.text


@pytest.fixture
def server() -> Iterator[SimpleNamespace]:
    """A server that takes events, as Marquez does."""
    found = SimpleNamespace(events=[])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        found.url = f"http://127.0.0.1:{listening.server_port}"
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield found
        listening.shutdown()
        thread.join()


def test_the_command_reports_to_the_server_that_the_environment_names(
    session: SparkSession,
    place: Place,
    db: duerow.Database,
    server: SimpleNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "traced.py").write_text(
        "from duerow import Pipeline, Relay\n"
        "pipeline = Pipeline('p', [Relay('a', lambda message: message.payload, to='b')], outputs=['b'])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OPENLINEAGE_URL", server.url)
    monkeypatch.setenv(openlineage.NAMESPACE, "shop")
    db.queue("a").push({"n": 1})
    done = CliRunner().invoke(app, ["traced:pipeline", "--db", place.url, "--lineage"], catch_exceptions=False)
    assert done.exit_code == 0
    assert [(event["job"]["namespace"], event["eventType"]) for event in told(server.events, "p.a")] == [
        ("shop", "START"),
        ("shop", "COMPLETE"),
    ]


def test_what_is_not_a_client_is_refused_before_anything_happens(place: Place, session: SparkSession) -> None:
    with pytest.raises(ConfigurationError, match="lineage must be True, False or an OpenLineageClient, not 'yes'"):
        spark.run(one_station(), place.url, session, lineage="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "schema", "expected"),
    [
        (
            "postgresql+psycopg://ann:pw@db.shop:6432/shop?sslmode=require",
            None,
            ("postgres://db.shop:6432", "shop.public.t"),
        ),
        ("postgresql://ann:pw@db/shop", "queues", ("postgres://db:5432", "shop.queues.t")),
        ("postgresql://ann:p@ss/w@db/shop", None, ("postgres://db:5432", "shop.public.t")),
        ("postgresql://ann:p?w@db/shop", None, ("postgres", "t")),
        ("postgresql:///shop?host=one&port=6432", None, ("postgres://one:6432", "shop.public.t")),
        ("postgresql:///shop?host=one:1&host=two:2", None, ("postgres://one:1,two:2", "shop.public.t")),
        ("postgresql://ann:pw@[::1]/shop", None, ("postgres://[::1]:5432", "shop.public.t")),
        ("mariadb://ann:pw@db/shop", None, ("mysql://db:3306", "shop.t")),
        ("mssql://ann:pw@db/shop", None, ("mssql://db:1433", "shop.dbo.t")),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Dpw", None, ("mssql", "t")),
        ("mongodb://ann:pw@db/shop", None, ("mongodb://db:27017", "shop.t")),
        ("mongodb://ann:pw@one:1,two:2/shop", None, ("mongodb://one:1,two:2", "shop.t")),
        ("oracle://ann:pw@db:1521/shop", None, ("oracle://db:1521", "shop.t")),
    ],
)
def test_a_table_is_named_by_server_and_place_and_never_shows_a_password(
    place: Place, url: str, schema: str | None, expected: tuple[str, str]
) -> None:
    assert table_name(url, "t", schema) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data/a#b", ("file", "/data/a#b")),
        ("s3a://key:secret@bucket/sales/", ("s3://bucket", "sales")),
        ("s3://bucket/sales?endpoint_override=here:1", ("s3://bucket", "sales")),
        ("abfss://box@account.dfs.core.windows.net/x", ("abfss://box@account.dfs.core.windows.net", "x")),
        ("hdfs:///home/x", ("hdfs://", "home/x")),
    ],
)
def test_a_folder_is_named_by_where_it_is_and_never_shows_a_password(
    place: Place, path: str, expected: tuple[str, str]
) -> None:
    assert folder_name(path) == expected


def test_tables_of_stations_are_named_by_their_files_database_or_catalog(place: Place, tmp_path: Path) -> None:
    assert table_of(TableSource("s", "a", format="csv", path=tmp_path)) == ("file", str(tmp_path))
    jdbc = TableSink("s", format="jdbc", url="jdbc:postgresql://ann:pw@db/shop", table="app.sales")
    assert table_of(jdbc) == ("postgres://db:5432", "shop.app.sales")
    lake = TableSink("s", format="iceberg", table="app.sales", options={"name": "prod", "uri": "https://ann:pw@c/api"})
    assert table_of(lake) == ("iceberg://prod", "app.sales")


@pytest.mark.parametrize(
    ("until", "ends", "state", "processing"),
    [("empty", KeyboardInterrupt, "ABORT", "BATCH"), (None, None, "COMPLETE", "STREAMING")],
)
def test_a_run_that_is_interrupted_is_aborted_and_one_without_an_end_is_a_stream(
    session: SparkSession,
    place: Place,
    kept: Kept,
    monkeypatch: pytest.MonkeyPatch,
    until: Any,
    ends: type[BaseException] | None,
    state: str,
    processing: str,
) -> None:
    def run(*_: Any) -> Any:
        if ends is not None:
            raise ends

    monkeypatch.setattr("duerow.spark.runner.Runner.run", run)
    with pytest.raises(ends) if ends else nullcontext():
        spark.run(one_station(), place.url, session, until, lineage=kept.client)
    for event, expected in zip(told(kept.events, "p"), ("START", state), strict=True):
        assert event["eventType"] == expected
        assert event["job"]["facets"]["jobType"]["processingType"] == processing


@pytest.mark.parametrize("closed", [False, RuntimeError("https://user:secret@lineage")])
def test_a_client_that_cannot_send_all_at_the_end_fails_no_run(
    session: SparkSession,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    closed: Any,
) -> None:
    def close(*_: Any) -> Any:
        if closed is False:
            return False
        raise closed

    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "noop")
    monkeypatch.setattr(OpenLineageClient, "close", close)
    spark.run(one_station(), place.url, session, lineage=True)
    assert "some of its lineage was not sent" in caplog.text
    assert "secret" not in caplog.text


def test_wrong_settings_are_refused_without_showing_them(
    session: SparkSession, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", "user:secret@nowhere")
    with pytest.raises(ConfigurationError, match="the settings of OpenLineage are wrong") as refused:
        spark.run(one_station(), place.url, session, lineage=True)
    assert "secret" not in str(refused.value)


def test_what_goes_to_another_database_is_named_after_it(
    session: SparkSession, place: Place, tmp_path: Path, kept: Kept
) -> None:
    far = f"sqlite:///{tmp_path}/far.db"
    duerow.connect(far, migrate=True).close()
    there = Elsewhere("orders", lambda: duerow.connect(far), database="centre")
    spark.run(
        Pipeline("p", [Relay("a", lambda message: message.payload, to=there)]), place.url, session, lineage=kept.client
    )
    assert names(told(kept.events, "p.orders")[0]["outputs"]) == [("duerow://centre", "orders")]
