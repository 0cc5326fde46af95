"""A run of torture spares databases that are used, and says what it found."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import create_engine, inspect
from typer.testing import CliRunner, Result

import duerow
from duerow.cli.application import app
from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.testing import torture
from duerow.testing.torture import tables
from duerow.testing.torture.environment import Setting
from duerow.testing.torture.evidence import Row
from duerow.testing.torture.faults import Faults
from duerow.testing.torture.ledger import Line
from duerow.testing.torture.options import Options
from duerow.testing.torture.report import Report, VersionShare, report_on
from duerow.testing.torture.run import LEAST, Run
from duerow.testing.torture.sides import Here
from duerow.testing.torture.sql import SqlAccess
from duerow.testing.torture.upgrade import LOG
from duerow.testing.torture.verdict import Verdict
from duerow.testing.torture.worker_process import AFTER_A_STOP, WorkerProcess
from duerow.testing.torture.workload import ROWS
from tests.crash.conftest import Start

FINE = report_on(Verdict([], [], []), Options(7), {}, {}, [], 0, 0.0)


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(f"sqlite:///{tmp_path}/spare.db", {"prefix": tables.prefix_of(7)})


@pytest.mark.parametrize("prefix", ["duerow_", "shop_"])
def test_a_database_with_queues_is_refused_whatever_their_prefix(setting: Setting, prefix: str):
    tables.check_is_free(setting)
    duerow.connect(setting.url, migrate=True, prefix=prefix).close()
    with pytest.raises(tables.OtherQueues, match=prefix):
        tables.check_is_free(setting)
    with pytest.raises(tables.OtherQueues):
        torture.torture(setting.url, Options(kills=0))


def test_the_tables_of_a_run_are_made_anew_dropped_and_no_reason_to_refuse(setting: Setting):
    tables.create(setting)
    tables.create(setting)
    tables.check_is_free(setting)
    assert tables.Reader(setting).rows() == []
    setting.access.drop()
    assert inspect(create_engine(setting.url)).get_table_names() == []


def test_a_store_within_one_process_is_refused():
    with pytest.raises(ConfigurationError, match="that several processes can open"):
        torture.torture("memory://", Options(kills=0))


def test_a_server_that_cannot_be_reached_is_told_with_exit_code_4():
    result = CliRunner().invoke(app, ["torture", "postgresql://127.0.0.1:1/spare"])
    assert result.exit_code == 4
    assert "cannot connect to the database" in result.stderr


def tortured(monkeypatch: pytest.MonkeyPatch, report: Report, *arguments: str) -> tuple[Result, list[Any]]:
    """What the command did, and what it called `torture` with."""
    called: list[Any] = []

    def instead(*args: Any, show: Callable[[Report], None] | None = None, **_: Any) -> Report:
        called.extend(args)
        if show is not None:
            show(report)
        return report

    monkeypatch.setattr(torture, "torture", instead)
    return CliRunner().invoke(app, ["torture", "sqlite:///spare.db", *arguments]), called


def test_the_command_hands_on_its_options_and_prints_the_report(monkeypatch: pytest.MonkeyPatch):
    arguments = [
        "--seed",
        "7",
        "--kills",
        "3",
        "--seconds",
        "5",
        "--processes",
        "4",
        "--no-stops",
        "--no-cuts",
        "--no-exhaust",
        "--clocks",
        "--full-disk",
        "--fill-disk",
        "fallocate",
        "--free-disk",
        "rm",
        "--set-clock",
        "date",
        "--upgrade-from",
        "6",
        "--beside",
        "old/bin/python",
        "--only",
        "rows",
        "--only",
        "push keyed",
    ]
    result, called = tortured(monkeypatch, FINE, *arguments, "--serializable", "--restart", "true", "--shared")
    assert called == [
        "sqlite:///spare.db",
        Options(
            *(7, 3, 5.0, 4, False, False, False, True, True, True, "true"),
            fill_disk="fallocate",
            free_disk="rm",
            set_clock="date",
            upgrade_from=6,
            beside="old/bin/python",
            only=("rows", "push keyed"),
        ),
        True,
    ]
    assert result.exit_code == 0
    assert "nothing was lost, duplicated, stuck or out of order" in result.stdout


def test_a_broken_promise_is_told_with_its_story_and_exit_code_8(monkeypatch: pytest.MonkeyPatch):
    lost = Verdict([Line("pushing", "1.1", "mail"), Line("pushed", "1.1", "mail", 17)], [], [])
    report = report_on(lost, Options(7), {"pop": 2}, {"cut": 1}, [], 0, 0.0)
    result, _ = tortured(monkeypatch, report)
    assert result.exit_code == 8
    assert "1 promises were broken:\nmessage 17 of mail ended 0 times" in result.stdout
    as_json, _ = tortured(monkeypatch, report, "--json")
    assert as_json.exit_code == 8
    told = json.loads(as_json.stdout)
    assert (told["seed"], told["killed"], told["faults"], told["broken"]) == (7, {"pop": 2}, {"cut": 1}, 1)


def test_the_command_writes_the_smallest_run_that_breaks_the_promise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    lost = Verdict([Line("pushed", "1.1", "mail", 17)], [], [])
    report, file = report_on(lost, Options(7), {}, {}, [], 0, 0.0), tmp_path / "smallest.py"
    result, _ = tortured(monkeypatch, report, "--seed", "7", "--shrink", str(file))
    assert result.exit_code == 8
    assert f"{file} repeats the smallest run that was found: 0 kills, 2 processes" in " ".join(result.stderr.split())
    assert "message 17 of mail ended 0 times" in file.read_text()


def test_a_run_that_keeps_all_promises_leaves_no_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file = tmp_path / "smallest.py"
    result, _ = tortured(monkeypatch, FINE, "--shrink", str(file))
    assert result.exit_code == 0
    assert not file.exists()


def test_a_script_that_could_not_be_written_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    result, called = tortured(monkeypatch, FINE, "--shrink", str(tmp_path / "missing" / "smallest.py"))
    assert result.exit_code == 2
    assert called == []


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs without processes, which break no promise."""
    monkeypatch.setattr(Run, "kill", lambda *_: None)
    monkeypatch.setattr(Run, "finish", lambda _: None)
    monkeypatch.setattr(Run, "report", lambda *_: FINE)


@pytest.mark.usefixtures("idle")
def test_the_report_is_shown_before_the_tables_are_dropped(setting: Setting):
    shown: list[Report] = []

    def show(report: Report) -> None:
        assert f"{setting.prefix}ledger" in inspect(create_engine(setting.url)).get_table_names()
        shown.append(report)

    assert torture.torture(setting.url, Options(7), show=show) == FINE
    assert shown == [FINE]
    assert inspect(create_engine(setting.url)).get_table_names() == []


@pytest.mark.usefixtures("idle")
def test_tables_that_a_server_does_not_drop_in_time_are_left_and_named(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    answer, told = Event(), list[str]()
    request.addfinalizer(answer.set)

    def show(_: Report) -> None:
        monkeypatch.setattr(SqlAccess, "drop", lambda _: answer.wait())
        monkeypatch.setattr(tables, "DROPPING", 0.01)

    assert torture.torture(setting.url, Options(7), tell=told.append, show=show) == FINE
    assert told == [
        f"the tables whose names begin with {setting.prefix} were left: "
        "the server did not drop the tables within 0 s; drop them by hand"
    ]


@pytest.mark.usefixtures("idle")
def test_an_error_while_tables_are_dropped_does_not_hide_the_report(setting: Setting, monkeypatch: pytest.MonkeyPatch):
    told = list[str]()

    def refuse(_: SqlAccess) -> None:
        raise StoreUnavailable("it is down")

    def show(_: Report) -> None:
        monkeypatch.setattr(SqlAccess, "drop", refuse)

    assert torture.torture(setting.url, Options(7), tell=told.append, show=show) == FINE
    assert told == [f"the tables whose names begin with {setting.prefix} were left: it is down; drop them by hand"]


def test_a_process_that_ended_by_itself_is_not_stopped(setting: Setting):
    Faults(Options(), setting, None, setting.chance)._stop([Idle(has_ended=True)])  # type: ignore[list-item]


def test_the_consumers_that_finish_are_of_the_workloads_that_a_run_has(run: Run, monkeypatch: pytest.MonkeyPatch):
    started: list[Any] = []
    monkeypatch.setattr(run, "_start", lambda *terms, **more: started.append((*terms, more)))
    run.finish()
    assert started == [
        ("consumer", kind, {"last": True}) for kind in ("ahead", "one by one", "pipeline", "rows, ahead")
    ]


def test_operators_and_kinds_of_consumers_that_a_run_does_not_use_are_not_started(setting: Setting, tmp_path: Path):
    run = Run(setting.url, setting.settings, Options(7, only=("rows",)), None, tmp_path)
    run.create()
    assert {*run._roles()} == {"producer", "consumer"}
    assert {*run._kinds(run._sides[0])} == {*ROWS.kinds}
    older = Here(None, Path(), "sqlite:///spare.db")
    older.kinds = ["ahead"]
    with pytest.raises(ConfigurationError, match="has no consumers for the messages of this run"):
        run._kinds(older)


def test_consumers_that_another_version_does_not_have_work_here(run: Run):
    older = Here(None, Path(), "sqlite:///spare.db")
    older.kinds = ["ahead"]
    run._sides.append(older)
    assert {run._fewest("consumer", "pipeline") for _ in range(9)} == {run._sides[0]}


def test_the_report_names_the_upgrade_and_what_each_version_did():
    parts = [
        VersionShare("duerow 0.2.0 (here)", 5, 3, 40, 30, 20),
        VersionShare("duerow 0.1.9 (beside)", 4, 2, 9, 8, 7),
    ]
    told = str(report_on(Verdict([], [], []), Options(7), {}, {}, [], 0, 0.0, "upgraded from version 6 to 7", parts))
    assert "\nupgraded from version 6 to 7\n" in told
    assert (
        "duerow 0.2.0 (here): 5 processes, 3 of them killed, pushed 40 messages, began 30 turns and finished 20" in told
    )
    assert "duerow 0.1.9 (beside): 4 processes" in told
    assert told.endswith("nothing was lost, duplicated, stuck or out of order")


def test_the_shortest_story_is_told_first():
    lines = [
        Line("pushed", "1.1", "mail", 17),
        *[Line("begun", None, "mail", 17, 1)] * 3,
        Line("pushed", "1.2", "mail", 18),
    ]
    report = report_on(Verdict(lines, [], []), Options(7), {}, {}, [], 0, 0.0)
    assert "message 18" in report.stories[0]
    assert sorted(report.stories, key=len) == list(report.stories)


def test_a_process_that_ended_by_itself_is_a_broken_promise():
    report = report_on(
        Verdict([], [Row(1, "done", "new", {})], []), Options(7), {}, {}, ["a pop ended by itself"], 0, 0.0
    )
    assert report.broken == 1
    assert "a pop ended by itself" in str(report)


def test_a_stopped_process_is_spared_until_it_goes_on_for_a_moment(start: Start, processes: Any):
    ours, theirs = processes.Pipe(duplex=False)
    one = WorkerProcess(start(time.sleep, 60), "consumer", "pop", ours, 0.0)
    theirs.send(None)
    assert one.is_over
    one.stop(60)
    assert not one.is_over
    one.stopped = 0.0
    assert not one.is_over
    assert (one.stopped, one.work) == (None, AFTER_A_STOP)
    assert one.kill()


def test_a_process_that_has_ended_is_over_and_was_not_killed(start: Start, processes: Any):
    ours, _ = processes.Pipe(duplex=False)
    process = start(os._exit, 3)
    process.join()
    one = WorkerProcess(process, "consumer", "pop", ours, 0.0)
    assert one.is_over
    assert not one.kill()


def test_a_server_is_restarted_by_a_command_or_a_function(setting: Setting, tmp_path: Path):
    faults = Faults(Options(), setting, None, setting.chance)
    called: list[Callable[[], None] | None] = []
    faults.restart(f"touch {tmp_path}/restarted")
    faults.restart(lambda: called.append(None))
    assert (tmp_path / "restarted").exists()
    assert called == [None]
    assert faults.happened["restarts"] == 2
    with pytest.raises(ConfigurationError, match="failed with 1"):
        faults.restart("false")


class Idle:
    """A process whose time is up, and that has done nothing yet."""

    role, kind, name, side, stopped, full = "consumer", "pop", "pop", None, None, False
    begun = (0.0, 0.0)
    is_over = True

    def __init__(self, has_ended: bool = False) -> None:
        self.has_ended = has_ended

    def kill(self) -> bool:
        return not self.has_ended


@pytest.fixture
def run(setting: Setting, tmp_path: Path) -> Run:
    """A run of no kills, with its tables, whose processes are still to be started."""
    run = Run(setting.url, setting.settings, Options(7, kills=0, processes=4), None, tmp_path)
    run.create()
    run._side_of.append(run._sides[0])
    (tmp_path / LOG).write_text("it ended")
    return run


def test_when_enough_were_killed_the_others_live_until_something_was_done(run: Run, monkeypatch: pytest.MonkeyPatch):
    begun = iter([{}, {}, {1: LEAST - 1}, {1: LEAST}])
    monkeypatch.setattr(run, "_start", lambda role: Idle())
    monkeypatch.setattr(run._reader, "begun", lambda: next(begun))
    run.kill()
    assert (run.killed.total(), run.ended) == (0, [])


def test_a_process_that_ended_by_itself_is_noticed_even_then(run: Run, monkeypatch: pytest.MonkeyPatch):
    begun = iter([{}, {}, {1: LEAST}])
    started = iter([Idle(), Idle(has_ended=True)])
    monkeypatch.setattr(run, "_start", lambda role: next(started, Idle()))
    monkeypatch.setattr(run._reader, "begun", lambda: next(begun))
    run.kill()
    assert [one.partition(":")[0] for one in run.ended] == ["a consumer (pop) ended by itself"]


def test_each_interpreter_has_processes_of_each_role(run: Run, monkeypatch: pytest.MonkeyPatch):
    here, there = run._sides[0], Here(None, Path(), "sqlite:///spare.db")
    run._sides.append(there)
    started = []
    for role in ("producer", "consumer", "consumer", "operator", "consumer", "consumer"):
        one = Idle()
        monkeypatch.setattr(one, "role", role, raising=False)
        monkeypatch.setattr(one, "side", run._fewest(role), raising=False)
        started.append((role, one.side))
        run._alive.append(one)  # type: ignore[arg-type]
    assert [started.count(("consumer", side)) for side in (here, there)] == [2, 2]
    assert run._fewest("producer") is not started[0][1]
