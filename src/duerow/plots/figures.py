"""The look of charts: colors, fonts and margins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from plotly import graph_objects as go

INK, FAINT, GRID = "#1d2733", "#6b7785", "#e8ebef"
PALE: Final = "#f4f6f8"
"""The color of zero on a color scale."""

BLUE, TEAL, AMBER, RED, VIOLET, SAND = "#2f6fde", "#1b9e8a", "#f0a92b", "#d8433b", "#7a5cc9", "#cbd2da"

DARK: Final = {
    INK: "#e4eaf1",
    FAINT: "#94a3b5",
    GRID: "#2b3642",
    SAND: "#566475",
    PALE: "#202a35",
}
"""The dark counterparts of colors that were chosen for a white page; all other colors suit both."""

FONT: Final = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Chart:
    """A chart on the page.

    Attributes:
        title: its title.
        says: what it shows, in a sentence.
        figure: the chart itself.
        height: in pixels; `narrow_height` on narrow pages.
        wide: whether it takes up the whole width of the page.
    """

    title: str
    says: str
    figure: go.Figure
    height: int = 340
    narrow_height: int = 340
    wide: bool = False


def figure(*traces: Any, **layout: Any) -> go.Figure:
    """Return a figure in the style of the page."""
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


def pale(colour: str) -> str:
    """Return a translucent version of a color given as #rrggbb."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.35)"


def time_axis(moments: Iterable[datetime], step: timedelta) -> dict[str, Any]:
    """Return a time axis on which each point stands for the step that begins there.

    Its ticks are at least a step apart, and their labels are no more precise than the step.
    """
    shown = sorted(set(moments))
    if not shown:
        return axis()
    day = timedelta(days=1)
    clock = "%H:%M:%S" if step < timedelta(minutes=1) else "%H:%M"
    ticks = "%-d %b\n%Y" if step >= day else f"{clock}\n%-d %b %Y"
    span = shown[-1] - shown[0] + 2 * step
    close: dict[str, Any] = {"dtick": step.total_seconds() * 1000, "tick0": shown[0]} if span <= 8 * step else {}
    hover = "%-d %b %Y" if step >= day else f"%-d %b %Y {clock}"
    return axis(range=[shown[0] - step, shown[-1] + step], tickformat=ticks, hoverformat=hover, **close)


def axis(title: str | None = None, **more: Any) -> dict[str, Any]:
    """Return an axis in the style of the page."""
    quiet = {"gridcolor": GRID, "zeroline": False, "automargin": True, "tickfont": {"color": FAINT, "size": 11}}
    named = {"title": {"text": title, "font": {"color": FAINT, "size": 11}, "standoff": 8}} if title else {}
    return {**quiet, **named, **more}
