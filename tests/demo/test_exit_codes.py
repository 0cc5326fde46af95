"""What the demo's exit code says."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import duerow
from examples.flights.ledger import open_engine
from examples.flights.totals import count
from tests.demo.conftest import run_demo, totals_of


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("oracle://host/base", "oracle"),
        ("memory://", "SQLite and PostgreSQL"),
        ("demo.db", "URL"),
        ("sqlite:////proc/no/such/folder/demo.db", "/proc/no"),
        ("postgresql://nobody@127.0.0.1:1/nothing", "127.0.0.1"),
    ],
)
def test_a_database_that_cannot_be_used_is_told_in_a_line_with_exit_code_1(url: str, said: str, tmp_path: Path):
    done = run_demo(url, tmp_path / "report.html", "--flights", "1")
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("options", [["--flights", "336777"], ["--no-such-option"]])
def test_what_is_not_understood_has_exit_code_2(options: list[str], tmp_path: Path):
    assert run_demo("sqlite:///demo.db", tmp_path / "report.html", *options).returncode == 2


def test_a_report_that_cannot_be_written_is_told_in_a_line_with_exit_code_1(tmp_path: Path):
    (tmp_path / "file").touch()
    done = run_demo(f"sqlite:///{tmp_path / 'demo.db'}", tmp_path / "file" / "report.html", "--flights", "3", "--local")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    file = folder / "demo.db"
    totals_of(run_demo(f"sqlite:///{file}", folder / "report.html", "--flights", "60", "--local"))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file


@pytest.fixture
def copied(small_run: Path, tmp_path: Path) -> Path:
    """The file of a run that has ended, to be damaged."""
    return Path(shutil.copy(small_run, tmp_path / "demo.db"))


def damage(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        assert connection.execute(statement).rowcount > 0


def broken_promises(file: Path) -> list[str]:
    engine = open_engine(f"sqlite:///{file}")
    with duerow.connect(f"sqlite:///{file}") as database:
        totals = count(database, engine)
    engine.dispose()
    assert totals.exact == all(check.holds for check in totals.checks)
    return [check.promise for check in totals.checks if not check.holds]


LOSE_A_FLIGHT = "DELETE FROM demo_flight WHERE message_id = (SELECT min(message_id) FROM demo_flight)"


@pytest.mark.parametrize(
    ("statement", "broken"),
    [
        (LOSE_A_FLIGHT, "every flight"),
        ("UPDATE demo_flight SET line = (SELECT max(line) FROM demo_flight)", "every flight"),
        ("DELETE FROM demo_sms WHERE sms_id = (SELECT min(sms_id) FROM demo_sms)", "every long delay"),
        ("UPDATE demo_sms SET flight_id = (SELECT min(flight_id) FROM demo_sms)", "every long delay"),
        ("DELETE FROM demo_call WHERE sms_id = (SELECT min(sms_id) FROM demo_call)", "every text message"),
        (
            "INSERT INTO demo_call SELECT sms_id, 99, answer, entered, taken, seconds FROM demo_call"
            " WHERE answer = 'accepted' LIMIT 1",
            "no text message was sent twice",
        ),
        (
            "INSERT INTO duerow_message"
            " (queue, kind, payload, priority, status, due_at, first_due_at, attempts, token, created_at)"
            " VALUES ('demo.route', 'json', '{}', 0, 'new', 1, 1, 0, 0, 1)",
            "no message is left",
        ),
    ],
)
def test_what_is_lost_or_doubled_is_noticed(statement: str, broken: str, copied: Path):
    assert broken_promises(copied) == []
    damage(copied, statement)
    assert any(promise.startswith(broken) for promise in broken_promises(copied))


def test_totals_that_are_not_exact_have_exit_code_3(copied: Path, tmp_path: Path):
    damage(copied, LOSE_A_FLIGHT)
    done = run_demo(f"sqlite:///{copied}", tmp_path / "report.html", "--flights", "60", "--local")
    assert done.returncode == 3, done.stderr
    assert not json.loads(done.stdout)["exact"]
