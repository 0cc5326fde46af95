"""Operations on whole queues: statistics, history, pause, purge and redrive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from duerow.aio.queue import Queue
from duerow.queue.history import Event
from duerow.queue.stats import Times
from duerow.web.api import models
from duerow.web.api.common import (
    STREAMED,
    ByViewer,
    InWeb,
    OfQueue,
    allowed,
    answer,
    check_searchable,
    event_of,
    event_text,
    lines,
    own,
    router,
    streamed,
    turn_json,
)
from duerow.web.api.messages import After, Limit, Where
from duerow.web.security.viewer import Viewer
from duerow.web.web import Web
from duerow.where import as_condition

routes = router("queues")


@routes.get("/queues", response_model=models.QueuesOut)
async def queues(web: InWeb, viewer: ByViewer) -> Response:
    """Return the names of the queues that you may see."""
    names = [*await web.database.known_queues(), *web.options.queues]
    return answer({"queues": [name for name in dict.fromkeys(names) if viewer.may("view", name)]})


@routes.get("/queues/{queue:path}/stats", response_model=models.StatsOut)
async def stats(web: InWeb, viewer: ByViewer, queue: OfQueue, exact: bool = False) -> Response:
    """Return how many messages are ready, delayed, leased, waiting, stopped and dead, with rates and times."""
    target = own(web, viewer, "view", queue) or await allowed(web, viewer, "view", queue)
    return answer(stats_json(await target.stats(exact=exact)))


def stats_json(found: Any) -> dict[str, Any]:
    """Return statistics as JSON, with times in seconds; queues in the user's tables have fewer numbers."""
    fields = {"waiting": 0, "stopped": 0, "paused": False, **msgspec.structs.asdict(found)}
    waiting, handling = fields.pop("waiting_time", None), fields.pop("handling_time", None)
    times = {"waiting_seconds": _seconds(waiting), "handling_seconds": _seconds(handling)}
    return {**fields, **times, "capped": sorted(found.capped)}


def _seconds(times: Times | None) -> dict[str, float] | None:
    if times is None:
        return None
    return {name: getattr(times, name).total_seconds() for name in times.__struct_fields__}


@routes.get("/queues/{queue:path}/history", response_model=models.TurnPage)
async def history(
    request: Request,
    web: InWeb,
    viewer: ByViewer,
    queue: OfQueue,
    where: Where = None,
    id: Annotated[int | None, Query(ge=-(1 << 63), lt=1 << 63)] = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Return finished turns, latest first; with `Accept: application/x-ndjson`, all of them, one per line."""
    target = await allowed(web, viewer, "view", queue)
    condition = None if where is None else as_condition(where, "turn")
    check_searchable(web, queue, condition)
    mark = event_of(after)

    async def everything() -> AsyncIterator[Any]:
        last: Event[Any] | None = mark
        while found := await target.history(condition, id=id, limit=STREAMED, after=last):
            for one in found:
                yield turn_json(web, one)
            last = found[-1]

    if streamed(request):
        return lines(everything())
    found = await target.history(condition, id=id, limit=limit, after=mark)
    onward = event_text(found[-1]) if len(found) == limit else None
    return answer({"turns": [turn_json(web, one) for one in found], "next": onward})


@routes.post("/queues/{queue:path}/pause", status_code=204)
async def pause(web: InWeb, viewer: ByViewer, queue: OfQueue) -> Response:
    """Stop handing out messages of a queue until it is resumed."""
    await (await _operated(web, viewer, "pause", queue)).pause()
    return Response(status_code=204)


@routes.post("/queues/{queue:path}/resume", status_code=204)
async def resume(web: InWeb, viewer: ByViewer, queue: OfQueue) -> Response:
    """Let a paused or draining queue hand out and accept messages again."""
    await (await _operated(web, viewer, "resume", queue)).resume()
    return Response(status_code=204)


@routes.post("/queues/{queue:path}/drain", status_code=204)
async def drain(web: InWeb, viewer: ByViewer, queue: OfQueue) -> Response:
    """Refuse new messages for a queue until it is resumed."""
    await (await _operated(web, viewer, "drain", queue)).drain(wait=False)
    return Response(status_code=204)


@routes.post("/queues/{queue:path}/purge", response_model=models.ChangedOut)
async def purge(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.PurgeIn) -> Response:
    """Remove all messages; requires the queue's name again."""
    target = await _operated(web, viewer, "purge", queue, confirm=body.confirm)
    return answer({"count": await target.purge(body.confirm), "skipped": 0, "dry_run": False})


@routes.post("/queues/{queue:path}/redrive", response_model=models.ChangedOut)
async def redrive(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.RedriveIn) -> Response:
    """Bring dead letters back to their queue, optionally at a limited rate."""
    target = await allowed(web, viewer, "operate", queue)
    check_searchable(web, queue, None if body.where is None else as_condition(body.where))
    options = body.model_dump()
    if not body.dry_run:
        await web.record(viewer, "redrive", queue, **options)
    done = await target.redrive(options.pop("limit"), **options)
    return answer({"count": done.count, "skipped": done.skipped, "dry_run": body.dry_run})


@routes.post("/queues/{queue:path}/replay", response_model=models.ReplayedOut)
async def replay(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.ReplayIn) -> Response:
    """Push messages from the history again."""
    target = await allowed(web, viewer, "operate", queue)
    check_searchable(web, queue, None if body.where is None else as_condition(body.where, "turn"))
    options = body.model_dump()
    if not body.dry_run:
        await web.record(viewer, "replay", queue, **options)
    done = await target.replay(options.pop("id"), **options)
    return answer({"count": done.count, "skipped": done.skipped, "ids": done.ids, "dry_run": body.dry_run})


async def _operated(web: Web, viewer: Viewer, action: str, queue: str, **details: Any) -> Queue[Any]:
    """Return a queue for an operation that the viewer may do, after recording it in the audit."""
    target = await allowed(web, viewer, "operate", queue)
    await web.record(viewer, action, queue, **details)
    return target
