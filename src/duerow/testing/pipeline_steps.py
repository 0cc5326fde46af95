"""Move messages through a pipeline step by step, with either API, without threads or waiting."""

from __future__ import annotations

from collections.abc import Iterator

from duerow import Database, Pipeline
from duerow.errors import LeaseLost
from duerow.pipeline import Station
from duerow.settlement import decide
from duerow.store import Refused


def carry(db: Database, pipeline: Pipeline, chunk: int = 100) -> list[Refused]:
    """Handle due messages in all stations until none is due; return the refused settlements."""
    refused: list[Refused] = []
    busy = True
    while busy:
        busy = False
        for station in pipeline.consumers:
            for one in turns(db, pipeline, station, chunk):
                busy = True
                refused += one
    return refused


def turns(db: Database, pipeline: Pipeline, station: Station, chunk: int = 100) -> Iterator[list[Refused]]:
    """Claim, call the station's function and settle until nothing is due; yield what each settlement call refused."""
    queue = station.queue(db)
    while reservations := queue.reserve_many(chunk):
        settlements = [station.settlement(one.message, pipeline.max_hops, db.encryption) for one in reservations]
        refused = queue.settle(list(zip(reservations, settlements, strict=True)))
        failed = {one.receipt: one.error for one in refused if not isinstance(one.error, LeaseLost)}
        again = [
            (one, decide(one.message, failed[one.receipt], station.policy))
            for one in reservations
            if one.receipt in failed
        ]
        yield [one for one in refused if one.receipt not in failed] + queue.settle(again)
