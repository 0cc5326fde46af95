"""Pushing: one message a transaction, and 100,000 in one, without keys and with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench import floor_runs, interleaved, ours
from bench.context import Context
from bench.databases import PostgresqlDatabase, SqliteDatabase
from bench.processes import Prepared, together
from bench.results import Result, against
from bench.rounds import Contestant, check_ids, interleave
from bench.sizes import Size

Push = Callable[[str, int], Prepared[Any]]
"""Prepares a push of so many messages."""

SINGLE_BAR = 0.8
BULK_BAR = 0.8


def single(context: Context) -> list[Result]:
    """Single pushes against prepared INSERTs of the same columns, each with its own commit."""
    on_postgresql = _side_by_side(context.postgresql, context.size)
    on_sqlite = _side_by_side(context.sqlite, context.size)
    note = f"by turns in one process, blocks of {interleaved.BLOCK}"
    return [
        against("pushes with one commit each", on_postgresql, "floor", SINGLE_BAR, note=note),
        against("SQLite: pushes with one commit each", on_sqlite, "floor", None, note=note),
    ]


def _side_by_side(database: PostgresqlDatabase | SqliteDatabase, size: Size) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {"floor": [], "duerow": []}
    for _ in range(size.rounds):
        database.clear()
        database.settle_down()
        shares = together(interleaved.push, database.url, size.pushes).results[0]
        check_ids(database.waiting(), [share.ids for share in shares.values()], "single pushes")
        for name, share in shares.items():
            rates[name].append(share.rate)
    return rates


def bulk(context: Context) -> list[Result]:
    """One call with many messages against COPY (SQLite: executemany) of the same rows."""
    count, rounds = context.size.bulk, context.size.rounds
    kinds: list[tuple[str, Push, Push]] = [
        ("", ours.push_many, floor_runs.push_many),
        (" with keys", ours.push_keyed, floor_runs.push_keyed),
    ]
    results = []
    for kind, push, by_hand in kinds:
        title = f"bulk push of {count:,}{kind}"
        on_postgresql = _compare(context.postgresql, count, rounds, push, by_hand)
        on_sqlite = _compare(context.sqlite, count, rounds, push, by_hand)
        results.append(against(title, on_postgresql, "floor", BULK_BAR, note="floor: COPY, binary"))
        results.append(against(f"SQLite: {title}", on_sqlite, "floor", None, note="floor: executemany"))
    return results


def _compare(
    database: PostgresqlDatabase | SqliteDatabase, count: int, rounds: int, push: Push, by_hand: Push
) -> dict[str, list[float]]:
    def contestant(prepare: Push) -> Contestant:
        def run() -> float:
            database.clear()
            database.settle_down()
            timed = together(prepare, database.url, count)
            _check(timed.results[0], database.waiting(), count)
            return count / timed.seconds

        return run

    return interleave({"floor": contestant(by_hand), "duerow": contestant(push)}, rounds)


def _check(answered: object, stored: list[int], count: int) -> None:
    """Require that all are stored, under the ids answered where there are answers (COPY gives none)."""
    if len(set(stored)) != count:
        raise AssertionError(f"pushed {count} messages, stored {len(set(stored))}")
    if isinstance(answered, list) and sorted(answered) != sorted(stored):
        raise AssertionError("the ids answered are not those stored")
