"""Handlers in processes: they end turns as any handler does, can be killed, and may crash."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow import Draft, Message, bury, by_error, fixed, limited, on
from duerow.errors import ConfigurationError
from duerow.sync.worker import Worker
from duerow.testing.worker_harness import Workshop, eventually, gone
from duerow.worker import maintenance
from tests.workers import jobs
from tests.workers.test_middleware import made, through

AT_ONCE = fixed(timedelta(0))
ONCE = limited(1, AT_ONCE)


@pytest.fixture
def store() -> str:
    """One family of databases: what processes do is the same on all."""
    return "memory"


@pytest.fixture(autouse=True)
def as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """These handlers are plain functions for both kinds of workers."""
    monkeypatch.setattr("duerow.testing.worker_harness.blocking", lambda handler: handler)


def test_it_ends_turns_as_any_handler_does(timeless: Workshop) -> None:
    payloads = ["bury", "retry", "fail", "picky", "large", "cannot travel", "leave", "signals"]
    timeless.queue.push_many([Draft(payload) for payload in payloads])
    timeless.work(jobs.act, processes=1, retry=ONCE)  # type: ignore[arg-type]
    left = {one.payload: one for one in timeless.queue.find()}
    assert {payload: one.status for payload, one in left.items()} == dict.fromkeys(payloads[:4] + payloads[5:7], "dead")
    errors = {payload: one.last_error for payload, one in left.items()}
    said = {payload: (error.type, error.message) for payload, error in errors.items() if error is not None}
    assert said["bury"] == ("Bury", "no such number")
    assert said["retry"] == ("Retry", "Retry: the handler asked for a retry after 0:07:00")
    assert said["fail"] == ("ConnectionResetError", "ConnectionResetError: the line is gone")
    assert "in fail\n" in (errors["fail"].traceback or "")  # type: ignore[union-attr]
    assert said["picky"] == ("Picky", "Picky: this and that")
    assert said["cannot travel"][0] == "InvalidOutcome"
    assert "cannot be passed between processes" in said["cannot travel"][1]
    assert said["leave"] == ("SystemExit", "SystemExit: enough")
    done = [one.payload["n"] for one in timeless.db.queue("done").find()]
    assert done == ["signals"]


def test_garbage_collection_skips_what_they_imported(timeless: Workshop) -> None:
    timeless.queue.push("hello")
    timeless.work(jobs.tell_frozen, processes=1)  # type: ignore[arg-type]
    [told] = timeless.db.queue("done").find()
    assert told.payload > 10_000


def test_an_operator_has_more_of_them_started_and_those_without_work_ended(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "PRESENT", 0.0)
    monkeypatch.setattr(maintenance, "LOOK", 0.05)
    shop.start(jobs.act, processes=1)  # type: ignore[arg-type]
    shop.queue.limit(concurrency=2)
    eventually(lambda: len(multiprocessing.active_children()) == 2)
    shop.queue.limit(concurrency=1)
    eventually(lambda: len(multiprocessing.active_children()) == 1)
    shop.queue.push("hello")
    eventually(lambda: shop.db.queue("done").count() == 1)


def test_the_error_chooses_its_policy(shop: Workshop) -> None:
    shop.queue.push_many([Draft("fail"), Draft("picky")])
    policy = by_error(on(ConnectionError, bury), otherwise=limited(3, AT_ONCE))
    shop.work(jobs.act, processes=1, retry=policy)  # type: ignore[arg-type]
    assert {one.payload: one.attempts for one in shop.queue.find()} == {"fail": 1, "picky": 3}


@pytest.mark.parametrize("batch", [1, 10])
def test_a_process_that_dies_is_a_failed_attempt_of_its_message_alone(shop: Workshop, batch: int, caplog: Any) -> None:
    shop.queue.push_many([Draft(payload) for payload in ["a", "kill", "b", "exit", "c"]])
    shop.work(jobs.act, "empty", processes=1, retry=AT_ONCE, batch=batch)  # type: ignore[arg-type]
    done = [one.payload for one in shop.db.queue("done").find()]
    assert sorted(one["n"] for one in done) == ["a", "b", "c", "exit", "kill"]
    assert len({one["pid"] for one in done}) == 3
    causes = [record.cause for record in caplog.records if getattr(record, "cause", None)]
    assert any("HandlerDied: the handler's process was ended by SIGKILL" in cause for cause in causes)
    assert any("exited with code 3" in cause for cause in causes)


def test_of_a_batch_whose_process_dies_each_time_only_the_message_that_kills_it_is_given_up(shop: Workshop) -> None:
    shop.queue.push_many([Draft("poison" if number == 7 else number) for number in range(20)])
    terms: dict[str, Any] = {"processes": 2, "whole_batch": True, "batch": 10, "retry": limited(3, AT_ONCE)}
    shop.work(jobs.die_of_poison, "empty", **terms)  # type: ignore[arg-type]
    (left,) = shop.queue.find()
    assert (left.payload, left.status, left.attempts) == ("poison", "dead", 3)
    assert left.last_error is not None
    assert left.last_error.type == "HandlerDied"


def test_a_timeout_kills_the_process(shop: Workshop, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    shop.queue.push(str(pid))
    shop.work(jobs.hang_and_tell, "empty", processes=1, retry=ONCE, timeout=timedelta(seconds=1))  # type: ignore[arg-type]
    (message,) = shop.queue.find()
    assert (message.status, message.last_error and message.last_error.type) == ("dead", "TimedOut")
    eventually(lambda: gone(int(pid.read_text())))


def test_others_go_on_in_place_of_a_killed_one(shop: Workshop) -> None:
    shop.queue.push_many([Draft("hang"), Draft("a"), Draft("b")])
    shop.work(jobs.act, "empty", processes=1, retry=ONCE, timeout=timedelta(seconds=1))  # type: ignore[arg-type]
    assert [one.payload["n"] for one in shop.db.queue("done").find()] == ["a", "b"]
    assert [(one.payload, one.status) for one in shop.queue.find()] == [("hang", "dead")]


def test_what_outlasts_the_grace_is_killed_and_due_again(shop: Workshop, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    shop.queue.push(str(pid))
    running = shop.start(jobs.hang_and_tell, processes=1, grace=timedelta(milliseconds=50))  # type: ignore[arg-type]
    eventually(lambda: pid.exists() and pid.read_text())
    running.stop()
    running.join()
    eventually(lambda: gone(int(pid.read_text())))
    (message,) = shop.queue.find()
    assert (message.status, message.attempts, message.leased_by) == ("error", 1, None)


def test_whole_batches_go_to_a_process(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(6)])
    shop.work(jobs.halves, processes=1, whole_batch=True)  # type: ignore[arg-type]
    assert [one.payload for one in shop.db.queue("done").find()] == [0, 2, 4]
    assert [(one.payload, one.status) for one in shop.queue.find()] == [(1, "dead"), (3, "dead"), (5, "dead")]
    shop.queue.push("all")
    shop.work(jobs.halves, processes=1, whole_batch=True, retry=ONCE)  # type: ignore[arg-type]
    assert shop.queue.find()[-1].last_error.message == "ValueError: all of them"  # type: ignore[union-attr]


def test_each_queue_has_its_own_handler_there_too(shop: Workshop) -> None:
    shop.queue.push(1)
    shop.db.queue("sms").push(2)
    shop.work({"mail": jobs.where, "sms": jobs.other}, names=("mail", "sms"), processes=1)  # type: ignore[arg-type]
    assert [one.payload["n"] for one in shop.db.queue("done").find()] == [1]
    assert [one.payload for one in shop.db.queue("other").find()] == [2]


def test_middleware_runs_in_the_workers_own_process(shop: Workshop) -> None:
    shop.queue.push(1)
    seen: list[int] = []

    async def around(message: Message, call_next: Any) -> Any:
        seen.append(os.getpid())
        return await through(call_next, message)

    shop.work(jobs.where, processes=1, middleware=[made(shop, around)])  # type: ignore[arg-type]
    assert seen == [os.getpid()]
    assert shop.db.queue("done").count() == 1


def test_a_handler_that_cannot_be_loaded_there_ends_the_worker_and_costs_no_attempt(shop: Workshop) -> None:
    shop.queue.push("hello")
    with pytest.raises(ConfigurationError, match="ImportError: there is no such model"):
        shop.work(jobs.OnlyHere(), processes=2)  # type: ignore[arg-type]
    (message,) = shop.queue.find()
    assert (message.status, message.attempts, message.leased_by) == ("new", 0, None)


def test_what_cannot_run_in_processes_is_refused_when_the_worker_is_made() -> None:
    queue = duerow.connect("memory://").queue("mail")

    async def awaited(message: Message) -> None:
        raise AssertionError

    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (lambda message: None, {}, "another process can import"),
        (awaited, {}, "async function"),
        (jobs.where, {"processes": 0}, "processes"),
        (jobs.where, {"processes": "all"}, "processes"),
        (jobs.where, {"concurrency": 4}, "leave out concurrency=4"),
        (jobs.written, {"transactional": True}, "processes and transactional"),
    ]
    for handler, terms, said in wrong:
        with pytest.raises(ConfigurationError, match=said):
            Worker(queue, handler, **{"processes": 2, **terms})


SCRIPT = """
import sys, duerow
from tests.workers import jobs

if __name__ == "__main__":
    mail = duerow.connect("memory://").queue("mail")
    mail.push(sys.argv[1])
    duerow.Worker(mail, jobs.hang_and_tell, processes=1).run()
"""


def test_no_process_outlives_a_worker_that_was_killed(tmp_path: Path) -> None:
    script, pid = tmp_path / "script.py", tmp_path / "pid"
    script.write_text(SCRIPT)
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}
    worker = subprocess.Popen([sys.executable, str(script), str(pid)], env=environment)
    try:
        eventually(lambda: pid.exists() and pid.read_text())
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    eventually(lambda: gone(int(pid.read_text())))
