"""Rows of a user's own table as a queue, beside the same statements by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench import rows
from bench.context import Context
from bench.processes import together
from bench.results import Result, against
from bench.rounds import Contestant, check_ids, interleave

SINGLY_BAR = 0.7
TOGETHER_BAR = 0.5
FINISHED_BAR = 0.9
KNOWN = "such designs are known to do 700 items/s one by one and 1,400 in batches, on 8 cores with a remote call"


def own_table(context: Context) -> list[Result]:
    """One transaction for each row, batches, and claims beside finished rows."""
    size, url = context.size, context.server.database("bench_rows")
    rows.prepare_table(url)

    def emptied(prepare: Callable[..., Any], count: int, finished: int = 0) -> Contestant:
        def run() -> float:
            ids = rows.fill(url, count, finished)
            timed = together(prepare, url)
            check_ids(ids, timed.results, prepare.__name__)
            if rows.left(url):
                raise AssertionError(f"{prepare.__name__} left rows behind")
            return count / timed.seconds

        return run

    singly = {
        "by hand": emptied(rows.objects_singly, size.singly),
        "tuples by hand": emptied(rows.tuples_singly, size.singly),
        "duerow": emptied(rows.ours_singly, size.singly),
    }
    apart = {
        "by hand": emptied(rows.objects_apart, size.singly),
        "duerow": emptied(rows.ours_apart, size.singly),
    }
    batches = {
        "by hand": emptied(rows.by_hand_together, size.singly * 4),
        "duerow": emptied(rows.ours_together, size.singly * 4),
    }
    pending = max(100, size.backlog // 100)
    beside = {
        "no finished rows": emptied(rows.claim_and_settle, pending),
        "duerow": emptied(rows.claim_and_settle, pending, size.backlog),
    }
    title = f"wide rows of a table, claims among {size.backlog:,} finished rows"
    one_by_one = interleave(singly, size.rounds)
    return [
        against(
            "wide rows of a table, one transaction per row",
            one_by_one,
            "by hand",
            SINGLY_BAR,
            unit="rows/s",
            note=f"by hand with the ORM, which loads the same object in the same transaction; {KNOWN}",
        ),
        against(
            "the same, compared with hand-written code without objects",
            one_by_one,
            "tuples by hand",
            None,
            unit="rows/s",
            note="by hand with the driver alone, which reads the row as a tuple",
        ),
        against(
            "wide rows of a table, at least once",
            interleave(apart, size.rounds),
            "by hand",
            SINGLY_BAR,
            unit="rows/s",
            note="by hand with the ORM; each row in a session of its own, and marked as done when that is over",
        ),
        against(
            "wide rows of a table, in batches",
            interleave(batches, size.rounds),
            "by hand",
            TOGETHER_BAR,
            unit="rows/s",
            note="each row is loaded as an object of its model",
        ),
        against(title, interleave(beside, size.rounds), "no finished rows", FINISHED_BAR, unit="rows/s"),
    ]
