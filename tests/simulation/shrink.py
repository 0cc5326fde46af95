"""Make a failing script as short as it can be while it fails in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from tests.simulation.known import BrokenPromise
from tests.simulation.script import Crash, Event, Operation, Pop, Push, Reserve, Script, Settle, Sleep, Together
from tests.simulation.world import play

T = TypeVar("T")


def shrunk(script: Script, rule: str, tries: int = 4_000) -> Script:
    """Return the shortest script found that breaks the same rule: without actors, operations and events not needed.

    Args:
        script: breaks the rule.
        rule: the promise that is broken.
        tries: how many scripts are tried at most.
    """
    left = tries
    shorter = True
    while shorter:
        shorter = False
        for candidate in candidates(script):
            if left == 0:
                return script
            left -= 1
            if broken_by(candidate) == rule:
                script, shorter = candidate, True
                break
    return script


def broken_by(script: Script) -> str | None:
    """Return the rule that a script breaks; None: none."""
    try:
        play(script)
    except BrokenPromise as broken:
        return broken.rule
    return None


def candidates(script: Script) -> Iterator[Script]:
    """Yield simpler scripts, the much simpler ones first."""
    actors, events = script.actors, script.events
    for number in reversed(range(len(actors))):
        if len(actors) > 1:
            yield _without_actor(script, number)
    for less in _parts_left_out(events):
        yield replace(script, events=less)
    for number, operations in enumerate(actors):
        for fewer in _parts_left_out(operations):
            yield replace(script, actors=_with(actors, number, fewer))
    for number, operations in enumerate(actors):
        for place, operation in enumerate(operations):
            for simpler in _simpler(operation):
                yield replace(script, actors=_with(actors, number, _with(operations, place, simpler)))
    for place in range(len(events) - 1):
        one, other = events[place : place + 2]
        if isinstance(one, int) and isinstance(other, int) and other < one:  # who comes first goes first
            yield replace(script, events=(*events[:place], other, one, *events[place + 2 :]))


def _without_actor(script: Script, number: int) -> Script:
    events: list[Event] = []
    for event in script.events:
        actor = event.actor if isinstance(event, Crash) else event
        if actor == number:
            continue
        if isinstance(event, Sleep) or actor < number:  # type: ignore[operator]
            events.append(event)
        else:
            events.append(Crash(event.actor - 1) if isinstance(event, Crash) else event - 1)
    return replace(script, actors=(*script.actors[:number], *script.actors[number + 1 :]), events=tuple(events))


def _parts_left_out(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Yield the items without a part, large parts first."""
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield (*items[:start], *items[start + size :])
        size //= 2


def _with(items: tuple[T, ...], place: int, item: T) -> tuple[T, ...]:
    return (*items[:place], item, *items[place + 1 :])


def _simpler(operation: Operation) -> Iterator[Operation]:
    """Yield an operation with less in it."""
    match operation:
        case Push():
            if len(operation.keys) > 1:
                yield replace(operation, keys=operation.keys[1:])
            if any(operation.keys):
                yield replace(operation, keys=(None,))
            plain = Push(operation.queue)
            for name in ("group", "priority", "delay", "mode", "remembered"):
                if getattr(operation, name) != getattr(plain, name):
                    yield replace(operation, **{name: getattr(plain, name)})
        case Reserve() | Pop():
            if operation.limit > 1:
                yield replace(operation, limit=operation.limit - 1)
            if isinstance(operation, Reserve) and operation.attempts is not None:
                yield replace(operation, attempts=None, dead_letter=None)
        case Settle():
            if len(operation.ends) > 1:
                yield replace(operation, ends=operation.ends[:-1])
        case Together():
            for less in _parts_left_out(operation.operations):
                yield replace(operation, operations=less)
