"""Pages of plots, each one self-contained HTML file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

from plotly.offline import get_plotlyjs

from duerow.plots.figures import DARK, Chart

_PARTS: Final = files(__package__)


def write(
    path: Path,
    title: str,
    about: str,
    tiles: Iterable[tuple[str, int, str]],
    charts: Sequence[Chart],
    foot: str = "",
    more: str = "",
) -> None:
    """Write a page.

    Args:
        path: the file; its folder is created.
        title: the title of the page.
        about: what the page shows, in a sentence or two.
        tiles: numbers above the plots, each as a label, a number, and "good", "warn", "bad" or "".
        charts: the plots.
        foot: text below the plots.
        more: further HTML, placed above the foot.

    Raises:
        OSError: the file cannot be written.
    """
    text = Template(_PARTS.joinpath("page.html").read_text()).substitute(
        title=escape(title),
        about=escape(about),
        style=_PARTS.joinpath("style.css").read_text(),
        script=_PARTS.joinpath("page.js").read_text(),
        dark=json.dumps(DARK),
        plotly=get_plotlyjs(),
        tiles="\n".join(_tile(*tile) for tile in tiles),
        charts="\n".join(_card(place, chart) for place, chart in enumerate(charts)),
        more=more,
        foot=escape(foot),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    # A reader sees either the old page or the new one, never half of one.
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def _tile(label: str, number: int, kind: str) -> str:
    return f'<div class="tile {kind}"><b>{number:,}</b><span>{escape(label)}</span></div>'


def _card(place: int, chart: Chart) -> str:
    size = "card wide" if chart.wide else "card"
    return (
        f'<section class="{size}"><h2>{escape(chart.title)}</h2><p>{escape(chart.says)}</p>'
        f'<div class="chart" id="chart{place}" data-wide="{chart.height}" data-narrow="{chart.narrow_height}"></div>'
        f'<script type="application/json" id="chart{place}-data">{_json(chart)}</script></section>'
    )


def _json(chart: Chart) -> str:
    # "</script>" in a text would end the surrounding element.
    return str(chart.figure.to_json()).replace("</", "<\\/")
