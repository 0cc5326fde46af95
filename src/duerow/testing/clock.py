"""A clock that stands still until a test moves it, and short names for spans."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

START: Final = datetime(2026, 3, 1, 12, 0, 0, 250_001, tzinfo=UTC)
"""The start of every movable clock: not a whole second, so that tests notice lost microseconds."""


class MovableClock:
    """A clock that shows the time to which it was set: `duerow.connect(url, clock=MovableClock())`."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def now(self) -> datetime:
        """Return the time that the clock shows."""
        return self._now

    def advance(self, span: timedelta) -> datetime:
        """Move the clock by a span, backwards if it is negative; return the new time."""
        self._now += span
        return self._now

    def set(self, moment: datetime) -> None:
        """Set the clock."""
        self._now = moment.astimezone(UTC)


def microseconds(count: int) -> timedelta:
    """Return a span of this many microseconds."""
    return timedelta(microseconds=count)


def seconds(count: float) -> timedelta:
    """Return a span of this many seconds."""
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    """Return a span of this many minutes."""
    return timedelta(minutes=count)


def hours(count: float) -> timedelta:
    """Return a span of this many hours."""
    return timedelta(hours=count)
