"""The report: one HTML file that needs nothing else, to be looked at rather than read."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

from plotly.offline import get_plotlyjs
from sqlalchemy import Engine

from duerow.demo.report import air, ways
from duerow.demo.report.figures import Chart
from duerow.demo.totals import Totals

_PARTS: Final = files(__package__)


def write(path: Path, totals: Totals, engine: Engine) -> None:
    """Write the report.

    Raises:
        OSError: the file cannot be written.
    """
    with engine.connect() as connection:
        machine = ways.charts(connection, totals)
        story = [next(machine), *air.charts(connection, totals), *machine]
    page = Template(_PARTS.joinpath("page.html").read_text())
    text = page.substitute(
        style=_PARTS.joinpath("style.css").read_text(),
        script=_PARTS.joinpath("page.js").read_text(),
        plotly=get_plotlyjs(),
        tiles="\n".join(_tiles(totals)),
        charts="\n".join(_card(place, chart) for place, chart in enumerate(story)),
        checks="\n".join(_checks(totals)),
        flights=f"{totals.flights:,}",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    # Whoever looks meanwhile sees the old report or the new one, never half of one.
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(text)
    unfinished.replace(path)


def _tiles(totals: Totals) -> list[str]:
    outcomes = totals.outcomes
    tiles = [
        ("flights", totals.flights, ""),
        ("less than an hour late", outcomes["landed"], "good"),
        ("an hour late or more", outcomes["late"], "warn"),
        ("cancelled", outcomes["cancelled"], "bad"),
        ("malformed records", outcomes["malformed"], ""),
        ("text messages sent", totals.sent, "good"),
        ("text messages given up", totals.given_up, "bad"),
    ]
    return [f'<div class="tile {kind}"><b>{number:,}</b><span>{label}</span></div>' for label, number, kind in tiles]


def _card(place: int, chart: Chart) -> str:
    size = "card wide" if chart.wide else "card"
    return (
        f'<section class="{size}"><h2>{escape(chart.title)}</h2><p>{escape(chart.says)}</p>'
        f'<div class="chart" id="chart{place}" data-wide="{chart.height}" data-narrow="{chart.narrow_height}"></div>'
        f'<script type="application/json" id="chart{place}-data">{_json(chart)}</script></section>'
    )


def _json(chart: Chart) -> str:
    # "</script>" inside a text would end the element that it is in.
    return str(chart.figure.to_json()).replace("</", "<\\/")


def _checks(totals: Totals) -> list[str]:
    return [
        f'<li class="{"holds" if check.holds else "fails"}"><b>{escape(check.promise)}</b>'
        f"<span>{escape(check.found)}</span></li>"
        for check in totals.checks
    ]
