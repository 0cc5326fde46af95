"""Histories to analyse, made by hand: frames such as the data source gives, with the columns that are looked at."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

BEGIN = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)

TURNS = (
    "id long, token long, queue string, outcome string, moved_to string, headers map<string,string>, "
    "created_at timestamp, first_due_at timestamp, due_at timestamp, started_at timestamp, finished_at timestamp, "
    "worker string"
)

LIVE = (
    "id long, queue string, headers map<string,string>, status string, created_at timestamp, first_due_at timestamp, "
    "due_at timestamp, leased_by string, leased_until timestamp, last_attempt_at timestamp"
)


def at(seconds: float) -> datetime:
    """A moment so many seconds after BEGIN."""
    return BEGIN + timedelta(seconds=seconds)


def turn(
    id: int,
    token: int,
    queue: str,
    outcome: str = "done",
    *,
    created: float = 0,
    due: float | None = None,
    first_due: float | None = None,
    start: float = 1,
    end: float = 2,
    to: str | None = None,
    worker: str | None = "w",
    **headers: object,
) -> tuple[Any, ...]:
    """A turn; moments are seconds after BEGIN, headers have _ for -."""
    due = created if due is None else due
    first_due = due if first_due is None else first_due
    said = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    times = (at(created), at(first_due), at(due), at(start), at(end))
    return (id, token, queue, outcome, to, said, *times, worker)


def live(
    id: int, queue: str, *, created: float = 0, first_due: float = 0, status: str = "new", start: float | None = None
) -> tuple[Any, ...]:
    """A message that is still there, leased since `start`."""
    leased = (None, None, None) if start is None else ("w", at(start + 60), at(start))
    return (id, queue, {}, status, at(created), at(first_due), at(first_due), *leased)


def history(session: SparkSession, turns: Iterable[tuple[Any, ...]]) -> DataFrame:
    return session.createDataFrame(list(turns), TURNS)


def still_there(session: SparkSession, messages: Iterable[tuple[Any, ...]]) -> DataFrame:
    return session.createDataFrame(list(messages), LIVE)
