"""How charts look: colours, fonts, margins; and a chart as what the page needs of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from plotly import graph_objects as go

INK, FAINT, GRID = "#1d2733", "#6b7785", "#e8ebef"
BLUE, TEAL, AMBER, RED, VIOLET, SAND = "#2f6fde", "#1b9e8a", "#f0a92b", "#d8433b", "#7a5cc9", "#cbd2da"

FONT: Final = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Chart:
    """A chart on the page.

    Attributes:
        title: what it is about.
        says: what can be seen in it, in a sentence.
        figure: the chart.
        height: pixels; `narrow_height` where the page is narrow.
        wide: whether it takes the whole width.
    """

    title: str
    says: str
    figure: go.Figure
    height: int = 340
    narrow_height: int = 340
    wide: bool = False


def figure(*traces: Any, **layout: Any) -> go.Figure:
    """Return a figure in the report's look."""
    look: dict[str, Any] = {
        "template": "none",
        "font": {"family": FONT, "size": 12, "color": INK},
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "y": -0.14, "x": 0, "font": {"size": 11}},
        "hoverlabel": {"font": {"family": FONT}},
        "xaxis": axis(),
        "yaxis": axis(),
    }
    return go.Figure(data=list(traces), layout={**look, **layout})


def axis(title: str | None = None, **more: Any) -> dict[str, Any]:
    """Return an axis in the report's look."""
    quiet = {"gridcolor": GRID, "zeroline": False, "automargin": True, "tickfont": {"color": FAINT, "size": 11}}
    named = {"title": {"text": title, "font": {"color": FAINT, "size": 11}, "standoff": 8}} if title else {}
    return {**quiet, **named, **more}
