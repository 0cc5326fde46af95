"""Worker processes that are told to end, and such that die: nothing is lost, nothing stays half done."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from duerow import Draft
from duerow.testing.worker_harness import PATIENCE, Workshop

Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    """The families of databases that several processes can share."""
    name: str = request.param
    return name


@pytest.fixture
def start(shop: Workshop) -> Iterator[Start]:
    """A function that starts a worker process."""
    started: list[subprocess.Popen[str]] = []

    def process(what: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.workers.process", shop.kind, shop.url, json.dumps(shop.settings), what]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield process
    for one in started:
        one.kill()
        one.communicate()


def begun(process: subprocess.Popen[str]) -> Any:
    """Wait for the next message that its handlers begin."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_told_to_end_lets_its_handlers_end(shop: Workshop, start: Start, number: signal.Signals) -> None:
    shop.queue.push_many([Draft(payload) for payload in range(90)])
    process = start("finish")
    handled = {begun(process), begun(process)}
    process.send_signal(number)
    output, _ = process.communicate("go on", timeout=PATIENCE)
    *begun_meanwhile, end = output.splitlines()  # on a busy machine the signal may be seen later than the words
    assert (end, process.returncode) == ("ended", 0)
    left = shop.queue.find()
    assert left
    assert {one.payload for one in left} == set(range(90)) - handled - set(map(int, begun_meanwhile))
    assert {(one.attempts, one.leased_by, one.status) for one in left} == {(0, None, "new")}


def test_a_process_told_to_end_leaves_nothing_leased_and_nothing_lost(shop: Workshop, start: Start) -> None:
    shop.queue.push_many([Draft(payload) for payload in range(20)])
    process = start("hang")
    handled = {begun(process), begun(process)}
    process.terminate()
    output, _ = process.communicate(timeout=PATIENCE)
    assert (output, process.returncode) == ("ended\n", 0)
    left = shop.queue.find()
    assert {one.payload for one in left} == set(range(20))
    assert {one.leased_by for one in left} == {None}
    assert {one.payload for one in left if one.attempts} == handled
    assert {one.payload for one in left if one.status == "error"} == handled
    again = shop.queue.reserve_many(20)
    assert len(again) == 20


def test_a_message_that_kills_its_process_again_and_again_ends_dead(shop: Workshop, start: Start) -> None:
    shop.queue.push_many([Draft("harmless"), Draft("poison"), Draft("as harmless")])
    codes: list[int] = []
    handled: list[str] = []
    while True:
        process = start("die")
        output, _ = process.communicate(timeout=PATIENCE)
        handled += [json.loads(line) for line in output.splitlines() if line != "ended"]
        codes.append(process.returncode)
        if process.returncode == 0:
            break
    assert codes == [-signal.SIGKILL] * 3 + [0]
    assert sorted(handled) == ["as harmless", "harmless", "poison", "poison", "poison"]
    (message,) = shop.queue.find()
    assert (message.payload, message.status, message.attempts) == ("poison", "dead", 3)
    assert message.last_error is not None
    assert "attempt 3 of 3" in message.last_error.message
