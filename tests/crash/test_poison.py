"""A message that kills its worker is given up, alone: no harmless one dies of a death that it only shared."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow import Draft
from duerow.testing.conformance.fixtures import Place
from tests.crash.conftest import Start, migrated
from tests.crash.poison import Job, work

ELSEWHERE = [pytest.param(name, marks=pytest.mark.soak) for name in ("postgresql", "mariadb")]
"""What workers do about it is the same on all servers: where these are tried the store's part is known to hold."""

KINDS: dict[str, dict[str, Any]] = {
    "one by one": {"batch": 1, "concurrency": 8},
    "ahead": {"concurrency": 8},
    "whole batches": {"batch": 20, "concurrency": 2, "whole_batch": True},
    "transactional": {"concurrency": 4, "transactional": True},
    "with a rate": {"concurrency": 8, "rate": (100_000, timedelta(minutes=1))},
    "with permits": {"concurrency": 8, "cluster_concurrency": 8},
    "alone in the cluster": {"concurrency": 8, "singleton": True},
}


@pytest.fixture(params=["sqlite", *ELSEWHERE])
def place(request: pytest.FixtureRequest) -> Place:
    """A migrated database for one test."""
    return migrated(request, synchronous="NORMAL")


def push(place: Place, count: int, poisonous: range, queues: tuple[str, ...] = ("mail",)) -> None:
    """Push so many messages to each queue, some of which are poisonous."""
    payloads = [f"poison {number}" if number in poisonous else f"harmless {number}" for number in range(count)]
    with duerow.connect(place.url, **place.settings) as db:
        for name in queues:
            db.queue(name).push_many([Draft(f"{payload} of {name}") for payload in payloads])


def until_done(start: Start, job: Job) -> int:
    """Start workers, one after the other, until one ends in peace; return how many were killed."""
    killed = 0
    while True:
        process = start(work, job)
        process.join()
        if process.exitcode == 0:
            return killed
        assert process.exitcode == -signal.SIGKILL
        killed += 1


def begun(job: Job) -> Counter[str]:
    """How often a handler began with each message."""
    return Counter(line.rpartition(" ")[0] for line in job.begun.read_text().splitlines())


def check(job: Job, count: int, poisonous: range, limit: int) -> None:
    """Exactly what kills is dead, after no more than so many beginnings, and all else is done."""
    times = begun(job)
    poisons = {f"poison {number} of {name}" for number in poisonous for name in job.queues}
    assert len(times) == count * len(job.queues)
    assert {payload for payload in times if payload.startswith("poison")} == poisons
    assert max(times.values()) <= limit
    with duerow.connect(job.place.url, **job.place.settings) as db:
        left = [one for name in job.queues for one in db.queue(name).find(limit=1_000)]
    assert {one.payload for one in left} == poisons
    for one in left:
        assert (one.status, one.attempts) == ("dead", limit)
        assert one.last_error is not None
        assert one.last_error.message.startswith("was in hand when its worker died")


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_message_that_kills_its_worker_takes_no_harmless_one_with_it(
    place: Place, start: Start, count_killed: Callable[..., None], tmp_path: Path, kind: str, face: str
) -> None:
    poisonous = range(57, 58)
    push(place, 100, poisonous)
    job = Job(place, face, tmp_path / "begun", 3, terms=KINDS[kind])
    killed = until_done(start, job)
    assert killed == 3
    count_killed(killed)
    check(job, 100, poisonous, 3)


@pytest.mark.parametrize("face", ["sync", "async"])
def test_one_message_of_two_hundred_that_kills_its_worker_dies_alone(
    place: Place, start: Start, count_killed: Callable[..., None], tmp_path: Path, face: str
) -> None:
    poisonous = range(100, 101)
    push(place, 200, poisonous)
    job = Job(place, face, tmp_path / "begun", 5, terms={"concurrency": 8})
    count_killed(until_done(start, job))
    check(job, 200, poisonous, 5)
    harmless = [times for payload, times in begun(job).items() if payload.startswith("harmless")]
    assert max(harmless) <= 2  # once beside it, once apart


@pytest.mark.parametrize("face", ["sync", "async"])
def test_messages_of_several_queues_that_kill_their_worker_die_alone(
    place: Place, start: Start, count_killed: Callable[..., None], tmp_path: Path, face: str
) -> None:
    queues, poisonous = ("mail", "post"), range(10, 11)
    push(place, 40, poisonous, queues)
    job = Job(place, face, tmp_path / "begun", 3, queues, {"concurrency": 4})
    count_killed(until_done(start, job))
    check(job, 40, poisonous, 3)


@pytest.mark.soak
@pytest.mark.parametrize("face", ["sync", "async"])
def test_five_messages_that_kill_their_worker_by_the_default_policy_die_alone(
    place: Place, start: Start, count_killed: Callable[..., None], tmp_path: Path, face: str
) -> None:
    poisonous = range(100, 200, 20)
    push(place, 300, poisonous)
    job = Job(place, face, tmp_path / "begun", terms={"concurrency": 4})
    count_killed(until_done(start, job))
    check(job, 300, poisonous, 20)


@pytest.mark.parametrize("face", ["sync", "async"])
def test_with_one_attempt_in_all_a_death_takes_what_its_worker_had_begun_and_nothing_else(
    place: Place, start: Start, count_killed: Callable[..., None], tmp_path: Path, face: str
) -> None:
    push(place, 60, range(20, 21))
    job = Job(place, face, tmp_path / "begun", 1, terms={"concurrency": 1})
    assert until_done(start, job) == 1
    count_killed(1)
    check(job, 60, range(20, 21), 1)
