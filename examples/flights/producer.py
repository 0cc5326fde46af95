"""Pushes flights, each once: the count of what was pushed changes in the transaction that pushes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection, Engine, select, update

from duerow import Database, Draft
from examples.flights import flights, stations
from examples.flights.ledger import PROGRESS, PUSHED

BATCH: Final = 1_000


def pushed(connection: Connection) -> int:
    """Return how many flights have been pushed so far, over all runs."""
    done: int = connection.scalars(select(PROGRESS.c.done).where(PROGRESS.c.name == PUSHED)).one()
    return done


def push(database: Database, engine: Engine, wanted: int, tell: Callable[[int], None]) -> None:
    """Push the flights that are still missing to make as many as wanted.

    A key for each flight would not keep a second run from pushing it again: a key is free when its message has left
    the queue. What was committed with the push does.

    Args:
        database: where the queue is.
        engine: the same database, for the demo's own tables.
        wanted: how many flights there should be over all runs.
        tell: called with the number pushed so far after each batch.
    """
    queue = database.queue(stations.PARSE)
    with engine.begin() as connection:
        done = pushed(connection)
    tell(done)
    while done < wanted:
        with engine.begin() as connection:
            end = min(done + BATCH, wanted)
            if _advance(connection, done, end):
                queue.push_many((_draft(place) for place in range(done, end)), within=connection)
            else:  # another run of the demo was faster
                end = pushed(connection)
        done = end
        tell(done)


def _draft(place: int) -> Draft:
    line = flights.spread(place)
    return Draft({"line": line, "text": flights.lines()[line]})


def _advance(connection: Connection, done: int, end: int) -> bool:
    """Count on from where we believe to be; False if that is not where the count stands."""
    ours = (PROGRESS.c.name == PUSHED) & (PROGRESS.c.done == done)
    return connection.execute(update(PROGRESS).where(ours).values(done=end)).rowcount == 1
