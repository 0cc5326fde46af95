"""The dashboard over the demo while it runs."""

import io
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console

from duerow import Database
from examples.flights import command, stations
from examples.flights.totals import Totals
from examples.flights.work import Job


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["for people", "for programs"])
def test_the_demo_prints_where_its_dashboard_is_and_serves_its_pipeline_there_while_it_runs(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed, pages = io.StringIO(), []

    def work(job: Job, database: Database, *more: Any) -> None:
        database.declare_pipeline(stations.pipeline(job.lease))
        database.queue(stations.PARSE).push({"line": 1})
        pages.extend(httpx.get(address, trust_env=False) for address in re.findall(r"http://\S+", printed.getvalue()))

    monkeypatch.setattr(command, "ASIDE", Console(file=printed))
    monkeypatch.setattr(command, "work", work)
    monkeypatch.setattr(command, "_log", lambda verbose: None)
    monkeypatch.setattr(command.signal, "signal", lambda *of: None)  # those of the tests stay
    monkeypatch.setattr(command.totals, "count", lambda *of: Totals(1, {}, 0, 0, 0, [], [], [], True))
    monkeypatch.setattr(command.report, "write", lambda *of: None)
    arguments = ["--db", f"sqlite:///{tmp_path / 'demo.db'}", "--flights", "1", "--local", *options]
    assert command.app(arguments, standalone_mode=False) in (0, None)
    assert "Watch it at" in printed.getvalue() or options
    assert [page.status_code for page in pages] == ([] if options else [200])
    for page in pages:
        assert f'id="station-{stations.PARSE}"' in page.text
        with pytest.raises(httpx.ConnectError):
            httpx.get(str(page.url), trust_env=False)
