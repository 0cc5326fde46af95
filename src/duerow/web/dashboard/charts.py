"""Charts as plain geometry, which templates draw as SVG: they need no scripts and can be printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil, floor, log10
from typing import Final

import msgspec

from duerow.queue.periods import PERIOD, PERIODS, Period, begin_of, of_last_day
from duerow.queue.stats import Minute, Times
from duerow.store import Totals
from duerow.web.dashboard.filters import short, span

MINUTES: Final = 60
"""How many minutes a chart shows."""


class Scale(msgspec.Struct, frozen=True):
    """The time that a chart covers: how many columns it has, how long each is, and what the whole is called."""

    columns: int
    each: timedelta
    name: str
    marks: tuple[str, str, str]

    @property
    def unit(self) -> str:
        """What a column is called."""
        return "minute" if self.each == timedelta(minutes=1) else "quarter of an hour"


HOUR: Final = Scale(MINUTES, timedelta(minutes=1), "hour", ("60 min ago", "30", "now"))
DAY: Final = Scale(PERIODS, PERIOD, "day", ("24 h ago", "12", "now"))

WIDTH: Final = 600
HEIGHT: Final = 120

STACK: Final = ("done", "moved", "failed", "dead")
"""The outcomes of turns, from the bottom of a bar to the top."""

EDGES: Final = tuple(base * 10.0**power for power in range(-4, 6) for base in (1, 3))
"""The lower edges of the rows of a heat map, in seconds."""


class Bar(msgspec.Struct, frozen=True):
    """A part of a bar: what it stands for, and its position."""

    name: str
    x: float
    y: float
    width: float
    height: float


class Tick(msgspec.Struct, frozen=True):
    """A line across a chart, and its text."""

    y: float
    text: str


class Column(msgspec.Struct, frozen=True):
    """The tooltip of a column."""

    x: float
    width: float
    text: str


class Plot(msgspec.Struct, frozen=True):
    """A chart over the last hour or day.

    Attributes:
        bars: the parts of its bars.
        lines: the points of its lines, by name.
        ticks: its horizontal lines.
        columns: the tooltips of its columns.
        summary: what it shows, in one sentence for screen readers.
    """

    bars: Sequence[Bar] = ()
    lines: Mapping[str, str] = {}
    ticks: Sequence[Tick] = ()
    columns: Sequence[Column] = ()
    summary: str = ""


class Cell(msgspec.Struct, frozen=True):
    """A cell of a heat map."""

    x: float
    y: float
    width: float
    height: float
    weight: str


class HeatMap(msgspec.Struct, frozen=True):
    """A heat map of durations, column by column."""

    cells: Sequence[Cell]
    ticks: Sequence[Tick]
    columns: Sequence[Column]
    summary: str


class Spark(msgspec.Struct, frozen=True):
    """A sparkline: its points, the area below it, and its highest value."""

    line: str
    area: str
    most: float


def last_hour(minutes: Iterable[Minute], now: datetime) -> list[Minute | None]:
    """Return the last 60 minutes in order; None for a minute in which nothing happened."""
    by_start = {one.start: one for one in minutes}
    this = now.replace(second=0, microsecond=0)
    return [by_start.get(this - timedelta(minutes=ago)) for ago in range(MINUTES - 1, -1, -1)]


def last_day(periods: Iterable[Period], now: datetime) -> list[Minute | None]:
    """Return the quarters of an hour of the last day in order; None for one in which nothing was done."""
    by_start: dict[datetime, Minute] = {one.start: one for one in periods}
    return [by_start.get(start) for start in of_last_day(now)]


def ended(minute: Minute | None) -> int:
    """Return how many turns ended in a minute."""
    return 0 if minute is None else sum(getattr(minute.ended, name) for name in STACK)


def spark(values: Sequence[float], width: float = 96, height: float = 24) -> Spark:
    """Return a sparkline of values, without the current minute, which has not ended."""
    shown = values[:-1] if len(values) > 1 else values
    most = max(shown, default=0)
    step = width / max(1, len(shown) - 1)
    points = [
        f"{place * step:.1f},{height - 2 - (height - 4) * (value / most if most else 0):.1f}"
        for place, value in enumerate(shown)
    ]
    line = " ".join(points)
    return Spark(line, f"0,{height} {line} {width},{height}", most)


def added(many: Iterable[Sequence[Minute | None]], scale: Scale = HOUR) -> list[Totals]:
    """Return the outcomes of turns in each column of a chart, added up over several queues."""
    sums = [[0] * len(STACK) for _ in range(scale.columns)]
    for minutes in many:
        for place, minute in enumerate(minutes):
            if minute is not None:
                for which, name in enumerate(STACK):
                    sums[place][which] += getattr(minute.ended, name)
    return [Totals(**dict(zip(STACK, one, strict=True))) for one in sums]


def throughput(totals: Sequence[Totals], now: datetime, scale: Scale = HOUR) -> Plot:
    """Return the turns that ended in each column, as bars by outcome."""
    sums = [sum(getattr(one, name) for name in STACK) for one in totals]
    top, step = nice(max(sums, default=0))
    each = WIDTH / len(totals)
    bars: list[Bar] = []
    columns: list[Column] = []
    for place, one in enumerate(totals):
        base = float(HEIGHT)
        said = []
        for name in STACK:
            number = getattr(one, name)
            if number:
                height = max(0.75, HEIGHT * number / top)
                base -= height
                bars.append(Bar(name, round(place * each + 0.75, 2), round(base, 2), each - 1.5, round(height, 2)))
                said.append(f"{number:,} {name}")
        columns.append(Column(place * each, each, f"{clock(now, place, scale)}: {', '.join(said) or 'nothing'}"))
    total = sum(sums)
    summary = f"{total:,} turns ended in the last {scale.name}, {max(sums, default=0):,} in the busiest {scale.unit}."
    ticks = [Tick(HEIGHT - HEIGHT * value / top, short(value)) for value in steps(top, step)]
    return Plot(bars, {}, ticks, columns, summary)


def latency(minutes: Sequence[Minute | None], which: str, now: datetime, scale: Scale = HOUR) -> Plot | None:
    """Return the percentiles of a duration in each column, on a logarithmic scale; None: there were none."""
    times: list[Times | None] = [None if one is None else getattr(one, which) for one in minutes]
    known = [max(1e-4, getattr(one, name).total_seconds()) for one in times if one for name in ("p50", "p99")]
    if not known:
        return None
    low, high = floor(log10(min(known)) * 2) / 2, ceil(log10(max(known)) * 2) / 2
    high = max(high, low + 0.5)
    each = WIDTH / len(times)

    def y(seconds: float) -> float:
        return HEIGHT - HEIGHT * (log10(max(1e-4, seconds)) - low) / (high - low)

    lines: dict[str, str] = {}
    for name in ("p99", "p95", "p50"):
        path, pen = [], "M"
        for place, one in enumerate(times):
            if one is None:
                pen = "M"
                continue
            at = (place + 0.5) * each
            height = y(getattr(one, name).total_seconds())
            path.append(
                f"{pen}{at:.1f} {height:.1f}" if pen == "L" else f"M{at - 2:.1f} {height:.1f}L{at:.1f} {height:.1f}"
            )
            pen = "L"
        lines[name] = "".join(path)
    columns = [
        Column(
            place * each,
            each,
            f"{clock(now, place, scale)}: "
            + ("none" if one is None else f"p50 {span(one.p50)}, p95 {span(one.p95)}, p99 {span(one.p99)}"),
        )
        for place, one in enumerate(times)
    ]
    ticks = [Tick(y(10**power), span(10.0**power)) for power in range(ceil(low), floor(high) + 1)]
    worst = max(one.p95.total_seconds() for one in times if one)
    return Plot((), lines, ticks, columns, f"The highest p95 of a {scale.unit} was {span(worst)}.")


def heat_map(minutes: Sequence[Minute | None], which: str, now: datetime, scale: Scale = HOUR) -> HeatMap | None:
    """Return a heat map of durations in each column; None: there were none."""
    rows: list[dict[int, int]] = []
    for one in minutes:
        row: dict[int, int] = {}
        for seconds, number in ({} if one is None else getattr(one, which)).items():
            place = max((place for place, edge in enumerate(EDGES) if edge <= seconds), default=0)
            row[place] = row.get(place, 0) + number
        rows.append(row)
    used = sorted({place for row in rows for place in row})
    if not used:
        return None
    lowest, highest = used[0], max(used[-1], used[0] + 3)
    most = max(number for row in rows for number in row.values())
    each, tall = WIDTH / len(rows), HEIGHT / (highest - lowest + 1)
    cells = [
        Cell(
            round(place * each, 2),
            round(HEIGHT - (bucket - lowest + 1) * tall, 2),
            each - 1,
            tall - 1,
            f"{0.12 + 0.88 * (number / most) ** 0.5:.2f}",
        )
        for place, row in enumerate(rows)
        for bucket, number in row.items()
    ]
    columns = [
        Column(
            place * each,
            each,
            f"{clock(now, place, scale)}: "
            + (", ".join(f"{row[bucket]:,} from {span(EDGES[bucket])}" for bucket in sorted(row)) or "none"),
        )
        for place, row in enumerate(rows)
    ]
    ticks = [
        Tick(HEIGHT - (bucket - lowest) * tall, span(EDGES[bucket]))
        for bucket in range(lowest, highest + 1)
        if bucket % 2 == 0 or highest - lowest < 6
    ]
    total = sum(number for row in rows for number in row.values())
    return HeatMap(cells, ticks, columns, f"{total:,} in the last {scale.name}, by how long they took.")


def clock(now: datetime, place: int, scale: Scale) -> str:
    """Return when a column began."""
    begin = now if scale is HOUR else begin_of(now) - scale.each
    return f"{begin - scale.each * (scale.columns - 1 - place):%H:%M} UTC"


def nice(most: float) -> tuple[float, float]:
    """Return the top of a scale and its step, both round numbers."""
    if most <= 0:
        return 1, 1
    size = 10 ** floor(log10(most))
    step = next(one * size for one in (0.25, 0.5, 1, 2.5, 5) if one * size * 4 >= most)
    step = max(1, step)
    return ceil(most / step) * step, step


def steps(top: float, step: float) -> list[float]:
    """Return where a scale has its lines."""
    return [step * place for place in range(1, int(top / step + 1.5)) if step * place <= top]
