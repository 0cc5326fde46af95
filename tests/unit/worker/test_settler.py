"""How a worker settles decided turns: its plan is carried out here by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow.plan import run
from duerow.retry import DEFAULT
from duerow.settlement import Commit
from duerow.worker.run import Options, Run
from duerow.worker.settler import MOST_AT_ONCE, Freed, Settle, Settler, WriteCounts


def a_run(batch: int, concurrency: int = 1) -> Run:
    options = Options(
        batch=batch,
        concurrency=concurrency,
        lease=timedelta(minutes=1),
        retry=DEFAULT,
        timeout=None,
        poll=None,
        grace=timedelta(seconds=1),
        name="anna",
    )
    return Run("mail", options, None)


def decided(worker_run: Run, count: int) -> None:
    """Have so many messages in hand whose turns are decided."""
    with duerow.connect("memory://") as database:
        queue = database.queue("mail")
        queue.push_many(duerow.Draft(number) for number in range(count))
        for attempt in worker_run.in_flight.take_in(queue.reserve_many(count), 0.0):
            worker_run.in_flight.end(attempt, Commit())


@pytest.mark.parametrize(
    ("batch", "concurrency", "count", "parts"),
    [
        (10_000, 1, 2_500, [MOST_AT_ONCE, MOST_AT_ONCE, 500]),
        (10, 5_000, 1_200, [MOST_AT_ONCE, 200]),
        (10, 1, 25, [10, 10, 5]),
        (1, 50, 3, [1, 1, 1]),
    ],
)
def test_a_large_batch_is_settled_in_parts_of_bounded_size(
    batch: int, concurrency: int, count: int, parts: list[int]
) -> None:
    worker_run = a_run(batch, concurrency)
    decided(worker_run, count)
    worker_run.closing = True
    settled: list[list[Any]] = []

    def answer(step: Any) -> Any:
        if isinstance(step, Settle):
            settled.append(list(step.pairs))
            return []
        assert isinstance(step, (Freed, WriteCounts))
        return None

    run(Settler(worker_run).serve(), answer)
    assert [len(part) for part in settled] == parts
    assert [reservation.message.payload for part in settled for reservation, _ in part] == list(range(count))
    assert not worker_run.in_flight.held
