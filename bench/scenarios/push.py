"""Pushing: one message a transaction, and 100,000 in one."""

from __future__ import annotations

from bench import by_hand, ours
from bench.context import Context
from bench.databases import PostgresqlDatabase, SqliteDatabase
from bench.processes import Prepared, together
from bench.results import Result, against
from bench.rounds import Contestant, interleave

SINGLE_BAR = 0.8
BULK_BAR = 0.4


def single(context: Context) -> list[Result]:
    """Single pushes against prepared INSERTs of the same columns, each with its own commit."""
    count = context.size.pushes
    on_postgresql = _compare(context.postgresql, "push", count, context.size.rounds)
    on_sqlite = _compare(context.sqlite, "push", count, context.size.rounds)
    return [
        against("single push, own commit", on_postgresql, "floor", SINGLE_BAR),
        against("SQLite: single push", on_sqlite, "floor", None),
    ]


def bulk(context: Context) -> list[Result]:
    """One call with many messages against COPY (SQLite: executemany) of the same rows."""
    count = context.size.bulk
    on_postgresql = _compare(context.postgresql, "push_many", count, context.size.rounds)
    on_sqlite = _compare(context.sqlite, "push_many", count, context.size.rounds)
    return [
        against(f"bulk push of {count:,}", on_postgresql, "floor", BULK_BAR, note="floor: COPY, binary"),
        against(f"SQLite: bulk push of {count:,}", on_sqlite, "floor", None, note="floor: executemany"),
    ]


def _compare(
    database: PostgresqlDatabase | SqliteDatabase, name: str, count: int, rounds: int
) -> dict[str, list[float]]:
    def contestant(prepare: Prepared[Prepared[object]]) -> Contestant:
        def run() -> float:
            database.clear()
            database.settle_down()
            timed = together(prepare, database.url, count)
            _check(timed.results[0], database.waiting(), count)
            return count / timed.seconds

        return run

    sides = {"floor": getattr(by_hand, name), "duerow": getattr(ours, name)}
    return interleave({side: contestant(prepare) for side, prepare in sides.items()}, rounds)


def _check(answered: object, stored: list[int], count: int) -> None:
    """Require that all are stored, under the ids answered where there are answers (COPY gives none)."""
    if len(set(stored)) != count:
        raise AssertionError(f"pushed {count} messages, stored {len(set(stored))}")
    if isinstance(answered, list) and sorted(answered) != sorted(stored):
        raise AssertionError("the ids answered are not those stored")
