"""Charts of the queues: the pipeline as a graph, waiting and handling times, and the gateway's answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from plotly import graph_objects as go
from sqlalchemy import Connection, func, select

from duerow.plots.figures import AMBER, BLUE, FAINT, RED, TEAL, VIOLET, Chart, axis, figure, pale
from examples.flights import sender, stations
from examples.flights.ledger import CALL, VISIT
from examples.flights.totals import Totals

COLOURS: Final = {
    stations.PARSE: BLUE,
    stations.ROUTE: "#5a90ea",
    stations.ENRICH: VIOLET,
    stations.WATCH: "#9b84db",
    stations.ALERT: AMBER,
    stations.LANDED: TEAL,
    stations.MALFORMED: FAINT,
    stations.ALERTS: "#f3bd5c",
    sender.QUEUE: "#e0763a",
    "sent": TEAL,
    "failed": RED,
}

PAUSE: Final = 5.0
"""Periods longer than this many seconds in which nothing happened are left out of the chart over time."""

MOMENTS: Final = 240

Stays = dict[str, np.ndarray]
"""For each queue, one row per stay: entered, taken and left, in seconds since 1970."""


def charts(connection: Connection, totals: Totals) -> Iterator[Chart]:
    """Return the charts in order."""
    stays = _stays(connection)
    yield _graph(connection, totals)
    yield _waiting(stays)
    yield _times(stays)
    yield _calls(connection, totals)


def _graph(connection: Connection, totals: Totals) -> Chart:
    edges = _edges(connection, totals)
    names = list(dict.fromkeys(name for edge in edges for name in edge))
    through = {name: max(_sum(edges, name, 0), _sum(edges, name, 1)) for name in names}
    trace = go.Sankey(
        arrangement="snap",
        node={
            "label": [f"{_short(name)}<br>{through[name]:,}" for name in names],
            "color": [COLOURS.get(name, FAINT) for name in names],
            "pad": 26,
            "thickness": 14,
            "line": {"width": 0},
            "hovertemplate": "%{label}<extra></extra>",
        },
        link={
            "source": [names.index(source) for source, _ in edges],
            "target": [names.index(target) for _, target in edges],
            "value": list(edges.values()),
            "color": [pale(COLOURS.get(target, FAINT)) for _, target in edges],
            "hovertemplate": "%{source.label} → %{target.label}: <b>%{value:,}</b><extra></extra>",
        },
        valueformat=",",
    )
    return Chart(
        "The path of every flight",
        f"{totals.flights:,} flights entered on the left; each of them ended in exactly one place on the right. "
        "The width of a band is the number of messages that went from one queue to the next.",
        figure(trace, margin={"l": 8, "r": 8, "t": 20, "b": 20}),
        height=440,
        narrow_height=620,
        wide=True,
    )


def _edges(connection: Connection, totals: Totals) -> dict[tuple[str, str], int]:
    """Return how many messages went from each queue to each other queue."""
    way = func.lead(VISIT.c.queue).over(partition_by=VISIT.c.message_id, order_by=VISIT.c.place)
    steps = select(VISIT.c.message_id, VISIT.c.queue, way.label("onwards")).subquery()
    counted = (
        select(steps.c.queue, steps.c.onwards, func.count(steps.c.message_id.distinct()))
        .where(steps.c.onwards.is_not(None))
        .group_by(steps.c.queue, steps.c.onwards)
    )
    edges = {(source, target): number for source, target, number in connection.execute(counted)}
    edges[stations.ALERTS, sender.QUEUE] = totals.alerts
    edges[sender.QUEUE, "sent"], edges[sender.QUEUE, "failed"] = totals.sent, totals.given_up
    for queue in totals.queues:
        if queue.dead and queue.queue != sender.QUEUE:
            edges[queue.queue, "dead"] = queue.dead
    return {edge: number for edge, number in edges.items() if number}


def _sum(edges: dict[tuple[str, str], int], name: str, side: int) -> int:
    return sum(number for edge, number in edges.items() if edge[side] == name)


def _stays(connection: Connection) -> Stays:
    rows: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    visits = select(VISIT.c.queue, VISIT.c.entered, VISIT.c.taken, VISIT.c.left)
    for queue, entered, taken, left in connection.execute(visits):
        rows[queue].append((entered, taken, left))
    for entered, taken, seconds in connection.execute(select(CALL.c.entered, CALL.c.taken, CALL.c.seconds)):
        rows[sender.QUEUE].append((entered, taken, taken + round(seconds * 1e6)))
    return {queue: np.array(rows[queue], dtype=np.int64) / 1e6 for queue in COLOURS if queue in rows}


def _times(stays: Stays) -> Chart:
    """Draw boxes from the 5th to the 95th percentile; drawing every stay would make the page as large as the data."""
    handled = {queue: stay for queue, stay in stays.items() if queue not in stations.OUTPUTS}
    traces = []
    for name, colour, first, last in (("waiting", "#9aa6b2", 0, 1), ("handling", BLUE, 1, 2)):
        spans = {_short(queue): np.maximum(stay[:, last] - stay[:, first], 1e-4) for queue, stay in handled.items()}
        marks = {queue: np.percentile(span, (5, 25, 50, 75, 95)).tolist() for queue, span in spans.items()}
        traces.append(
            go.Box(
                name=name,
                y=list(marks),
                orientation="h",
                **{
                    key: [mark[place] for mark in marks.values()]
                    for place, key in enumerate(("lowerfence", "q1", "median", "q3", "upperfence"))
                },
                marker={"color": colour},
                line={"width": 1.5},
                fillcolor=pale(colour),
            )
        )
    entered, taken, left = np.concatenate(list(handled.values())).T
    return Chart(
        "How long messages waited, and how long handling them took",
        f"The median time that a message waited in a queue was {_span(np.median(taken - entered))}, and the median "
        f"time from handing it out to settling it was {_span(np.median(left - taken))}. Boxes span the middle 50 %, "
        "and whiskers the middle 90 %.",
        figure(
            *traces,
            boxmode="group",
            boxgap=0.25,
            boxgroupgap=0.1,
            xaxis=axis(type="log", tickvals=_DECADES, ticktext=[_span(value) for value in _DECADES]),
            yaxis=axis(autorange="reversed"),
        ),
        height=360,
        narrow_height=420,
    )


_DECADES: Final = (0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000)


def _waiting(stays: Stays) -> Chart:
    """Draw how many messages waited in each queue over time, without the periods in which nothing happened."""
    clock = _Clock(np.concatenate([stay.ravel() for stay in stays.values()]))
    moments = np.linspace(0, clock.length, MOMENTS)
    traces = []
    for queue, stay in stays.items():
        entered, taken = np.sort(clock.at(stay[:, 0])), np.sort(clock.at(stay[:, 1]))
        depth = np.searchsorted(entered, moments, "right") - np.searchsorted(taken, moments, "right")
        traces.append(
            go.Scatter(
                x=moments.round(2).tolist(),
                y=depth.tolist(),
                name=_short(queue),
                stackgroup="queues",
                line={"width": 0.5, "color": COLOURS[queue]},
                fillcolor=COLOURS[queue],
                hovertemplate="%{y:,}",
            )
        )
    says = f"From the first push to the last text message, the run took {clock.length:.0f} seconds of work."
    if clock.pauses:
        says += f" Dotted lines mark pauses of more than {PAUSE:.0f} seconds, while Spark started or after a kill."
    chart = figure(
        *traces,
        hovermode="x unified",
        xaxis=axis("seconds of work"),
        yaxis=axis("messages waiting", rangemode="tozero", tickformat=",d"),
    )
    for pause in clock.pauses:
        chart.add_vline(x=pause, line={"dash": "dot", "color": RED, "width": 1.5})
    return Chart("How many messages waited in each queue", says, chart, height=380, narrow_height=460, wide=True)


class _Clock:
    """Counts seconds from the first event, and stops during long periods in which nothing happens.

    Attributes:
        length: the total number of seconds.
        pauses: the times at which the clock was stopped.
    """

    def __init__(self, events: np.ndarray) -> None:
        self._events = np.unique(events)
        gaps = np.diff(self._events, prepend=self._events[0])
        long = gaps > PAUSE
        self._seconds = np.cumsum(np.where(long, 0.0, gaps))
        self.length = float(self._seconds[-1])
        self.pauses = [round(float(pause), 2) for pause in self._seconds[long]]

    def at(self, moments: np.ndarray) -> np.ndarray:
        """Return the clock's time at the given moments, each of which must be an event."""
        return self._seconds[np.searchsorted(self._events, moments)]


def _calls(connection: Connection, totals: Totals) -> Chart:
    counted = select(CALL.c.attempt, CALL.c.answer, func.count(CALL.c.sms_id.distinct()))
    answers: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for attempt, answer, number in connection.execute(counted.group_by(CALL.c.attempt, CALL.c.answer)):
        answers[answer][attempt] = number
    colours = {"accepted": TEAL, "repeated": BLUE, "busy": AMBER, "unreachable": "#e0763a", "refused": RED}
    attempts = sorted({attempt for counts in answers.values() for attempt in counts})
    bars = [
        go.Bar(
            name=answer,
            x=[str(attempt) for attempt in attempts],
            y=[answers[answer][attempt] for attempt in attempts],
            marker={"color": colour},
            hovertemplate=f"attempt %{{x}}: %{{y:,}} {answer}<extra></extra>",
        )
        for answer, colour in colours.items()
        if answer in answers
    ]
    first = answers["accepted"][1]
    most = max((number for counts in answers.values() for number in counts.values()), default=1)
    return Chart(
        "How the gateway answered",
        f"{_percent(first, totals.alerts)} of the text messages were accepted at the first attempt, and "
        f"{totals.sent - first:,} messages at a later one; {totals.given_up:,} failed for good. (Logarithmic scale.)",
        figure(
            *bars,
            barmode="group",
            xaxis=axis("attempt", type="category"),
            yaxis=axis("calls", type="log", dtick=1, tickformat=",d", range=[-0.3, np.log10(most) + 0.1]),
        ),
        height=360,
        narrow_height=380,
    )


def _short(queue: str) -> str:
    return queue.removeprefix("demo.")


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"


def _span(seconds: Any) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
