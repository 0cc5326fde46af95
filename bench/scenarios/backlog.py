"""A million delayed messages in the same queue beside those that are due."""

from __future__ import annotations

from datetime import timedelta

from bench import ours
from bench.context import Context
from bench.databases import PostgresqlDatabase
from bench.processes import together
from bench.results import Result, against
from bench.rounds import check_ids, interleave
from bench.scenarios.drain import drained

BAR = 0.9


def delayed(context: Context) -> list[Result]:
    """Draining beside the backlog against draining without one."""
    size = context.size
    crowded = PostgresqlDatabase(context.server, "bench_backlog")
    backlog = ours.fill(crowded.url, size.backlog, delay=timedelta(days=1))
    crowded.settle_down()

    def beside_the_backlog() -> float:
        ids = ours.fill(crowded.url, size.drain)
        crowded.settle_down()
        timed = together(ours.drain, crowded.url)
        check_ids(ids, timed.results, "duerow beside the backlog")
        return len(ids) / timed.seconds

    contestants = {
        "empty table": drained(context.postgresql, ours.drain, size.drain),
        "duerow": beside_the_backlog,
    }
    samples = interleave(contestants, size.rounds)
    if len(crowded.waiting()) != len(backlog):
        raise AssertionError("the backlog did not stay as it was")
    return [against(f"drain with a backlog of {size.backlog:,} delayed messages", samples, "empty table", BAR)]
