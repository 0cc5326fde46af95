"""What the doctor finds on every database: each trouble is brought about, and found by its code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import duerow
import duerow.aio
from duerow.cli.options import unchecked
from duerow.doctor import Finding, aexamine, examine
from duerow.store import Planned, ScheduleChange, Settings, find_backend
from tests.cli.conftest import command, parsed, url
from tests.processes import running_program

__all__ = ["command", "url"]

AT_ONCE = timedelta(0)


@pytest.fixture
def database(url: str) -> Iterator[duerow.Database]:
    with duerow.connect(url, migrate=True) as database:
        yield database


def codes(found: list[Finding]) -> set[str]:
    return {one.code for one in found}


def test_a_sound_database_without_trouble_has_no_findings(database: duerow.Database):
    assert examine(database) == []


async def test_the_awaited_face_finds_the_same(url: str):
    async with await duerow.aio.connect(url, migrate=True) as awaited:
        await awaited.queue("mail").push("hello")
        found = await aexamine(awaited, patience=AT_ONCE)
    assert codes(found) == {"no-consumer"}


def test_the_doctor_leaves_no_message_behind(database: duerow.Database):
    examine(database)
    assert database.queues() == []


def test_tables_that_were_never_made_are_found(url: str):
    Path(url.removeprefix("sqlite:///")).touch()
    with closing(unchecked(url, "duerow_", None)) as bare:
        assert codes(examine(bare)) == {"schema"}


def test_a_clock_that_differs_from_the_databases_is_found(database: duerow.Database):
    found = examine(database, now=lambda: datetime.now(UTC) + timedelta(minutes=5))
    assert codes(found) == {"clock-skew"}
    assert "300.0 s behind" in found[0].what


def test_a_queue_that_nobody_consumes_is_found_once_its_messages_have_been_due_for_long(database: duerow.Database):
    database.queue("mail").push("hello")
    assert examine(database, patience=timedelta(minutes=1)) == []
    found = examine(database, patience=AT_ONCE)
    assert [(one.code, one.where) for one in found] == [("no-consumer", "mail")]


def test_a_queue_that_a_worker_consumes_is_no_trouble(database: duerow.Database):
    queue = database.queue("mail")
    queue.push("hello")
    database.run(lambda: database.store.metadata.note_consumer("host:1:w", ["mail"], ["json"], duerow.__version__))
    assert examine(database, patience=AT_ONCE) == []


def test_dead_letters_wait_for_people_and_are_no_trouble(database: duerow.Database):
    database.queue("mail", dead_letter="mail-dead").declare()
    database.queue("mail-dead").push("hello")
    assert examine(database, patience=AT_ONCE) == []


@pytest.mark.parametrize("suffix", ["progress", "results", "stack"])
def test_what_is_kept_beside_a_queue_needs_no_worker(database: duerow.Database, suffix: str):
    database.queue(f"mail/{suffix}").push("expired")
    assert codes(examine(database, patience=AT_ONCE)) == {"no-consumer"}  # a queue of somebody's own
    database.queue("mail").declare()
    assert examine(database, patience=AT_ONCE) == []


def test_permits_that_workers_gave_back_need_no_worker(database: duerow.Database):
    database.queue("mail").push("hello")
    duerow.Worker(database.queue("mail"), lambda message: None, singleton=True).run("idle")
    assert database.queue("duerow/singleton/mail").count() == 1
    assert examine(database, patience=AT_ONCE) == []


def test_a_queue_that_was_left_paused_is_found(database: duerow.Database):
    queue = database.queue("mail")
    queue.push("hello")
    queue.pause()
    assert codes(examine(database, patience=AT_ONCE)) == {"queue-paused"}


def test_a_worker_of_another_version_is_found(database: duerow.Database):
    database.run(lambda: database.store.metadata.note_consumer("old:1:w", ["mail"], ["json"], "0.0.1"))
    found = examine(database)
    assert [(one.code, one.where) for one in found] == [("other-version", "old:1:w")]


KILLED = """
import sys, time, duerow
with duerow.connect(sys.argv[1]) as database:
    [one] = database.queue("mail", lease=__import__("datetime").timedelta(milliseconds=1)).reserve_many(1)
    print(one.message.id, flush=True)
    time.sleep(600)
"""


def test_a_lease_that_ended_in_a_handler_is_found(database: duerow.Database, url: str, tmp_path: Path):
    database.queue("mail").push("hello")
    (tmp_path / "worker_to_kill.py").write_text(KILLED)
    with running_program("worker_to_kill", [url], tmp_path) as worker:
        worker.stdout.readline()
    assert codes(examine(database)) == {"leases-ended"}
    again = database.queue("mail").reserve()
    assert again is not None
    again.rollback()
    assert codes(examine(database)) == {"leases-ended"}  # its next consumer has noted it


def test_a_tick_that_nobody_pushes_is_found(database: duerow.Database):
    database.schedule("nightly", queue="mail", every=timedelta(days=1))
    planned = database.run(database.store.metadata.schedules).rows[0]
    past = Planned(planned.name, planned.definition, datetime.now(UTC) - timedelta(hours=1), None, planned.version + 1)
    database.run(lambda: database.store.metadata.set_schedule(ScheduleChange("nightly", planned.version, past)))
    assert codes(examine(database)) == {"schedule-late"}


def test_a_database_in_memory_is_examined_as_well():
    store, connections = find_backend("memory://").open("memory://", Settings())
    with closing(duerow.Database(store, connections)) as database:
        database.migrate()
        assert examine(database) == []


def test_the_command_prints_findings_and_tells_their_severity_by_its_exit_code(command, database):
    assert command("doctor").stdout == "nothing is wrong\n"
    database.queue("mail").push("hello")
    told = command("doctor", "--patience", "0", "--json")
    assert told.exit_code == 6
    assert '"no-consumer"' in told.stdout
    assert parsed(command("doctor", "--json")) == []


def test_the_command_exits_with_7_for_errors(command, url: str):
    Path(url.removeprefix("sqlite:///")).touch()
    told = command("doctor")
    assert told.exit_code == 7
    assert "duerow migrate" in told.stdout
