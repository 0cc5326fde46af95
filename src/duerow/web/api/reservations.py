"""Operations of consumers: reserve messages, extend their leases, and end their turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, Final
from weakref import WeakKeyDictionary

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from duerow.aio.queue import Queue
from duerow.aio.reservation import Reservation
from duerow.errors import DuerowError, LeaseLost
from duerow.message import Failure
from duerow.settlement import Bury, Commit, Move, Release, Rollback, Settlement, decide
from duerow.store.consumer_id import new_claim
from duerow.web.api import models
from duerow.web.api.common import (
    ByViewer,
    InWeb,
    OfQueue,
    OnceKey,
    allowed,
    answer,
    check,
    message_json,
    router,
    said,
)
from duerow.web.api.long_poll import Waiting
from duerow.web.api.messages import draft
from duerow.web.api.models import moment, span
from duerow.web.api.problems import refusal
from duerow.web.api.receipts import Ticket, reserved, ticket, ticket_of
from duerow.web.refusals import Refusal
from duerow.web.security.viewer import Viewer
from duerow.web.web import Web

routes = router("reservations")

MOST_WAITING: Final = 1_000
"""How many requests may wait for messages at once."""

_WAITING: Final[WeakKeyDictionary[Web, Waiting]] = WeakKeyDictionary()
_WAITERS: Final[WeakKeyDictionary[Web, int]] = WeakKeyDictionary()


@routes.post("/queues/{queue:path}/reservations", response_model=models.ReservationsOut)
async def reserve(
    request: Request, web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.ReserveIn, once: OnceKey = None
) -> Response:
    """Reserve messages: they are yours until their leases end. With `wait_seconds`, wait for one to become due."""
    target = await allowed(web, viewer, "consume", queue, create=body.wait_seconds > 0)
    if body.any_kind:
        target = target.of_any_kind()
    taken = await _take(request, web, viewer, target, body)
    found = [
        {
            "receipt": ticket(one),
            "until": one.until,
            "message": message_json(web, one.message, whole=True),
        }
        for one in taken
    ]
    return answer({"reservations": found})


async def _take(
    request: Request, web: Web, viewer: Viewer, queue: Queue[Any], body: models.ReserveIn
) -> Sequence[Reservation[Any]]:
    lease = span(body.lease_seconds)
    name = f"http:{body.consumer or viewer.name or 'anonymous'}"

    async def take() -> Sequence[Reservation[Any]]:
        return await queue.reserve_many(body.limit, lease=lease, consumer=new_claim(name))

    taken = await take()
    if taken or not body.wait_seconds:
        return taken
    if _WAITERS.get(web, 0) >= MOST_WAITING:
        raise Refusal(
            429, "too-many-waiting", "too many requests are waiting for messages; try again later", retry_after=1
        )
    _WAITERS[web] = _WAITERS.get(web, 0) + 1
    gone = asyncio.create_task(_gone(request))
    try:
        return await _take_later(web, queue, take, gone, body.wait_seconds)
    finally:
        _WAITERS[web] -= 1
        gone.cancel()


async def _take_later(
    web: Web,
    queue: Queue[Any],
    take: Callable[[], Awaitable[Sequence[Reservation[Any]]]],
    gone: asyncio.Task[None],
    seconds: float,
) -> Sequence[Reservation[Any]]:
    """Take what becomes due, unless the program that waits for it has disconnected."""
    waiting = _WAITING.setdefault(web, Waiting(web.database))
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        due = asyncio.ensure_future(waiting.until_due(queue.name, left))
        await asyncio.wait({due, gone}, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            due.cancel()
            return []
        if taken := await take():
            if not gone.done():
                return taken
            await queue.release_many(taken)  # there is no program left to handle them
            return []
    return []


async def _gone(request: Request) -> None:
    """Return when the program at the other end has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@routes.post("/queues/{queue:path}/reservations/extend", response_model=models.ExtendedOut)
async def extend(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.ExtendIn, once: OnceKey = None) -> Response:
    """Extend leases until now + lease; lost ones are refused."""
    target = await allowed(web, viewer, "consume", queue)
    tickets = [ticket_of(one) for one in dict.fromkeys(body.receipts)]
    held = {one.receipt: one for one in await reserved(target, tickets)}
    refused = {one.receipt: one.error for one in await target.extend_many(held.values(), span(body.lease_seconds))}
    after = {one.receipt: one.until for one in await reserved(target, tickets)}
    extended = [{"receipt": one.text, "until": after[one.receipt]} for one in tickets if one.receipt in after]
    lost = {one: refused.get(one.receipt) or LeaseLost(one.receipt.id) for one in tickets if one.receipt not in after}
    return answer({"extended": extended, "refused": _refusals(lost)})


@routes.post("/queues/{queue:path}/reservations/settle", response_model=models.SettledOut)
async def settle(web: InWeb, viewer: ByViewer, queue: OfQueue, body: models.SettleIn, once: OnceKey = None) -> Response:
    """End turns, each in its own way; turns whose leases were lost are refused, and change nothing."""
    target = await allowed(web, viewer, "consume", queue)
    turns = {ticket_of(one.receipt): one for one in body.turns}
    if len({one.receipt for one in turns}) < len(body.turns):
        raise Refusal(422, "invalid-request", "a receipt is listed twice, but a turn ends only once")
    for one in body.turns:
        _check_targets(web, viewer, one)
    held = {one.receipt: one for one in await reserved(target, turns)}
    errors: dict[Ticket, DuerowError] = {}
    pairs: list[tuple[Reservation[Any], Settlement]] = []
    for place, turn in turns.items():
        reservation = held.get(place.receipt)
        if reservation is None:
            errors[place] = LeaseLost(place.receipt.id)
        else:
            pairs.append((reservation, decide(reservation.message, _settlement(turn), target.retry)))
    by_receipt = {one.receipt: one for one in turns}
    errors |= {by_receipt[one.receipt]: one.error for one in await target.settle(pairs)}
    return answer({"settled": len(turns) - len(errors), "refused": _refusals(errors)})


def _refusals(errors: dict[Ticket, DuerowError]) -> list[dict[str, Any]]:
    return [{"receipt": one.text, "problem": refusal(error).members()} for one, error in errors.items()]


def _check_targets(web: Web, viewer: Viewer, turn: models.TurnIn) -> None:
    """Raise Refusal unless the viewer may push to each queue that the turn sends something to."""
    targets = [turn.to] if isinstance(turn, models.MoveIn) else []
    if isinstance(turn, models.CommitIn):
        targets = [one.queue for one in turn.then]
    for target in targets:
        check(web, viewer, "push", target)


def _settlement(turn: models.TurnIn) -> Settlement:
    if isinstance(turn, models.CommitIn):
        then = tuple(draft(one, one.queue) for one in turn.then)
        return Commit(turn.payload if "payload" in turn.model_fields_set else UNSET, then)
    if isinstance(turn, models.RollbackIn):
        return Rollback(span(turn.delay_seconds), None if turn.error is None else _failure(turn.error))
    if isinstance(turn, models.BuryIn):
        return Bury(_failure(turn.reason))
    if isinstance(turn, models.ReleaseIn):
        return Release()
    options: dict[str, Any] = dict(said(turn, "payload", "patch", "key", "group", "priority"))
    delay: timedelta | None = span(turn.delay_seconds)
    return Move(
        turn.to,
        headers=turn.headers,
        due=moment(turn.due, "due"),
        delay=delay,
        on_duplicate=turn.on_duplicate,
        **options,
    )


def _failure(error: models.ErrorIn) -> Failure:
    return Failure(error.type, error.message, error.traceback)
