"""Operations on messages: push, find, count, show and change them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Path, Query
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from duerow.aio.queue import Queue
from duerow.conditions.fields import FIELDS
from duerow.errors import InvalidMessage, NotSupported
from duerow.message import Draft, Message
from duerow.queue.edits import Changed
from duerow.web.api import models
from duerow.web.api.common import (
    STREAMED,
    ByViewer,
    InWeb,
    OfQueue,
    OnceKey,
    allowed,
    answer,
    check_searchable,
    lines,
    mark_of,
    mark_text,
    message_json,
    own,
    payload_of,
    router,
    said,
    streamed,
)
from duerow.web.api.in_progress_models import ProgressOut, StackOut
from duerow.web.api.models import moment, span
from duerow.web.refusals import Refusal
from duerow.web.security.viewer import Right, Viewer
from duerow.web.web import Web
from duerow.where import as_condition, as_path

routes = router("messages")

OfMessage = Annotated[int, Path(ge=-(1 << 63), lt=1 << 63, description="The message's id.")]
Order = Annotated[
    str,
    Query(
        pattern=f"^-?({'|'.join(FIELDS)})$", description="The field to sort by; a leading - sorts in descending order."
    ),
]
Limit = Annotated[int, Query(ge=1, le=1_000)]
After = Annotated[str | None, Query(max_length=2_000, description="The `next` of the previous page.")]
Where = Annotated[str | None, Query(max_length=10_000, description="A condition, such as: payload.companyId = 3345.")]
WithStatus = Annotated[models.MessageStatus | None, Query(alias="status")]


@routes.post("/queues/{queue:path}/messages", response_model=models.PushResult, status_code=201)
async def push(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.PushIn, once: OnceKey = None) -> Response:
    """Push messages, all or none. By default, a message whose key a live message already has is ignored."""
    target = await allowed(web, viewer, "push", queue, create=body.create)
    if viewer.means != "token":
        await web.record(viewer, "push", queue, count=len(body.messages), keys=[one.key for one in body.messages][:20])
    pushed = await target.push_many([draft(one) for one in body.messages], on_duplicate=body.on_duplicate)
    return answer({"messages": pushed}, 201)


def draft(given: models.DraftIn, queue: str | None = None) -> Draft[Any]:
    """Return a message that a request asks to push."""
    return Draft(
        payload_of(given),
        given.key,
        moment(given.due, "due"),
        span(given.delay_seconds),
        given.headers,
        queue,
        given.group,
        given.priority,
    )


@routes.get("/queues/{queue:path}/messages", response_model=models.MessagePage)
async def find(
    request: Request,
    web: InWeb,
    viewer: ByViewer,
    queue: OfQueue,
    where: Where = None,
    status: WithStatus = None,
    key: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
    order: Order = "id",
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Return a page of messages; with `Accept: application/x-ndjson`, all of them, one per line, without a limit."""
    target = await allowed(web, viewer, "view", queue)
    condition = None if where is None else as_condition(where)
    check_searchable(web, queue, condition)
    mark = mark_of(order, after)

    async def page(many: int, mark: Any) -> list[Message[Any]]:
        return await target.find(condition, status=status, key=key, order=order, limit=many, after=mark)

    async def everything() -> AsyncIterator[Any]:
        last = mark
        while found := await page(STREAMED, last):
            for one in found:
                yield message_json(web, one)
            last = found[-1]

    if streamed(request):
        return lines(everything())
    found = await page(limit, mark)
    onward = mark_text(order, found[-1]) if len(found) == limit else None
    return answer({"messages": [message_json(web, one) for one in found], "next": onward})


@routes.get("/queues/{queue:path}/count", response_model=models.CountOut)
async def count(
    web: InWeb,
    viewer: ByViewer,
    queue: OfQueue,
    where: Where = None,
    status: WithStatus = None,
    by: Annotated[str | None, Query(max_length=500, description="Count by the values of this field.")] = None,
    exact: bool = False,
) -> Response:
    """Count messages, in total or by the values of a field."""
    target = await allowed(web, viewer, "view", queue)
    condition = None if where is None else as_condition(where)
    check_searchable(web, queue, condition, None if by is None else as_path(by))
    if by is None:
        number = await target.count(condition, status=status, exact=exact or None)
        return answer({"count": int(number), "capped": number.capped, "counts": None})
    counts = await target.count(condition, status=status, by=by, exact=exact or None)
    values = [{"value": value, "count": number} for value, number in counts.items()]
    return answer({"count": sum(counts.values()), "capped": counts.capped, "counts": values})


@routes.get("/queues/{queue:path}/messages/{id}", response_model=models.MessageOut)
async def get(web: InWeb, viewer: ByViewer, queue: OfQueue, id: OfMessage) -> Response:
    """Return a message."""
    found = await (await allowed(web, viewer, "view", queue)).get(id)
    if found is None:
        raise no_message(queue, id)
    return answer(message_json(web, found))


@routes.get("/queues/{queue:path}/messages/{id}/why", response_model=list[models.ReasonOut])
async def why(web: InWeb, viewer: ByViewer, queue: OfQueue, id: OfMessage) -> Response:
    """Return every reason why a message is not running."""
    target = await _queue_with(web, viewer, "view", queue, id)
    return answer(web.shown_reasons(await target.why(id)))


@routes.post("/queues/{queue:path}/edit", response_model=models.ChangedOut)
async def edit(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.EditIn) -> Response:
    """Change the payload or headers of messages."""
    target = await _changeable(
        web, viewer, queue, "edit", body, fields=sorted(said(body, "payload", "patch", "headers"))
    )
    content = {"payload": UNSET, "patch": UNSET, **said(body, "payload", "patch", "headers")}
    return _changed(body, await target.edit(**_chosen(body), **content))


@routes.post("/queues/{queue:path}/reschedule", response_model=models.ChangedOut)
async def reschedule(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.RescheduleIn) -> Response:
    """Change the due time of messages, or stop them with `"due": null`."""
    due: Any = moment(body.due, "due") if "due" in body.model_fields_set else UNSET
    if (rows := own(web, viewer, "operate", queue)) is not None:
        await _record(web, viewer, queue, "reschedule", body, due=body.due, delay_seconds=body.delay_seconds)
        return _changed(body, await rows.reschedule(**_row(queue, body), due=due, delay=span(body.delay_seconds)))
    times = {"due": body.due, "delay_seconds": body.delay_seconds, "stop": due is None or None}
    target = await _changeable(web, viewer, queue, "reschedule", body, **times)
    return _changed(body, await target.reschedule(**_chosen(body), due=due, delay=span(body.delay_seconds)))


@routes.post("/queues/{queue:path}/reprioritise", response_model=models.ChangedOut)
async def reprioritise(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.ReprioritiseIn) -> Response:
    """Change the priority of messages."""
    target = await _changeable(web, viewer, queue, "reprioritise", body, priority=body.priority)
    return _changed(body, await target.reprioritise(**_chosen(body), priority=body.priority))


@routes.post("/queues/{queue:path}/requeue", response_model=models.ChangedOut)
async def requeue(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.ChoiceIn) -> Response:
    """Start dead, failed or stopped messages over: due now, with no attempts."""
    if (rows := own(web, viewer, "operate", queue)) is not None:
        await _record(web, viewer, queue, "requeue", body)
        return _changed(body, await rows.requeue(**_row(queue, body)))
    target = await _changeable(web, viewer, queue, "requeue", body)
    return _changed(body, await target.requeue(**_chosen(body)))


@routes.post("/queues/{queue:path}/remove", response_model=models.ChangedOut)
async def remove(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.ChoiceIn) -> Response:
    """Remove messages from the queue."""
    target = await _changeable(web, viewer, queue, "remove", body)
    return _changed(body, await target.remove(**_chosen(body)))


@routes.post("/queues/{queue:path}/cancel", response_model=models.ChangedOut)
async def cancel(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.CancelIn) -> Response:
    """Cancel live messages, including those being handled: their handlers are notified within a second or two."""
    asked = models.ChoiceIn(**body.model_dump())
    target = await _changeable(web, viewer, queue, "cancel", asked)
    changed = await target.cancel(body.id, key=body.key, where=body.where, dry_run=body.dry_run)
    return _changed(asked, changed)


@routes.get("/queues/{queue:path}/messages/{id}/progress", response_model=ProgressOut | None)
async def progress(web: InWeb, viewer: ByViewer, queue: OfQueue, id: OfMessage) -> Response:
    """Return the last progress that the handler of a message reported; null if it reported none."""
    target = await _queue_with(web, viewer, "view", queue, id)
    return answer(await target.progress(id))


@routes.post("/queues/{queue:path}/messages/{id}/stack", response_model=StackOut)
async def stack(web: InWeb, viewer: ByViewer, queue: OfQueue, id: OfMessage) -> Response:
    """Ask the worker that handles a message where its handler is in its code, and wait up to five seconds."""
    target = await _queue_with(web, viewer, "operate", queue, id)
    await web.record(viewer, "stack", queue, ids=[id])
    return answer(await target.stack(id))


@routes.get("/queues/{queue:path}/messages/{id}/stack", response_model=StackOut | None)
async def last_stack(web: InWeb, viewer: ByViewer, queue: OfQueue, id: OfMessage) -> Response:
    """Return the stack that was last asked for; null if there was none in the last hour."""
    target = await _queue_with(web, viewer, "view", queue, id)
    return answer(await target.last_stack(id))


@routes.post("/queues/{queue:path}/transfer", response_model=models.ChangedOut)
async def transfer(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.TransferIn) -> Response:
    """Move messages to another queue; they keep their due times."""
    if own(web, viewer, "operate", body.to) is not None:
        raise NotSupported(
            f"queue {body.to!r} holds rows of the application's own table: no message can be moved there"
        )
    target = await _changeable(web, viewer, queue, "transfer", body, to=body.to)
    return _changed(body, await target.transfer(**_chosen(body), to=body.to, on_duplicate=body.on_duplicate))


async def _queue_with(web: Web, viewer: Viewer, right: Right, queue: str, id: int) -> Queue[Any]:
    """Return a queue to which the viewer has a right, and which has a message; otherwise raise Refusal."""
    found = await allowed(web, viewer, right, queue)
    if await found.get(id) is None:
        raise no_message(queue, id)
    return found


async def _changeable(
    web: Web, viewer: Viewer, queue: str, action: str, body: models.ChoiceIn, **details: Any
) -> Queue[Any]:
    """Return a queue whose messages the viewer may change, after recording the change."""
    target = await allowed(web, viewer, "operate", queue)
    if body.where is not None:
        check_searchable(web, queue, as_condition(body.where))
    await _record(web, viewer, queue, action, body, **details)
    return target


async def _record(web: Web, viewer: Viewer, queue: str, action: str, body: models.ChoiceIn, **details: Any) -> None:
    if not body.dry_run:
        chosen = {"id": body.id, "key": body.key, "where": body.where, "even_if_leased": body.even_if_leased or None}
        said = {name: value for name, value in {**chosen, **details}.items() if value is not None}
        await web.record(viewer, action, queue, **said)


def _row(queue: str, body: models.ChoiceIn) -> dict[str, Any]:
    """Return which row of a user's table to change."""
    if body.id is None or body.key is not None or body.where is not None:
        raise NotSupported(f"queue {queue!r} holds rows of the application's own table: give the row's id")
    return {"id": body.id, "dry_run": body.dry_run, "even_if_leased": body.even_if_leased}


def _chosen(body: models.ChoiceIn) -> dict[str, Any]:
    return {
        "id": body.id,
        "key": body.key,
        "where": body.where,
        "dry_run": body.dry_run,
        "even_if_leased": body.even_if_leased,
    }


def _changed(body: models.ChoiceIn, changed: Changed) -> Response:
    return answer({"count": changed.count, "skipped": changed.skipped, "dry_run": body.dry_run})


def no_message(queue: str, id: int) -> Refusal:
    """Return the refusal for a message that a queue does not have."""
    error = InvalidMessage(f"queue {queue!r} has no message {id}; it may be done, moved or removed")
    return Refusal(404, "no-such-message", str(error))
