"""Promises to processes that share a database. Taken in by each store that processes can share."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duerow
from duerow.testing.clock import MovableClock
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.processes import forking, run_program
from tests.stores.fork_scenarios import CHILDREN, LATER


def fork(scenario: str, place: Place, face: Face) -> list[duerow.Message]:
    """Carry out a scenario of `fork_scenarios`; return what is in the queue then."""
    arguments = [scenario, face.name, place.url, json.dumps(place.settings)]
    forked = run_program("tests.stores.fork_scenarios", arguments, Path.cwd())
    assert forked.returncode == 0, forked.stderr
    with duerow.connect(place.url, **place.settings) as database:
        return database.queue("mail").find("key is not null", limit=1000)


def test_a_handle_opened_before_a_fork_works_on_both_sides_of_it(place: Place, face: Face) -> None:
    messages = fork("quiet", place, face)
    keys = Counter((message.key or "").partition("-")[0] for message in messages)
    assert keys == {"child": 20, "parent": 20}
    with duerow.connect(place.url, **place.settings) as database:
        assert database.queue("mail").count() == 46


def test_what_a_child_pushes_lasts_whatever_its_parent_did_at_the_fork_and_closes_after_it(
    place: Place, face: Face
) -> None:
    messages = fork("busy", place, face)
    children = Counter((message.key or "").split("-")[1] for message in messages)
    assert children == {str(child): 1 + LATER for child in range(CHILDREN)}


def test_a_child_does_not_wait_for_a_thread_that_only_its_parent_has(place: Place, face: Face) -> None:
    assert {message.key for message in fork("amid", place, face)} == {"child", "parent"}


def maintain(url: str, settings: dict[str, Any], start: Any) -> int:
    """What each of several processes does at once: push whatever schedules have due."""
    with duerow.connect(url, **settings) as database:
        start.wait()
        return sum(database.maintain().pushed for _ in range(3))


def test_processes_that_look_at_the_schedules_at_once_push_each_tick_once(place: Place) -> None:
    names = [f"s-{number}" for number in range(12)]
    long_ago = MovableClock(datetime.now(UTC) - timedelta(days=1))
    with duerow.connect(place.url, clock=long_ago, **place.settings) as database:
        for name in names:
            database.schedule(name, every=timedelta(hours=1), queue="mail", missed="all")
    context = forking()
    with context.Manager() as manager, context.Pool(4) as pool:
        start = manager.Barrier(4, timeout=600)
        pushed = pool.starmap(maintain, [(place.url, place.settings, start)] * 4, chunksize=1)
    with duerow.connect(place.url, **place.settings) as database:
        messages = database.queue("mail").find(limit=1000)
    ticks = Counter((message.headers["schedule"], message.headers["tick"]) for message in messages)
    assert Counter(schedule for schedule, _ in ticks) == dict.fromkeys(names, 24)
    assert set(ticks.values()) == {1}
    assert sum(pushed) == len(messages)


def pairs() -> duerow.Pipeline:
    """Parts of orders are joined, three to each."""
    join = duerow.Join("pair", lambda parts: [part.payload for part in parts], by=order_of, count=3, to="whole")
    return duerow.Pipeline("pairs", [join], outputs=["whole"])


def order_of(message: duerow.Message) -> int:
    """Which order a part belongs to."""
    return int(message.payload) // 3


def run_pairs(url: str, settings: dict[str, Any], start: Any) -> None:
    """What each of several processes does at once: run the pipeline until it is idle."""
    with duerow.connect(url, **settings) as database:
        start.wait()
        pairs().run(database)


def test_processes_that_run_a_pipeline_at_once_join_each_set_once(place: Place) -> None:
    parts = list(range(150))
    with duerow.connect(place.url, migrate=True, **place.settings) as database:
        database.queue("pair").push_many(
            [duerow.Draft(part) for part in sorted(parts, key=lambda part: part * 77 % 151)]
        )
    context = forking()
    with context.Manager() as manager, context.Pool(3) as pool:
        start = manager.Barrier(3, timeout=600)
        pool.starmap(run_pairs, [(place.url, place.settings, start)] * 3, chunksize=1)
    with duerow.connect(place.url, **place.settings) as database:
        pairs().run(database)
        merged = [sorted(message.payload) for message in database.queue("whole").find(limit=1000)]
        assert sorted(merged) == [[first, first + 1, first + 2] for first in parts[::3]]
        assert database.queues() == ["whole"]
        assert [graph.name for graph in database.pipelines()] == ["pairs"]
