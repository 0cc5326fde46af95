"""Operations on schedules, pipelines, consumers and the audit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from duerow.aio.directory import nearest
from duerow.errors import UnknownName
from duerow.queue.audit import AUDIT, audit_entry
from duerow.queue.schedule import Schedule
from duerow.web.api import models
from duerow.web.api.common import (
    ByViewer,
    InWeb,
    answer,
    check,
    event_of,
    event_text,
    lines,
    router,
    streamed,
)
from duerow.web.api.messages import After, Limit, Where
from duerow.web.api.models import QUEUE, moment, span
from duerow.web.security.viewer import Viewer
from duerow.web.web import Web
from duerow.where import as_condition

routes = router("directory")

Named = Annotated[str, Path(pattern=QUEUE, max_length=100, description="The schedule's name.")]
Ticks = Annotated[int, Query(ge=0, le=100, description="How many ticks to return.")]


@routes.get("/schedules", response_model=models.SchedulesOut)
async def schedules(web: InWeb, viewer: ByViewer, ticks: Ticks = 5) -> Response:
    """Return the schedules, each with its next ticks."""
    found = [one for one in await web.database.schedules() if viewer.may("view", one.queue)]
    return answer({"schedules": [_schedule(web, one, ticks) for one in found]})


@routes.get("/schedules/{name:path}", response_model=models.ScheduleOut)
async def schedule(web: InWeb, viewer: ByViewer, name: Named, ticks: Ticks = 5) -> Response:
    """Return a schedule with its next ticks."""
    return answer(_schedule(web, await _found(web, viewer, name), ticks))


@routes.put("/schedules/{name:path}", response_model=models.ScheduleOut)
async def set_schedule(web: InWeb, viewer: ByViewer, name: Named, body: models.ScheduleIn) -> Response:
    """Add a schedule, or replace the one with this name."""
    check(web, viewer, "operate", body.queue)
    for one in await web.database.schedules():
        if one.name == name:
            check(web, viewer, "operate", one.queue)
    when = {"cron": body.cron, "every_seconds": body.every_seconds, "daily": body.daily}
    await web.record(viewer, "schedule add", body.queue, schedule=name, **when)
    made = await web.database.schedule(
        name,
        queue=body.queue,
        payload=body.payload,
        cron=body.cron,
        every=span(body.every_seconds),
        daily=body.daily,
        zone=body.zone,
        start=moment(body.start, "start"),
        headers=body.headers,
        group=body.group,
        priority=body.priority,
        missed=body.missed,
        grace=span(body.grace_seconds),  # type: ignore[arg-type]
    )
    return answer(_schedule(web, made, 5))


@routes.delete("/schedules/{name:path}", status_code=204)
async def remove_schedule(web: InWeb, viewer: ByViewer, name: Named) -> Response:
    """Remove a schedule; the messages that it has pushed stay."""
    found = await _found(web, viewer, name)
    check(web, viewer, "operate", found.queue)
    await web.record(viewer, "schedule remove", found.queue, schedule=name)
    await web.database.unschedule(name)
    return Response(status_code=204)


async def _found(web: Web, viewer: Viewer, name: str) -> Schedule:
    seen = {one.name: one for one in await web.database.schedules() if viewer.may("view", one.queue)}
    if name not in seen:
        raise UnknownName("schedule", name, nearest(name, seen))
    return seen[name]


def _schedule(web: Web, one: Schedule, ticks: int) -> dict[str, Any]:
    fields = msgspec.structs.asdict(one)
    every, grace = fields.pop("every"), fields.pop("grace")
    payload = web.redacted(one.queue, one.payload)
    return {
        **fields,
        "payload": None if isinstance(payload, bytes) else payload,
        "every_seconds": None if every is None else every.total_seconds(),
        "grace_seconds": grace.total_seconds(),
        "ticks": one.ticks(ticks),
    }


@routes.get("/pipelines", response_model=models.PipelinesOut)
async def pipelines(web: InWeb, viewer: ByViewer) -> Response:
    """Return the pipelines as graphs of stations, with their kinds and targets."""
    found = await web.database.pipelines()
    return answer({"pipelines": [one for one in found if all(viewer.may("view", name) for name in one.queues)]})


@routes.get("/consumers", response_model=models.ConsumersOut)
async def consumers(web: InWeb, viewer: ByViewer) -> Response:
    """Return the consumers that reported in the last day."""
    found = await web.database.consumers()
    return answer({"consumers": [one for one in found if any(viewer.may("view", name) for name in one.queues)]})


@routes.get("/audit", response_model=models.AuditPage)
async def audit(
    request: Request, web: InWeb, viewer: ByViewer, where: Where = None, limit: Limit = 100, after: After = None
) -> Response:
    """Return who changed what, latest first; with `Accept: application/x-ndjson`, all entries, one per line."""
    check(web, viewer, "view", AUDIT)
    condition = None if where is None else as_condition(where, "turn")
    mark = event_of(after)

    async def everything() -> AsyncIterator[Any]:
        async for one in web.audit.all(condition):
            yield one

    if streamed(request):
        return lines(everything())
    found = await web.audit.events(condition, limit=limit, after=mark)
    onward = event_text(found[-1]) if len(found) == limit else None
    return answer({"entries": [audit_entry(one) for one in found], "next": onward})
