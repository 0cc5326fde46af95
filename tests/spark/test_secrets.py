"""What Spark writes down and shows of a run contains no credential of the database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import duerow
from duerow.testing.conformance.fixtures import Place
from tests.spark.test_stations import found, pushed

PROGRAM = """
import json, os, sys
from datetime import timedelta
from urllib.request import urlopen

import duerow
from duerow import Frame, Pipeline, Relay, spark

url, settings, folder = os.environ["QUEUES"], json.loads(sys.argv[1]), sys.argv[2]
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
spark.run(Pipeline("p", stations, outputs=["c"]), url, session, **settings)
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

    ran = subprocess.run(
        [sys.executable, program, json.dumps(place.settings), logs],
        env={**os.environ, "QUEUES": place.url},
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert ran.returncode == 0, ran.stderr
    assert len(found(db, "d")) == 3
    events = [file.read_text() for file in logs.rglob("*") if file.is_file()]
    assert any("spark.executorEnv.QUEUES" in text for text in events), "the log does not say what was set"
    assert any("relay 'a' of pipeline 'p'" in text for text in events)
    assert "sparkProperties" in ran.stdout
    assert "REFUSED" in ran.stdout
    for text in [ran.stdout, ran.stderr, *events]:
        assert password not in text
