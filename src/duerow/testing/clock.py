"""A clock that stands still until a test moves it, and short words for spans."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

START: Final = datetime(2026, 3, 1, 12, 0, 0, 250_001, tzinfo=UTC)
"""When every movable clock begins: not on a whole second, so that lost microseconds show."""


class MovableClock:
    """Tells the time that it was set to: `duerow.connect(url, clock=MovableClock())`."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def now(self) -> datetime:
        """Return the moment at which the clock stands."""
        return self._now

    def advance(self, span: timedelta) -> datetime:
        """Move the clock by a span, back if it is negative; return where it stands now."""
        self._now += span
        return self._now

    def set(self, moment: datetime) -> None:
        """Move the clock to a moment."""
        self._now = moment.astimezone(UTC)


def microseconds(count: int) -> timedelta:
    """So many microseconds."""
    return timedelta(microseconds=count)


def seconds(count: float) -> timedelta:
    """So many seconds."""
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    """So many minutes."""
    return timedelta(minutes=count)


def hours(count: float) -> timedelta:
    """So many hours."""
    return timedelta(hours=count)
