"""A process that moves a queue is killed; another one goes on, and every message is there once."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow import Draft
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faults import kill_at, watch
from tests.crash.conftest import Start

# Where it is killed: before and after each write of either database has become certain.
POINTS = [
    "change: done",
    "change: committed",
    "receive: done",
    "receive: committed",
    "settle: done",
    "settle: committed",
]


@dataclass(frozen=True)
class Move:
    """What a process is to move, and where it kills itself; "" nowhere."""

    source: str
    target: str
    settings: dict[str, Any] = field(default_factory=dict)
    point: str = ""
    nth: int = 1


def move(job: Move) -> None:
    """Move the queue."""
    with duerow.connect(job.source, **job.settings) as source, duerow.connect(job.target) as target:
        for database in (source, target) if job.point else ():
            watch(database, kill_at(job.point, job.nth))
        duerow.copy(source, target, "work", move=True)


@pytest.mark.parametrize("point", POINTS)
def test_a_process_killed_while_it_moves_a_queue_loses_and_doubles_nothing(
    place: Place, tmp_path: Path, start: Start, count_killed: Callable[[int], None], point: str
):
    target = f"sqlite:///{tmp_path}/target.db"
    duerow.connect(target, migrate=True).close()
    with duerow.connect(place.url, **place.settings) as database:
        database.queue("work").push_many([Draft(n, key=f"k{n}") for n in range(500)])
    # The first arrival is the note that it begins; who goes on has fewer messages left.
    for nth in (2, 2 if point.startswith("receive") else 1):
        process = start(move, Move(place.url, target, place.settings, point, nth))
        process.join()
        assert process.exitcode == -signal.SIGKILL, f"{point} was not reached"
    count_killed(2)
    with duerow.connect(place.url, **place.settings) as source, duerow.connect(target) as there:
        before, left = len(there.queue("work").find(limit=1_000)), len(source.queue("work").find(limit=1_000))
        report = duerow.copy(source, there, "work", move=True)
        assert report.messages == 500 - before
        assert report.before == before + left - 500
        assert source.queues() == []
        found = there.queue("work").find(limit=1_000)
    assert [one.payload for one in found] == list(range(500))
    assert not any(one.headers or one.attempts for one in found)
