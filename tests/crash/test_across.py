"""A run that sends messages to another database is killed at every step, and each message is there once."""

from __future__ import annotations

import random
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow import Draft, Elsewhere, Message, Pipeline, Relay
from duerow.sync import crossing
from duerow.testing.clock import MovableClock
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faults import kill_at, watch
from tests.crash.conftest import Start
from tests.servers import postgresql
from tests.servers.fixtures import provide
from tests.servers.restartable import Restartable

NUMBERS = range(120)

PAIRS = [  # not named after the families, of which `make test` would take one
    pytest.param(("sqlite", "postgresql"), id="from a file to a server"),
    pytest.param(("postgresql", "postgresql"), id="from a server to a server", marks=pytest.mark.soak),
    pytest.param(("postgresql", "mongodb"), id="from a server to documents", marks=pytest.mark.soak),
]

SENT = [
    *(f"receive: {place}" for place in ("before", "step 1", "step 2", "step 3", "done", "committed")),
    *(f"settle: {place}" for place in ("before", "step 1", "done", "committed")),
    "reserve: committed",
]
"""Where it is killed, in the database that has the plan: before and after each write of either."""

HOLDING = {*(f"receive: step {n}" for n in (1, 2, 3)), "receive: done"}
"""Where it holds a transaction of the target, which MongoDB keeps open for a minute after its client was killed."""


@dataclass(frozen=True)
class Across:
    """What a process is to send, and where it kills itself; "" nowhere."""

    source: Place
    target: Place
    point: str = ""
    nth: int = 1
    settings: dict[str, Any] = field(default_factory=dict)

    def open(self) -> duerow.Database:
        """Open the source."""
        return self._watched(duerow.connect(self.source.url, **self.source.settings, **self.settings))

    def connect(self) -> duerow.Database:
        """Open the target."""
        return self._watched(duerow.connect(self.target.url, **self.target.settings))

    def _watched(self, database: duerow.Database) -> duerow.Database:
        if self.point:
            watch(database, kill_at(self.point, self.nth))
        return database


def packed(message: Message) -> Any:
    """What the station sends: something new each time, so that a second call shows."""
    return {"n": message.payload, "call": uuid.uuid4().hex}


def across(job: Across) -> Pipeline:
    """One station, which sends to the other database."""
    there = Elsewhere("x", job.connect)
    return Pipeline("across", [Relay("pack", packed, to=there, lease=timedelta(milliseconds=300))])


def work(job: Across) -> None:
    """Run the pipeline until nothing is due."""
    crossing.BATCH = 3
    with job.open() as database:
        across(job).run(database)


@pytest.fixture(scope="module")
def second_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a second server of PostgreSQL."""
    yield from provide("postgresql", postgresql.running, request.config)


@pytest.fixture
def places(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Place, Place]:
    """Two migrated databases; two of PostgreSQL are on two servers."""
    first, second = request.param

    def place(family: str, fixture: str) -> Place:
        if family == "sqlite":
            return Place(f"sqlite:///{tmp_path}/source.db")
        return Place(request.getfixturevalue(fixture), {"prefix": f"across_{uuid.uuid4().hex[:8]}_"})

    target = "second_server" if (first, second) == ("postgresql", "postgresql") else f"{second}_url"
    both = place(first, f"{first}_url"), place(second, target)
    for one in both:
        duerow.connect(one.url, migrate=True, **one.settings).close()
    return both


def fill(source: Place) -> None:
    """Push all numbers, without keys, which would hide that one arrives twice."""
    with duerow.connect(source.url, **source.settings) as database:
        database.queue("pack").push_many([Draft(n) for n in NUMBERS])


def finish(job: Across) -> None:
    """Send what is left, after the leases of those that were killed, and check that each message is there once."""
    tomorrow = MovableClock(datetime.now(UTC) + timedelta(days=1))
    with replace(job, settings={"clock": tomorrow}).open() as database:
        across(job).run(database)
        assert database.queues() == []
    with job.connect() as there:
        found = there.queue("x").find(limit=1_000)
    assert sorted(message.payload["n"] for message in found) == [*NUMBERS]


@pytest.mark.parametrize("places", PAIRS, indirect=True)
def test_a_run_killed_at_every_step_sends_each_message_once(
    places: tuple[Place, Place], start: Start, count_killed: Callable[[int], None]
) -> None:
    fill(places[0])
    killed = 0
    points = [point for point in SENT if point not in HOLDING or not places[1].url.startswith("mongodb")]
    for place, point in enumerate(points):
        process = start(work, Across(*places, point, nth=1 + place % 2))
        process.join()
        assert process.exitcode == -signal.SIGKILL, f"{point} was not reached"
        killed += 1
    count_killed(killed)
    finish(Across(*places))


@contextmanager
def ours(fixture: pytest.FixtureRequest) -> Iterator[Restartable]:
    """A server that can be restarted, or none of this family here."""
    yield from provide("postgresql", postgresql.restartable, fixture.config)


def keep_working(job: Across) -> None:
    """Run the pipeline until it is killed, whatever the servers do."""
    crossing.BATCH = 3
    while True:
        with suppress(duerow.StoreUnavailable), job.open() as database:
            across(job).run(database, until=None)


@pytest.mark.soak
def test_while_both_servers_are_restarted_and_runs_are_killed_each_message_is_sent_once(
    request: pytest.FixtureRequest, start: Start, count_killed: Callable[[int], None]
) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with ours(request) as here, ours(request) as there:
        job = Across(Place(here.url), Place(there.url))
        for url in (here.url, there.url):
            duerow.connect(url, migrate=True).close()
        fill(job.source)
        killed = 0
        for restart in chance.sample([here.restart, there.restart] * 3, 6):
            runs = [start(partial(keep_working, job)) for _ in range(2)]
            time.sleep(chance.uniform(0.1, 0.4))
            restart()
            time.sleep(chance.uniform(0.0, 0.3))
            for run in runs:
                run.kill()
                run.join()
                killed += run.exitcode == -signal.SIGKILL
        count_killed(killed)
        finish(job)
