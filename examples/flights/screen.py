"""The demo's terminal output: progress bars while it works, and tables at the end."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from duerow import Database
from examples.flights import sender
from examples.flights.totals import Totals
from examples.flights.work import waiting

GLANCE: Final = 0.5
"""Seconds between two counts of the text messages that are still waiting."""


class Bars:
    """Progress bars for the flights and the text messages; a `Watcher`.

    Args:
        console: the console that shows the bars.
        database: the database in which to count the text messages that have not been sent yet.
        flights: how many flights to handle.
        recorded: how many flights are already through the pipeline.
        alerts: how many text messages have already been pushed.
    """

    def __init__(self, console: Console, database: Database, flights: int, recorded: int, alerts: int) -> None:
        self._database = database
        columns = (TextColumn("{task.description:<34}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(SpinnerColumn(finished_text="✓"), *columns, console=console)
        self._pushed = self._progress.add_task("flights pushed", total=flights)
        self._recorded = self._progress.add_task("flights through the pipeline", total=flights, completed=recorded)
        self._sent = self._progress.add_task("text messages sent or failed", total=alerts or None)
        self._alerts = alerts
        self._ended = threading.Event()
        self._looking = threading.Thread(target=self._look, name="duerow-demo-bars", daemon=True)

    def begins(self, what: str) -> None:
        """Print the name of the step that begins."""
        self._progress.console.print(f"[dim]{what} …[/dim]")

    def pushed(self, flights: int) -> None:
        """Advance the first bar."""
        self._progress.update(self._pushed, completed=flights)

    def recorded(self, flights: int, alerts: int) -> None:
        """Advance the second bar, and raise the total of the third."""
        self._alerts += alerts
        self._progress.advance(self._recorded, flights)

    def __enter__(self) -> Self:
        self._progress.start()
        self._looking.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._looking.join()
        if kind is None:
            self._glance()
        self._progress.stop()

    def _look(self) -> None:
        while not self._ended.wait(GLANCE):
            self._glance()

    def _glance(self) -> None:
        left = waiting(self._database, sender.QUEUE)
        self._progress.update(self._sent, total=self._alerts or None, completed=max(self._alerts - left, 0))


def show(console: Console, totals: Totals) -> None:
    """Print the totals as tables."""
    console.print(_queues(totals), "", _airlines(totals), "", _checks(totals))


def _queues(totals: Totals) -> Table:
    table = Table(title="Messages", title_justify="left", caption="retried = handed out more than once")
    table.add_column("queue")
    for name in ("in", "out", "retried", "dead"):
        table.add_column(name, justify="right")
    for queue in totals.queues:
        numbers = (queue.entered, queue.left, queue.retried, queue.dead)
        table.add_row(queue.queue, *(f"{number:,}" for number in numbers))
    return table


def _airlines(totals: Totals) -> Table:
    table = Table(title="Delays", title_justify="left", caption="late = at least an hour; mean delay in minutes")
    table.add_column("airline", no_wrap=True)
    for name in ("flights", "cancelled", "late", "late %", "mean delay"):
        table.add_column(name, justify="right")
    for airline in totals.airlines:
        share = f"{100 * airline.late / airline.flights:.1f}"
        mean = "" if airline.mean_delay_minutes is None else f"{airline.mean_delay_minutes:+.1f}"
        numbers = (airline.flights, airline.cancelled, airline.late)
        table.add_row(airline.name, *(f"{number:,}" for number in numbers), share, mean)
    return table


def _checks(totals: Totals) -> Table:
    table = Table.grid(padding=(0, 2))
    for check in totals.checks:
        mark = Text("✓", "green") if check.holds else Text("✗", "bold red")
        table.add_row(mark, check.promise, Text(check.found, "dim"))
    return table
