"""Progress bars for a run on a terminal: one for each station, which counts the messages that have left it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from duerow.errors import ConfigurationError
from duerow.spark.jobs import Job
from duerow.spark.observed import observed_text

EVERY: Final = 1.0
"""Seconds between counts of the messages that are left."""

Show = Callable[[Iterable[Job]], None]
"""Shows the progress of the stations."""


@contextmanager
def bars(wanted: bool | None, left: Callable[[str], int]) -> Iterator[Show]:
    """Show bars on standard error during a block.

    Args:
        wanted: whether to show bars; None: if standard error is a terminal and the package rich is installed.
        left: returns how many messages are left in a queue.

    Raises:
        ConfigurationError: bars are wanted, but rich is not installed.
    """
    try:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError as error:
        if wanted:
            raise ConfigurationError(
                f"progress bars need the module {error.name}; run pip install 'duerow[cli]'"
            ) from error
        wanted = False
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda jobs: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks = {}
        looked_at = 0.0

        def show(jobs: Iterable[Job]) -> None:
            nonlocal looked_at
            if time.monotonic() - looked_at < EVERY:
                return
            looked_at = time.monotonic()
            for job in jobs:
                name = job.station.name
                if name not in tasks:
                    tasks[name] = progress.add_task(str(job.station), total=None)
                done = job.tally.settled + job.tally.buried
                seen = observed_text(job.tally.observed)
                description = f"{job.station} {seen}" if seen else str(job.station)
                progress.update(tasks[name], completed=done, total=done + left(name), description=escape(description))

        yield show
        looked_at = 0.0
