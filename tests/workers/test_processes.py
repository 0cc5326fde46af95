"""Worker processes that are told to end, and such that die: nothing is lost, nothing stays half done."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from duerow import Draft
from duerow.testing.worker_harness import PATIENCE, Workshop
from tests.processes import Running, running_program

Start = Callable[[str], Running]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    """The families of databases that several processes can share."""
    name: str = request.param
    return name


@pytest.fixture
def start(shop: Workshop) -> Iterator[Start]:
    """A function that starts a worker process."""
    with ExitStack() as started:

        def process(what: str) -> Running:
            told = [shop.kind, shop.url, json.dumps(shop.settings), what]
            return started.enter_context(running_program("tests.workers.process", told, Path.cwd()))

        yield process


def begun(process: Running) -> Any:
    """Wait for the next message that its handlers begin."""
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_told_to_end_lets_its_handlers_end(shop: Workshop, start: Start, number: signal.Signals) -> None:
    shop.queue.push_many([Draft(payload) for payload in range(90)])
    process = start("finish")
    handled = {begun(process), begun(process)}
    process.send_signal(number)
    output, _ = process.communicate("go on", PATIENCE)
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
    output, _ = process.communicate(patience=PATIENCE)
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
        output, _ = process.communicate(patience=PATIENCE)
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
