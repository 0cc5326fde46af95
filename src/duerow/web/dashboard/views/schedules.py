"""Schedules: their next ticks, their past ticks, and the state of their messages."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from duerow.errors import DuerowError, shown
from duerow.payload.codec import JSON
from duerow.queue.schedule import SCHEDULE, TICK, PastTick, Schedule
from duerow.web.dashboard.filters import pretty
from duerow.web.dashboard.visit import NotFound, Shown, Visit, unquoted
from duerow.where import field

TICKS: Final = 4
"""How many ticks of a schedule are shown."""

PATIENCE: Final = 3.0
"""Seconds allowed for the search for the messages of a schedule, which no index supports."""


class Ticking(msgspec.Struct):
    """A schedule, its next ticks in its time zone, and whether the viewer may change it."""

    schedule: Schedule
    ticks: list[str]
    zone: str
    operates: bool


class PastRun(msgspec.Struct):
    """A tick that pushed a message, with the message and its state if they are found."""

    tick: PastTick
    late: timedelta
    id: int | None = None
    state: str = ""


async def schedules(visit: Visit) -> Shown:
    """Show the schedules."""
    listed = [_ticking(visit, one) for one in await visit.live.schedules() if visit.sees(one.queue)]
    others = await visit.others("")
    return Shown("schedules.html", "Schedules", {"listed": listed, "may_add": visit.may_add, "others": others})


async def schedule(visit: Visit) -> Shown:
    """Show a schedule, its latest ticks, and a form that changes it."""
    one = await found(visit)
    key = ("runs", one.name, one.past)
    runs = await visit.live.shared(key, lambda: _runs(visit, one), 5.0, 30.0, 4.0)
    return Shown(
        "schedule.html",
        f"Schedule {one.name}",
        {
            "it": one,
            "one": _ticking(visit, one),
            "runs": runs,
            "payload": "" if visit.web.redacts else pretty(one.payload),
            "is_plain": one.kind == JSON,
            "others": await visit.others(""),
            "search": str(field(f"headers.{SCHEDULE}") == one.name),
        },
    )


async def found(visit: Visit) -> Schedule:
    """Return the schedule of a request; raise NotFound if the viewer may not see it."""
    name = unquoted(visit.request.path_params["name"])
    for one in await visit.web.database.schedules():
        if one.name == name and visit.sees(one.queue):
            return one
    raise NotFound(f"there is no schedule {shown(name)} that you may see")


def _ticking(visit: Visit, one: Schedule) -> Ticking:
    zone = one.zone or "UTC"
    ticks = [f"{at.astimezone(ZoneInfo(zone)):%a %d %b %Y, %H:%M:%S}" for at in one.ticks(TICKS)]
    return Ticking(one, ticks, zone, visit.operates(one.queue))


async def _runs(visit: Visit, one: Schedule) -> list[PastRun]:
    """Return the latest ticks, each with its message if it is found in the queue or its history in time."""
    runs = {one.at: PastRun(one, one.pushed_at - one.at) for one in one.past}
    if runs:
        try:
            async with asyncio.timeout(PATIENCE):
                await _find_messages(visit, one, runs)
        except (TimeoutError, DuerowError):
            pass
    return list(runs.values())


async def _find_messages(visit: Visit, one: Schedule, runs: dict[datetime, PastRun]) -> None:
    queue: Any = visit.web.options.queues.get(one.queue)
    if queue is not None:
        return
    handle = await visit.web.queue(one.queue, create=True)
    ours = field(f"headers.{SCHEDULE}") == one.name
    for turn in await handle.history(ours, limit=2 * len(runs)):
        _note(runs, turn.headers.get(TICK), turn.id, turn.outcome)
    for message in await handle.find(ours, order="-id", limit=2 * len(runs)):
        _note(runs, message.headers.get(TICK), message.id, message.status)


def _note(runs: dict[datetime, PastRun], tick: object, id: int, state: str) -> None:
    try:
        run = runs.get(datetime.fromisoformat(str(tick)))
    except ValueError:
        return
    if run is not None and (run.id is None or state in ("new", "error")):
        run.id, run.state = id, state
