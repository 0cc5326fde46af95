"""Charts of the flights: which were late, when, and in what weather."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from plotly import graph_objects as go
from sqlalchemy import Connection, case, func, select
from sqlalchemy.sql.elements import ColumnElement

from duerow.plots.figures import AMBER, INK, PALE, RED, SAND, TEAL, Chart, axis, figure
from examples.flights.ledger import FLIGHT
from examples.flights.totals import AirlineTotals, Totals

MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

KINDS: Final = (
    ("on time", SAND),
    ("15 to 59 minutes late", "#f6cf86"),
    ("an hour late or more", AMBER),
    ("cancelled", RED),
)

FEW: Final = 30
"""A share of fewer flights than this means little, so the text does not mention it."""

Counts = dict[Any, list[int]]
"""For each group, the number of flights of each of the KINDS."""


def charts(connection: Connection, totals: Totals) -> Iterator[Chart]:
    """Return the charts in order."""
    yield _hours(_counts(connection, FLIGHT.c.hour))
    yield _airlines(totals.airlines)
    yield _year(connection)
    yield _weather(connection)


def _counts(connection: Connection, group: ColumnElement[Any]) -> Counts:
    """Count flights by group and by how late they were, sorted by group."""
    kind = case(
        (FLIGHT.c.outcome == "cancelled", 3),
        (FLIGHT.c.outcome == "late", 2),
        (FLIGHT.c.arrived_late >= 15, 1),
        else_=0,
    )
    label = group.label("group")
    query = select(label, kind.label("kind"), func.count(FLIGHT.c.message_id.distinct()))
    counts: defaultdict[Any, list[int]] = defaultdict(lambda: [0] * len(KINDS))
    known = FLIGHT.c.outcome != "malformed"
    for value, place, number in connection.execute(query.where(known).group_by("group", "kind").order_by("group")):
        if value is not None:
            counts[value][place] = number
    return dict(counts)


def _hours(counts: Counts) -> Chart:
    hours = sorted(counts)
    hover = "%{x} h: %{customdata[0]:,} of %{customdata[1]:,} NAME (%{y:.1f} %)<extra></extra>"
    bars = [
        go.Bar(
            name=name,
            x=[f"{hour:02}" for hour in hours],
            y=[_share(counts[hour][place], counts[hour]) for hour in hours],
            customdata=[[counts[hour][place], sum(counts[hour])] for hour in hours],
            marker={"color": colour},
            hovertemplate=hover.replace("NAME", name),
        )
        for place, (name, colour) in enumerate(KINDS)
    ]
    return Chart(
        "Delays by hour",
        _between(
            {f"flights scheduled for {hour}:00 to {hour}:59": counts[hour] for hour in hours},
            "Of the {most}, {high:.0f} % were an hour late or more; of the {least}, {low:.0f} %.",
        ),
        figure(
            *bars,
            barmode="stack",
            bargap=0.12,
            xaxis=axis("hour of scheduled departure", type="category"),
            yaxis=axis("% of flights", range=[0, 100]),
        ),
        height=400,
        narrow_height=420,
    )


def _airlines(airlines: Sequence[AirlineTotals]) -> Chart:
    ranked = sorted(airlines, key=lambda airline: (airline.late + airline.cancelled) / airline.flights)
    names = [airline.name.removesuffix(" Inc.").removesuffix(" Co.").removesuffix(" Corporation") for airline in ranked]
    names = [name.replace(" Airlines", "").replace(" Airways", "").replace(" Air Lines", "") for name in names]
    bars = [
        go.Bar(
            name=label,
            y=names,
            x=[100 * getattr(airline, part) / airline.flights for airline in ranked],
            customdata=[[getattr(airline, part), airline.flights] for airline in ranked],
            orientation="h",
            marker={"color": colour},
            hovertemplate=f"%{{y}}: %{{customdata[0]:,}} of %{{customdata[1]:,}} {label} (%{{x:.1f}} %)<extra></extra>",
        )
        for label, part, colour in (("an hour late or more", "late", AMBER), ("cancelled", "cancelled", RED))
    ]
    return Chart(
        "Airlines",
        _between(
            {
                airline.name: [airline.flights - airline.late - airline.cancelled, 0, airline.late, airline.cancelled]
                for airline in ranked
            },
            "Late most often: {most}, with {high:.0f} % of its flights. Late least often: {least}, with {low:.0f} %.",
        ),
        figure(*bars, barmode="stack", bargap=0.3, xaxis=axis("% of flights"), yaxis=axis(gridcolor="rgba(0,0,0,0)")),
        height=400,
        narrow_height=440,
    )


def _year(connection: Connection) -> Chart:
    days = _counts(connection, FLIGHT.c.month * 100 + FLIGHT.c.day)
    bad = {day: _share(late + cancelled, [*rest, late, cancelled]) for day, (*rest, late, cancelled) in days.items()}
    grid = [[bad.get(month * 100 + day) for day in range(1, 32)] for month in range(1, 13)]
    flights = [[sum(days.get(month * 100 + day, ())) for day in range(1, 32)] for month in range(1, 13)]
    heat = go.Heatmap(
        x=list(range(1, 32)),
        y=list(MONTHS),
        z=grid,
        customdata=flights,
        zmin=0,
        zmax=max(20.0, sorted(bad.values())[int(len(bad) * 0.98)] if bad else 0.0),
        colorscale=[[0, PALE], [0.25, "#fbe3b0"], [0.6, AMBER], [1, RED]],
        xgap=2,
        ygap=2,
        colorbar={"thickness": 8, "outlinewidth": 0, "ticksuffix": " %", "len": 0.9, "tickfont": {"size": 10}},
        hovertemplate="%{x} %{y}: %{z:.0f} % of %{customdata:,} flights<extra></extra>",
        hoverongaps=False,
    )
    return Chart(
        "The year, day by day",
        _worst_days(days),
        figure(
            heat,
            xaxis=axis(gridcolor="rgba(0,0,0,0)", dtick=5, tick0=5),
            yaxis=axis(autorange="reversed", gridcolor="rgba(0,0,0,0)"),
        ),
        height=400,
        narrow_height=380,
    )


def _worst_days(days: Counts) -> str:
    bad = {day: _share(counts[2] + counts[3], counts) for day, counts in days.items()}
    worst = sorted((day for day, counts in days.items() if sum(counts) >= FEW), key=lambda day: -bad[day])[:3]
    says = "The share of flights that were cancelled, or were an hour late or more."
    if worst:
        named = ", ".join(f"{day % 100} {MONTHS[day // 100 - 1]} ({bad[day]:.0f} %)" for day in worst)
        says += f" The worst days: {named}."
    return says


_WEATHER: Final = (
    ("rain, inches per hour", FLIGHT.c.rain_inches, (0.0, 0.001, 0.05, 0.2, None), ("none", "light", "rain", "heavy")),
    ("visibility, miles", FLIGHT.c.visibility_miles, (0.0, 1, 3, 9, None), ("below 1", "1 to 3", "3 to 9", "above 9")),
    ("wind, mph", FLIGHT.c.wind_mph, (0.0, 8, 16, 24, None), ("below 8", "8 to 16", "16 to 24", "above 24")),
)
"""Each kind of weather: its name, its column, the bounds of its classes, and the names of the classes."""


def _weather(connection: Connection) -> Chart:
    names: list[str] = []
    groups: list[str] = []
    shares: list[float] = []
    hover: list[list[int]] = []
    for title, column, bounds, labels in _WEATHER:
        counts = _counts(connection, _classes(column, bounds))
        for place, label in enumerate(labels):
            if place in counts:
                names.append(label)
                groups.append(title)
                shares.append(_share(counts[place][2], counts[place]))
                hover.append([counts[place][2], sum(counts[place])])
    bars = go.Bar(
        x=[groups, names],
        y=shares,
        customdata=hover,
        marker={"color": shares, "colorscale": [[0, TEAL], [0.5, AMBER], [1, RED]], "cmin": 5, "cmax": 30},
        hovertemplate="%{customdata[0]:,} of %{customdata[1]:,} (%{y:.1f} %)<extra></extra>",
        text=[f"{share:.0f} %" for share in shares],
        textposition="outside",
        textfont={"color": INK, "size": 11},
        cliponaxis=False,
    )
    return Chart(
        "Weather at departure",
        "The share of flights that arrived an hour late or more, by the weather that the pipeline added to them. "
        "Cancelled flights are not included, because they get no weather.",
        figure(
            bars,
            margin={"l": 8, "r": 8, "t": 20, "b": 8},
            bargap=0.25,
            xaxis=axis(gridcolor="rgba(0,0,0,0)"),
            yaxis=axis("% of flights"),
        ),
        height=400,
        narrow_height=400,
    )


def _classes(column: ColumnElement[Any], bounds: Sequence[float | None]) -> ColumnElement[Any]:
    within = [
        (column >= low if high is None else (column >= low) & (column < high), place)
        for place, (low, high) in enumerate(pairwise(bounds))
    ]
    return case(*within, else_=None)


def _share(part: int, counts: Sequence[int]) -> float:
    """Return a part as a percentage of the whole."""
    whole = sum(counts)
    return 100 * part / whole if whole else 0.0


def _between(groups: dict[str, list[int]], sentence: str) -> str:
    """Name the groups with the highest and the lowest share of late flights, and the groups with too few flights."""
    shares = {name: _share(counts[2], counts) for name, counts in groups.items() if sum(counts) >= FEW}
    few = [name for name in groups if name not in shares]
    if len(shares) < 2:
        return "There are too few flights for a comparison."
    most, least = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
    says = sentence.format(most=most, high=shares[most], least=least, low=shares[least])
    return f"{says} Not compared, because they had fewer than {FEW} flights: {', '.join(few)}." if few else says
