"""What Spark writes down and shows of a run contains no credential of the database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import duerow
from duerow import Frame, Pipeline, Relay, Sink, spark
from duerow.errors import ConfigurationError
from duerow.spark import command
from duerow.testing.conformance.fixtures import Place
from tests.spark.test_stations import found, pushed

PROGRAM = """
import json, os, sys
from datetime import timedelta
from urllib.request import urlopen

import duerow
from duerow import Frame, Pipeline, Relay, spark

url, settings, folder, secret = os.environ["QUEUES"], json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
session = spark.session(
    cores=1,
    spark__ui__enabled="true",
    spark__ui__port="0",
    spark__eventLog__enabled="true",
    spark__eventLog__compress="false",
    spark__eventLog__dir=f"file://{folder}",
    spark__executorEnv__QUEUES=url,
)
stations = [
    Relay("a", lambda m: m.payload, to="b", timeout=timedelta(minutes=5)),
    Frame("b", lambda frame: frame.select("_id", "n"), to="c", schema="n long", rowwise=True),
]
pipeline = Pipeline("p", stations, outputs=["c"])
spark.run(pipeline, spark=session, urlenv="QUEUES", **settings)
spark.step(pipeline, spark=session, urlfile=secret, **settings)
try:
    spark.run(pipeline, url + "-not-there", session)
except Exception as error:
    print("REFUSED TO RUN", type(error), error)
options = {"urlenv": "QUEUES", "prefix": settings["prefix"]}
messages = session.read.format("duerow").options(queue="c", **options).load().select("payload")
messages.write.format("duerow").options(queue="d", **options).mode("append").save()
messages.explain("extended")
try:
    session.read.format("duerow").options(queue="c", url=url + "-not-there").load().collect()
except Exception as error:
    print("REFUSED", type(error), error)

pages = session.sparkContext.uiWebUrl
(application,) = json.load(urlopen(f"{pages}/api/v1/applications"))
for page in ("environment", "jobs", "stages?details=true", "sql?details=true&planDescription=true", "allexecutors"):
    print(urlopen(f"{pages}/api/v1/applications/{application['id']}/{page}").read().decode())
for page in ("environment/", "jobs/", "stages/", "SQL/", "executors/"):
    print(urlopen(f"{pages}/{page}").read().decode())
session.stop()
"""


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_nothing_that_spark_keeps_for_its_pages_or_prints_contains_the_password_of_the_database(
    session: SparkSession,
    place: Place,
    db: duerow.Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    password = urlsplit(place.url).password
    assert password
    pushed(db, "a", 3)
    (tmp_path / "secret").write_text(f"{place.url}\n")
    monkeypatch.setenv("QUEUES", place.url)
    stations = [
        Relay("a", lambda m: m.payload, to="b", timeout=timedelta(minutes=5)),
        Frame("b", lambda frame: frame.select("_id", "n"), to="c", schema="n long", rowwise=True),
    ]
    pipeline = Pipeline("p", stations, outputs=["c"])
    options = {"urlfile": str(tmp_path / "secret"), "prefix": place.settings["prefix"]}
    pages = Pages(session)

    spark.run(pipeline, spark=session, urlenv="QUEUES", **place.settings)
    messages = session.read.format("duerow").options(queue="c", **options).load().select("payload")
    messages.write.format("duerow").options(queue="d", **options).mode("append").save()
    messages.explain("extended")
    away = session.read.format("duerow").options(queue="c", url=place.url + "-not-there").load()
    with pytest.raises(PySparkException) as refused:
        away.collect()
    with pytest.raises(duerow.errors.DuerowError) as refused_to_run:
        spark.run(pipeline, place.url + "-not-there", session)

    assert len(found(db, "d")) == 3
    kept = pages.text()
    assert "relay 'a' of pipeline 'p'" in kept
    assert "MapInArrow" in kept, "plans are among it"
    printed = capfd.readouterr()
    assert "== Physical Plan ==" in printed.out
    for text in [kept, *printed, str(refused.value), str(refused_to_run.value)]:
        assert password not in text
    assert password not in redacted(session, "spark.executorEnv.QUEUES", place.url)


class Pages:
    """What Spark has for its pages and its API over HTTP about the jobs and plans from now on."""

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        self._jobs = session.sparkContext._jsc.sc().statusStore()
        self._plans = session._jsparkSession.sharedState().statusStore()
        self._write = jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper().writeValueAsString
        self._before = {one.jobId() for one in self._all_jobs()}, {one.executionId() for one in self._all_plans()}

    def text(self) -> str:
        """All of it, as Spark writes it."""
        jobs = [one for one in self._all_jobs() if one.jobId() not in self._before[0]]
        plans = [one for one in self._all_plans() if one.executionId() not in self._before[1]]
        texts = [*map(self._write, [*jobs, *plans]), *(one.physicalPlanDescription() for one in plans)]
        return "\n".join(texts)

    def _all_jobs(self) -> list[Any]:
        found = self._jobs.jobsList(None)
        return [found.apply(number) for number in range(found.size())]

    def _all_plans(self) -> list[Any]:
        found = self._plans.executionsList()
        return [found.apply(number) for number in range(found.size())]


def redacted(session: SparkSession, name: str, value: str) -> str:
    """A setting as Spark's pages and its log show it."""
    jvm: Any = session._jvm
    conf = session.sparkContext._jsc.sc().conf()
    settings = jvm.PythonUtils.toSeq([jvm.scala.Tuple2(name, value)])
    return str(jvm.org.apache.spark.util.Utils.redact(conf, settings))


@pytest.mark.soak  # it needs a Java of its own, for a log of events and pages
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_no_plan_log_page_or_error_of_spark_contains_the_password_of_the_database(
    place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    password = urlsplit(place.url).password
    assert password
    pushed(db, "a", 3)
    logs = tmp_path / "logs"
    logs.mkdir()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    secret = tmp_path / "secret"
    secret.write_text(f"{place.url}\n")

    ran = subprocess.run(
        [sys.executable, program, json.dumps(place.settings), logs, secret],
        env={**os.environ, "QUEUES": place.url},
        capture_output=True,
        text=True,
        timeout=900,
    )

    assert ran.returncode == 0, ran.stderr
    assert len(found(db, "d")) == 3
    events = [file.read_text() for file in logs.rglob("*") if file.is_file()]
    assert any("spark.executorEnv.QUEUES" in text for text in events), "the log does not say what was set"
    assert any("relay 'a' of pipeline 'p'" in text for text in events)
    assert "sparkProperties" in ran.stdout
    assert "REFUSED" in ran.stdout
    assert "REFUSED TO RUN" in ran.stdout
    for text in [ran.stdout, ran.stderr, *events]:
        assert password not in text


def test_a_run_takes_one_way_to_say_where_its_queues_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline("p", [Sink("a", print)])
    with pytest.raises(ConfigurationError, match=r"with one of the options url, urlenv .* not with none"):
        spark.run(pipeline)
    with pytest.raises(ConfigurationError, match="not with url and urlfile"):
        spark.step(pipeline, "sqlite:///shop.db", urlfile="there")
    with pytest.raises(ConfigurationError, match="the driver has no environment variable NOWHERE"):
        spark.run(pipeline, urlenv="NOWHERE")
    with pytest.raises(ConfigurationError, match=r"urlfile: .*there cannot be read"):
        spark.step(pipeline, urlfile=str(tmp_path / "there"))
    (tmp_path / "empty").touch()
    with pytest.raises(ConfigurationError, match="option urlfile is empty"):
        spark.run(pipeline, urlfile=str(tmp_path / "empty"))


def test_the_command_takes_the_url_from_the_variable_or_the_file_that_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("memory://\n")
    (tmp_path / "shop_by_reference.py").write_text(
        "from duerow import Pipeline, Sink\npipeline = Pipeline('p', [Sink('a', print)])"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUEUES", "memory://")
    monkeypatch.delenv("DUEROW_URL", raising=False)
    given: list[str] = []
    monkeypatch.setattr(command, "run_on_spark", lambda pipeline, url, **settings: (given.append(url), {})[1])
    for options in (["--urlenv", "QUEUES"], ["--urlfile", "secret"], ["--db", "memory://"]):
        done = CliRunner().invoke(command.app, ["shop_by_reference:pipeline", *options], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert given == ["memory://"] * 3
    done = CliRunner().invoke(command.app, ["shop_by_reference:pipeline"])
    assert done.exit_code == 2
    assert "--urlfile" in done.output
