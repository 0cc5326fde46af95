"""Handlers that wait 1 ms for a message, as for an answer from elsewhere: tasks and threads of one process."""

from __future__ import annotations

from statistics import median

from bench import ours
from bench.context import Context
from bench.results import Result
from bench.rounds import interleave
from bench.scenarios.drain import drained

TASKS, THREADS = 1_000, 50
TASKS_BAR, THREADS_BAR = 20_000, 2_000
"""Messages/s."""


def waiting(context: Context) -> list[Result]:
    """How many messages a second one process handles, with 1,000 tasks or 50 threads at once."""
    kinds = {
        f"handlers that wait 1 ms, {TASKS:,} tasks": ("tasks", TASKS_BAR),
        f"handlers that wait 1 ms, {THREADS} threads": ("threads", THREADS_BAR),
    }
    count = context.size.drain
    contestants = {
        "tasks": drained(context.postgresql, ours.handle_with_tasks, count, arguments=[TASKS]),
        "threads": drained(context.postgresql, ours.handle_with_threads, count, arguments=[THREADS]),
    }
    samples = interleave(contestants, context.size.rounds)
    return [
        Result(title, "messages/s", median(samples[kind]), bar=bar, samples={"duerow": samples[kind]})
        for title, (kind, bar) in kinds.items()
    ]
