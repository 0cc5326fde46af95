"""The demo from its beginning to its end, and begun again."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine, text
from typer.testing import CliRunner

from examples.flights.command import app
from tests.commands_undone import commands_undone
from tests.demo.conftest import arguments, expected, found, run_demo, totals_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLIGHTS, FEW = 300, 100


@dataclass(frozen=True)
class Finished:
    """A run on Spark that has ended."""

    file: Path
    report: Path
    totals: dict[str, Any]

    @property
    def url(self) -> str:
        return f"sqlite:///{self.file}"


@pytest.fixture(scope="module")
def finished(session: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("demo")
    file, report = folder / "demo.db", folder / "report.html"
    return Finished(file, report, totals_of(run_here(session, f"sqlite:///{file}", report, "--flights", str(FLIGHTS))))


def run_here(session: "SparkSession", url: str, report: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the demo in this process, on the session of all tests: Java takes longer to start than the flights to pass.

    The long tests run it on Spark as a program.
    """
    with commands_undone(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(session), "stop", lambda session: None)  # as the demo does in the end
        done = CliRunner().invoke(app, arguments(url, report, *options), catch_exceptions=False)
    return subprocess.CompletedProcess([], done.exit_code, done.stdout, done.stderr)


def test_on_spark_every_total_is_what_the_file_of_flights_says(finished: Finished):
    assert found(finished.totals) == expected(FLIGHTS)


def test_every_promise_is_checked_and_holds(finished: Finished):
    checks = finished.totals["checks"]
    assert len(checks) == 5
    assert all(check["holds"] for check in checks)


def test_a_second_run_finds_nothing_to_do_and_writes_the_report_again(finished: Finished):
    finished.report.unlink()
    again = run_demo(finished.url, finished.report, "--flights", str(FLIGHTS))
    assert totals_of(again) == finished.totals
    assert "nothing is left to do" in again.stderr
    assert finished.report.exists()


def test_the_report_draws_at_least_four_charts_from_data_of_its_own(finished: Finished):
    page = finished.report.read_text()
    charts = [
        json.loads(data) for data in re.findall(r'<script type="application/json" id="chart[^>]*>(.*?)</script>', page)
    ]
    kinds = [chart["data"][0]["type"] for chart in charts]
    assert len(charts) >= 4
    assert {"sankey", "bar", "heatmap", "box"} <= set(kinds)
    assert all(chart["data"] for chart in charts)


def test_the_graph_in_the_report_has_the_counts_on_its_edges(finished: Finished):
    page = finished.report.read_text()
    [graph] = [
        chart["data"][0]
        for chart in map(json.loads, re.findall(r'<script type="application/json" id="chart[^>]*>(.*?)</script>', page))
        if chart["data"][0]["type"] == "sankey"
    ]
    names = [label.partition("<br>")[0] for label in graph["node"]["label"]]
    link = graph["link"]
    edges = {
        (names[source], names[target]): value
        for source, target, value in zip(link["source"], link["target"], link["value"], strict=True)
    }
    outcomes = expected(FLIGHTS)["outcomes"]
    assert edges["route", "alert"] == outcomes["cancelled"]
    assert edges["route", "malformed"] == outcomes["malformed"]
    assert edges["watch", "alert"] == outcomes["late"]
    assert edges["watch", "landed"] == outcomes["landed"]


def test_the_report_asks_the_network_for_nothing(finished: Finished):
    page = re.sub(r"<script>.*?</script>", "", finished.report.read_text(), flags=re.DOTALL)
    assert "://" not in re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    assert not re.search(r"<(link|img|iframe)\b|\bsrc=|@import|url\(", page)


def test_more_flights_can_be_asked_for_later(finished: Finished, tmp_path: Path):
    report = tmp_path / "report.html"
    url = f"sqlite:///{tmp_path / 'demo.db'}"
    totals_of(run_demo(url, report, "--flights", str(FEW), "--local"))
    more = totals_of(run_demo(url, report, "--flights", str(FLIGHTS), "--local"))
    assert found(more) == expected(FLIGHTS) == found(finished.totals)


@pytest.fixture
def own_database(postgresql_url: str) -> Iterator[str]:
    """A database that no other test uses, gone afterwards."""
    engine = create_engine(postgresql_url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CREATE DATABASE flown"))
        yield postgresql_url.rpartition("/")[0] + "/flown"
        connection.execute(text("DROP DATABASE flown WITH (FORCE)"))
    engine.dispose()


def test_on_postgresql_every_total_is_the_same(own_database: str, tmp_path: Path):
    totals = totals_of(run_demo(own_database, tmp_path / "report.html", "--flights", str(FEW), "--local"))
    assert found(totals) == expected(FEW)
