"""The plots of `analytics.page`, made from the rows of its frames."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

from plotly import graph_objects as go

from duerow.plots.figures import AMBER, BLUE, FAINT, RED, SAND, TEAL, VIOLET, Chart, axis, figure, pale, time_axis

if TYPE_CHECKING:
    from pyspark.sql import Row

COLOURS: Final = (BLUE, TEAL, AMBER, VIOLET, "#5a90ea", "#e0763a", "#4fb3a5", "#9b84db", "#f3bd5c", "#8a6d3b")

ENDS: Final = {"done": TEAL, "dropped": SAND, "dead": RED}

SPANS: Final = {
    "waiting": ("How long messages waited", "From the due time of each turn to its start."),
    "handling": ("How long they were handled", "From the start of each turn to its end."),
    "end to end": (
        "From the first push to the end",
        "Of messages that ended, by the queue in which they did; across moves, forks, splits and joins.",
    ),
}

_UNITS: Final = (("day", 86_400_000_000), ("hour", 3_600_000_000), ("minute", 60_000_000), ("second", 1_000_000))

_DECADES: Final = (0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000, 10_000, 100_000)


def flow(rows: Sequence[Row]) -> Chart:
    """Return a chart of the ways between queues, from rows of source, target, is_end and count."""
    names = list(dict.fromkeys((name, is_end) for row in rows for name, is_end in _places(row)))
    colours = dict(zip((name for name, is_end in names if not is_end), cycle(COLOURS), strict=False))
    through: Counter[tuple[str, bool]] = Counter()
    for side in (0, 1):
        sums: Counter[tuple[str, bool]] = Counter()
        for row in rows:
            sums[_places(row)[side]] += row["count"]
        through |= sums
    trace = go.Sankey(
        arrangement="snap",
        node={
            "label": [f"{name}<br>{through[name, is_end]:,}" for name, is_end in names],
            "color": [ENDS.get(name, FAINT) if is_end else colours[name] for name, is_end in names],
            "pad": 26,
            "thickness": 14,
            "line": {"width": 0},
            "hovertemplate": "%{label}<extra></extra>",
        },
        link={
            "source": [names.index(_places(row)[0]) for row in rows],
            "target": [names.index(_places(row)[1]) for row in rows],
            "value": [row["count"] for row in rows],
            "color": [
                pale(ENDS.get(row["target"], FAINT) if row["is_end"] else colours[row["source"]]) for row in rows
            ],
            "hovertemplate": "%{source.label} → %{target.label}: <b>%{value:,}</b><extra></extra>",
        },
        valueformat=",",
    )
    return Chart(
        "Ways",
        "The width of a band is the number of messages that went from one queue to the next, or that were made "
        "there from messages of the first; on the right, how they ended.",
        figure(trace, margin={"l": 8, "r": 8, "t": 20, "b": 20}),
        height=440,
        narrow_height=620,
        wide=True,
    )


def rates(rows: Sequence[Row], step: int) -> Iterable[Chart]:
    """Return charts of arrivals and failures, from rows of queue, at, and the counts of `analytics.rates`.

    `at` is the start of a step; it and the step are in microseconds.
    """
    each = f"in each {_step(step)}"
    along = time_axis((_moment(row["at"]) for row in rows), timedelta(microseconds=step))
    came = _lines(rows, lambda row: row["in"], "%{y:,}")
    yield Chart(
        "Messages that arrived",
        f"Messages {each}: pushed, made from others, or moved there.",
        figure(*came, hovermode="x unified", xaxis=along, yaxis=axis("messages", rangemode="tozero")),
        wide=True,
    )
    bars = []
    for name, colour in (("retried", AMBER), ("dead", RED)):
        counts: Counter[datetime] = Counter()
        for row in rows:
            counts[_moment(row["at"])] += row[name]
        shown = sorted(counts)
        hover = f"%{{y:,}} {name}<extra></extra>"
        bars.append(
            go.Bar(name=name, x=shown, y=[counts[at] for at in shown], marker={"color": colour}, hovertemplate=hover)
        )
    total = sum(row["retried"] + row["dead"] for row in rows)
    says = f"{total:,} turns failed, in all queues together, {each}." if total else "No turn failed."
    stacked = figure(*bars, barmode="stack", xaxis=along, yaxis=axis("turns", rangemode="tozero"))
    yield Chart("What failed", says, stacked, wide=True)


def times(rows: Sequence[Row], step: int) -> Iterable[Chart]:
    """Return charts of percentiles, from rows of `analytics.times` with `at`, the start of a step in microseconds."""
    along = time_axis((_moment(row["at"]) for row in rows), timedelta(microseconds=step))
    by_span: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_span[row["span"]].append(row)
    for span, (title, says) in SPANS.items():
        if span not in by_span:
            continue
        traces = [
            trace.update(line={"dash": dash}, showlegend=dash == "solid", legendgroup=trace.name)
            for name, dash in (("p50_seconds", "solid"), ("p95_seconds", "dot"))
            for trace in _lines(by_span[span], lambda row, name=name: max(row[name], 1e-4), "%{y:.3~g} s")
        ]
        yield Chart(
            title,
            f"{says} Lines are medians, dots are 95th percentiles, in each {_step(step)}.",
            figure(
                *traces,
                xaxis=along,
                yaxis=axis(type="log", tickvals=_DECADES, ticktext=[_span(value) for value in _DECADES]),
            ),
        )


def _lines(rows: Sequence[Row], value: Any, hover: str) -> list[Any]:
    """Return a line for each queue, sorted by name."""
    points: defaultdict[str, list[tuple[datetime, Any]]] = defaultdict(list)
    for row in rows:
        points[row["queue"]].append((_moment(row["at"]), value(row)))
    return [
        go.Scatter(
            name=queue,
            x=[at for at, _ in sorted(points[queue])],
            y=[number for _, number in sorted(points[queue])],
            mode="lines+markers",
            marker={"size": 4},
            line={"width": 1.8, "color": colour},
            hovertemplate=f"{hover}<extra>{queue}</extra>",
        )
        for queue, colour in zip(sorted(points), cycle(COLOURS), strict=False)
    ]


def _places(row: Mapping[str, Any] | Row) -> tuple[tuple[str, bool], tuple[str, bool]]:
    """Return names for a way's start and end; an outcome is distinct from a queue of the same name."""
    return (row["source"], False), (row["target"], row["is_end"])


def _step(micros: int) -> str:
    """Return a step in words: minute, 5 minutes, hour."""
    name, unit = next((name, unit) for name, unit in _UNITS if micros % unit == 0)
    return name if micros == unit else f"{micros // unit} {name}s"


def _moment(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1e6, UTC)


def _span(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:,.0f} s" if seconds < 1000 else f"{seconds / 3600:,.1f} h"
