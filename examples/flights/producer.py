"""Pushes each flight once: the transaction that pushes flights also updates the number of flights pushed."""

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
    """Push flights until the wanted number has been pushed.

    Giving each flight a key would not keep a second run from pushing it again, because a key is free again once its
    message has left the queue. The count that is committed with each push does prevent this.

    Args:
        database: the database with the queue.
        engine: the same database, for the demo's own tables.
        wanted: how many flights there should be over all runs.
        tell: called after each batch with the number of flights pushed so far.
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
    """Raise the count from `done` to `end`; return False if it was no longer `done`."""
    ours = (PROGRESS.c.name == PUSHED) & (PROGRESS.c.done == done)
    return connection.execute(update(PROGRESS).where(ours).values(done=end)).rowcount == 1
