"""Whatever step a copy breaks off at, the same call goes on: nothing is lost or doubled, and all is counted."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest

import duerow
from duerow import Database
from duerow.errors import ConfigurationError
from duerow.testing.clock import minutes
from duerow.testing.faces import unwrapped
from duerow.testing.faults import Hook, watch
from tests.copies.conftest import Make, Pair
from tests.copies.contents import told, turns

WEEK = timedelta(days=7)

PAIRS = [
    ("memory", "memory", "sync"),
    ("memory", "sqlite", "async"),
    pytest.param(("sqlite", "memory", "sync"), marks=pytest.mark.soak),
    pytest.param(("postgresql", "postgresql", "sync"), marks=pytest.mark.soak),
    pytest.param(("sqlite", "mongodb", "async"), marks=pytest.mark.soak),
]


class Cut(BaseException):
    """The process ends here: what is not committed is undone, and nothing else is done."""


def cut_at(nth: int, points: list[str]) -> Hook:
    """A hook that notes the points that are reached, and cuts off at the nth."""

    def hook(point: str) -> None:
        points.append(point)
        if len(points) == nth:
            raise Cut(point)

    return hook


def fill(db: Database, name: str) -> None:
    """Five messages, of which one failed, one is dead and two are in a group, and three turns."""
    queue = db.queue(name, history=WEEK)
    queue.declare()
    for n in range(3):
        queue.push(n, key=f"k{n}")
    queue.push("done")
    for text in ("head", "next"):
        queue.push(text, group="g", delay=minutes(9))
    handed = queue.reserve_many(4)
    handed[0].rollback(delay=minutes(9), error="no answer")
    handed[1].bury("no use")
    handed[2].release()
    handed[3].commit()
    queue.pause()


def at_large(db: Database, name: str) -> set[str]:
    """What a consumer could have, now or later, if the queue hands anything out."""
    return {one["payload"] for one in told(db, name) if one["due_at"] is not None}


@pytest.mark.parametrize("move", [False, True], ids=["copied", "moved"])
@pytest.mark.parametrize("families", PAIRS, ids="-".join)
def test_whatever_step_it_breaks_off_at_the_same_call_goes_on_and_counts_exactly(
    make_pair: Make, families: tuple[str, str, str], move: bool, monkeypatch: pytest.MonkeyPatch, at_once: None
):
    for face in ("sync", "aio"):
        monkeypatch.setattr(import_module(f"duerow.{face}.copy"), "BATCH", 2)
        monkeypatch.setattr(import_module(f"duerow.{face}.copy"), "TURNS", 2)
    pair = make_pair(*families)
    source, target = pair.open("source"), pair.open("target")
    # Each time another queue, so that nothing has to be emptied.
    reached: list[str] = []
    fill(source, "mail-0")
    assert broken_off(pair, "mail-0", move, 0, reached) is None
    for nth in chosen(reached, families):
        name = f"mail-{nth}"
        fill(source, name)
        wanted, history = told(source, name), turns(source, name)
        point = broken_off(pair, name, move, nth, [])
        check_broken(source, target, name, move)
        arrived, left = {one["payload"] for one in told(target, name)}, {one["payload"] for one in told(source, name)}
        turns_there = len(turns(target, name))

        report = pair.copy(source, target, name, move=move)
        assert told(target, name) == wanted
        assert turns(target, name) == history
        assert told(source, name) == ([] if move else wanted)
        assert report.messages == 5 - len(arrived), point
        assert report.before == len(arrived & left)
        assert report.turns == 3 - turns_there
        assert report
        assert point == reached[nth - 1]


def chosen(points: list[str], families: tuple[str, str, str]) -> list[int]:
    """At which points to cut off: in memory at all, elsewhere where one of each name is reached the last time."""
    last = {point: nth for nth, point in enumerate(points, 1)}
    assert {"receive: committed", "receive: done", "put_settings: done", "scan: committed"} <= last.keys()
    return [*range(1, len(points) + 1)] if families[:2] == ("memory", "memory") else sorted(last.values())


def broken_off(pair: Pair, name: str, move: bool, nth: int, points: list[str]) -> str | None:
    """Copy until it is cut off at the nth point; return that point, None if there are not so many.

    The points that are reached come to `points`.
    """
    hook = cut_at(nth, points)
    handles: list[Any] = [pair.open("source"), pair.open("target")]
    for handle in handles:
        watch(unwrapped(handle), hook)
    try:
        pair.copy(*handles, name, move=move)
    except Cut as cut:
        return str(cut)
    return None


def check_broken(source: Database, target: Database, name: str, move: bool) -> None:
    """No message is where two consumers could have it, and every message is somewhere."""
    here, there = told(source, name), told(target, name)
    assert {one["payload"] for one in [*here, *there]} == {"0", "1", "2", '"head"', '"next"'}
    if move:
        assert not at_large(source, name) & at_large(target, name)
    else:
        assert len(here) == 5
        assert not there or target.queue(name).stats().paused


def test_what_is_under_way_to_one_database_does_not_go_to_another(make_pair: Make, at_once: None):
    pair = make_pair("sqlite", "memory", "sync")
    source, target = pair.open("source"), pair.open("target")
    fill(source, "mail")
    reached: list[str] = []
    fill(source, "whole")
    broken_off(pair, "whole", True, 0, reached)
    last = max(nth for nth, point in enumerate(reached, 1) if point == "receive: committed")
    broken_off(pair, "mail", True, last, [])
    left, arrived = told(source, "mail"), told(target, "mail")
    assert {one["payload"] for one in left} & {one["payload"] for one in arrived}
    with duerow.connect("memory://", clock=pair.clock) as elsewhere:
        with pytest.raises(ConfigurationError, match="under way to another database"):
            pair.copy(source, elsewhere, "mail", move=True)
        assert told(source, "mail") == left
        assert told(elsewhere, "mail") == []
        assert pair.copy(source, target, "mail", move=True, name="named otherwise", beside=True)
        assert [len(told(db, "mail")) for db in (source, target, elsewhere)] == [0, 5, 0]
