"""Histories to analyse, made by hand: frames such as the data source gives, with the columns that are looked at."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

BEGIN = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)

NUMBER, TEXT, MOMENT, HEADERS = pa.int64(), pa.string(), pa.timestamp("us", "UTC"), pa.map_(pa.string(), pa.string())

TURNS: Final = pa.schema(
    {
        **dict.fromkeys(("id", "token"), NUMBER),
        **dict.fromkeys(("queue", "outcome", "moved_to"), TEXT),
        "headers": HEADERS,
        **dict.fromkeys(("created_at", "first_due_at", "due_at", "started_at", "finished_at"), MOMENT),
        "worker": TEXT,
    }
)

LIVE: Final = pa.schema(
    {
        "id": NUMBER,
        "queue": TEXT,
        "headers": HEADERS,
        "status": TEXT,
        **dict.fromkeys(("created_at", "first_due_at", "due_at"), MOMENT),
        "leased_by": TEXT,
        **dict.fromkeys(("leased_until", "last_attempt_at"), MOMENT),
    }
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
    return frame(session, turns, TURNS)


def still_there(session: SparkSession, messages: Iterable[tuple[Any, ...]]) -> DataFrame:
    return frame(session, messages, LIVE)


def frame(session: SparkSession, rows: Iterable[tuple[Any, ...]], schema: pa.Schema) -> DataFrame:
    """Rows as Spark keeps a small Arrow table: in the plan itself, so that it needs fewer tasks and exchanges."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [
        pa.array([list(one.items()) for one in column] if of.type == HEADERS else column, of.type)
        for column, of in zip(columns, schema, strict=True)
    ]
    return session.createDataFrame(pa.table(arrays, schema))
