"""Stacked charts: the turns that each process ended, and the messages that were ready."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from duerow.queue.periods import Period
from duerow.queue.stats import Minute
from duerow.web.dashboard.charts import HEIGHT, WIDTH, Bar, Column, Plot, Scale, Tick, clock, nice, steps
from duerow.web.dashboard.filters import short

SHOWN: Final = 5
"""How many processes have their own color; the others share one."""

REST: Final = "others"


class Breakdown(msgspec.Struct, frozen=True):
    """A chart by process: its geometry, and the processes with the names of their colors."""

    plot: Plot
    legend: list[tuple[str, str]]


def by_process(columns: Sequence[Minute | None], now: datetime, scale: Scale) -> Breakdown | None:
    """Return a chart of the turns that each process ended; None: there were none."""
    totals: dict[str, int] = {}
    for one in columns:
        for name, number in ({} if one is None else one.processes).items():
            totals[name] = totals.get(name, 0) + number
    if not totals:
        return None
    ranked = sorted(totals, key=lambda name: (-totals[name], name))
    colours = {name: f"part-{place}" for place, name in enumerate(ranked[:SHOWN])}
    stacks = [_stack(one, colours) for one in columns]
    legend = [(colour, name) for name, colour in colours.items()]
    if len(ranked) > SHOWN:
        legend.append(("part-rest", f"{len(ranked) - SHOWN} {REST}"))
    names = dict((colour, name) for colour, name in legend)
    summary = ", ".join(f"{name}: {totals[name]:,}" for name in ranked[:SHOWN])
    return Breakdown(_stacked(stacks, names, now, scale, f"Turns ended by process: {summary}."), legend)


def ready(columns: Sequence[Minute | None], now: datetime, scale: Scale) -> Plot | None:
    """Return a chart of how many messages were ready in each period; None: they were never counted."""
    numbers = [one.ready if isinstance(one, Period) else None for one in columns]
    known = [number for number in numbers if number is not None]
    if not known:
        return None
    stacks = [{} if number is None else {"ready": number} for number in numbers]
    return _stacked(stacks, {"ready": "ready"}, now, scale, f"At most {max(known):,} messages were ready.")


def _stack(one: Minute | None, colours: dict[str, str]) -> dict[str, int]:
    stack: dict[str, int] = {}
    for name, number in ({} if one is None else one.processes).items():
        colour = colours.get(name, "part-rest")
        stack[colour] = stack.get(colour, 0) + number
    return dict(sorted(stack.items()))


def _stacked(
    stacks: Sequence[dict[str, int]], names: dict[str, str], now: datetime, scale: Scale, summary: str
) -> Plot:
    top, step = nice(max((sum(stack.values()) for stack in stacks), default=0))
    each = WIDTH / len(stacks)
    bars: list[Bar] = []
    columns: list[Column] = []
    for place, stack in enumerate(stacks):
        base = float(HEIGHT)
        for name, number in stack.items():
            if number:
                height = max(0.75, HEIGHT * number / top)
                base -= height
                bars.append(Bar(name, round(place * each + 0.75, 2), round(base, 2), each - 1.5, round(height, 2)))
        said = ", ".join(f"{names[name]}: {number:,}" for name, number in stack.items()) or "nothing"
        columns.append(Column(place * each, each, f"{clock(now, place, scale)}: {said}"))
    ticks = [Tick(HEIGHT - HEIGHT * value / top, short(value)) for value in steps(top, step)]
    return Plot(bars, {}, ticks, columns, summary)
