"""What an operator should look at first."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

from duerow.queue.definition import Defined
from duerow.queue.stats import Stats
from duerow.web.dashboard.filters import number, span

Severity = Literal["bad", "warn", "note"]

LATE: Final = timedelta(minutes=1)
"""How long the oldest due message may wait before it is reported."""

FAILING: Final = 0.2
"""The share of failing attempts at which they are reported."""

_SCORES: Final = {"bad": 100, "warn": 10, "note": 1}


class Concern(msgspec.Struct, frozen=True):
    """A problem of a queue, in a few words, and how bad it is."""

    severity: Severity
    text: str


class Surroundings(msgspec.Struct, frozen=True):
    """The context of a queue.

    Attributes:
        defined: its stored definition.
        consumers: how many consumers were seen recently.
        takes_dead_letters: whether other queues send their dead letters to it.
        is_output: whether a pipeline ends in it.
        now: the time.
    """

    defined: Defined | None
    consumers: int
    takes_dead_letters: bool
    is_output: bool
    now: datetime


def findings(stats: Stats, around: Surroundings) -> list[Concern]:
    """Return the concerns, worst first."""
    found: list[Concern] = []
    rates = stats.rates[5]
    attempts = rates.done + rates.moved + rates.failed + rates.dead
    dying = stats.rates[15].dead > 0
    if around.takes_dead_letters and stats.ready:
        found.append(Concern("warn", f"{stats.shown('ready')} dead letters"))
    elif stats.dead:
        found.append(Concern("bad" if dying else "warn", f"{stats.shown('dead')} dead"))
    if not stats.paused and stats.ready and not around.takes_dead_letters:
        if not around.consumers and not attempts:
            kind: Severity = "note" if around.is_output else "bad"
            found.append(Concern(kind, "no consumers"))
        elif stats.oldest_due_at is not None and around.now - stats.oldest_due_at > LATE:
            late = around.now - stats.oldest_due_at
            found.append(Concern("bad" if late > 10 * LATE else "warn", f"{span(late)} behind"))
    if attempts and (rates.failed + rates.dead) / attempts >= FAILING:
        share = (rates.failed + rates.dead) / attempts
        found.append(Concern("warn", f"{number(round(100 * share))} % of attempts fail"))
    if stats.paused:
        found.append(Concern("warn" if stats.ready else "note", "paused"))
    if around.defined is not None and around.defined.draining:
        found.append(Concern("note", "draining"))
    return sorted(found, key=lambda one: -_SCORES[one.severity])


def score(found: list[Concern]) -> int:
    """Return the total urgency of concerns."""
    return sum(_SCORES[one.severity] for one in found)
