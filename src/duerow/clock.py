"""Sources of time: the database, or a clock that tests move."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

FIRST = datetime(1, 1, 2, tzinfo=UTC)
LAST = datetime(9999, 12, 30, tzinfo=UTC)
"""Stand-ins for stored moments outside Python's range; a day inside it, so that every time zone can represent them.

No message is pushed with either: due times lie between the years 1970 and 9999.
"""

NEVER = datetime(9000, 1, 1, tzinfo=UTC)
"""A due time so late that nobody is ever handed the message."""


class Clock(Protocol):
    """Anything that tells the time as an aware UTC datetime."""

    def now(self) -> datetime:
        """Return the current moment in UTC."""
        ...


class HostClock:
    """This host's own clock, for stores that live in the process."""

    def now(self) -> datetime:
        """Return the current moment in UTC."""
        return datetime.now(UTC)


def micros(moment: datetime) -> int:
    """Return a moment as whole microseconds since 1970 UTC."""
    return (moment - EPOCH) // MICROSECOND


def moment(micros: int) -> datetime:
    """Return the aware UTC datetime that is this many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=micros)


def span(length: timedelta) -> int:
    """Return a timedelta as whole microseconds."""
    return length // MICROSECOND
