"""What the operations of the HTTP API share."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Depends, Header, Path
from fastapi import Request as FastAPIRequest
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from duerow.aio.queue import Queue
from duerow.conditions.model import Condition, Every, Leaf, Not, Some
from duerow.errors import DuerowError, InvalidMessage, NotSupported, shown
from duerow.message import Message
from duerow.payload import codec
from duerow.payload.codec import BYTES, JSON, SEALED, Encoded
from duerow.queue.history import Event
from duerow.web.api.models import QUEUE, ProblemOut
from duerow.web.api.problems import refusal
from duerow.web.api.receipts import packed, unpacked
from duerow.web.refusals import PROBLEM, Refusal
from duerow.web.security.viewer import Right, Viewer
from duerow.web.web import Web

LINES: Final = "application/x-ndjson"
STREAMED: Final = 500
"""How many messages a streamed response reads at once."""

PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": ProblemOut, "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}}
    for status in ("4XX", "5XX")
}
"""The problems that every operation may respond with."""


class _Request(FastAPIRequest):
    """Reads JSON as strictly as payloads are read: without NaN, and only as valid text."""

    async def json(self) -> Any:
        """Return the body."""
        try:
            return msgspec.json.decode(await self.body())
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise Refusal(400, "not-json", f"the body is not JSON: {error}") from error


class Operation(APIRoute):
    """An operation that reads its body and parameters strictly, so that a mistyped name is not ignored."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that handles a request."""
        handler = super().get_route_handler()
        known = {one.alias for one in self.dependant.query_params}

        async def handling(request: Request) -> Response:
            if strange := sorted(request.query_params.keys() - known):
                takes = f"this operation takes {', '.join(sorted(known)) or 'none'}"
                raise Refusal(422, "invalid-request", f"there is no parameter {shown(strange[0])}; {takes}")
            return await handler(_Request(request.scope, request.receive))

        return handling


def router(tag: str) -> APIRouter:
    """Return a router for operations of one kind."""
    return APIRouter(tags=[tag], route_class=Operation, responses=PROBLEMS)


def _web(request: Request) -> Web:
    web: Web = request.state.web
    return web


def _viewer(request: Request) -> Viewer:
    viewer: Viewer = request.state.viewer
    return viewer


InWeb = Annotated[Web, Depends(_web)]
ByViewer = Annotated[Viewer, Depends(_viewer)]
OnceKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="A new key for each request. If the answer is lost, send the request again with the same key to "
        "get the first answer again. This process of the server remembers it for ten minutes.",
    ),
]
OfQueue = Annotated[str, Path(pattern=QUEUE, max_length=100, description="The queue's name.")]


def answer(value: Any, status: int = 200) -> Response:
    """Return a value as JSON."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def streamed(request: Request) -> bool:
    """Return whether the request asks for all results, one per line."""
    return LINES in request.headers.get("accept", "")


def lines(values: AsyncIterator[Any]) -> Response:
    """Return values as they arrive, each as a line of JSON; an error becomes the last line."""

    async def encoded() -> AsyncIterator[bytes]:
        try:
            async for value in values:
                yield msgspec.json.encode(value) + b"\n"
        except DuerowError as error:
            yield msgspec.json.encode({"problem": refusal(error).members()}) + b"\n"

    return StreamingResponse(encoded(), media_type=LINES)


async def allowed(web: Web, viewer: Viewer, right: Right, name: str, *, create: bool = False) -> Queue[Any]:
    """Return a queue to which the viewer has a right; otherwise raise Refusal, before anything about it is revealed."""
    check(web, viewer, right, name)
    if name in web.options.queues:
        raise NotSupported(
            f"queue {name!r} holds rows of the application's own table: over HTTP it supports stats, and reschedule "
            "and requeue by id"
        )
    return await web.queue(name, create=create)


def own(web: Web, viewer: Viewer, right: Right, name: str) -> Any:
    """Return a queue in the application's own tables to which the viewer has a right; None if there is none."""
    check(web, viewer, right, name)
    return web.options.queues.get(name)


def check(web: Web, viewer: Viewer, right: Right, name: str | None) -> None:
    """Raise Refusal unless the viewer has a right to a queue; None: to all queues."""
    may = viewer.may(right, name)
    if right == "consume" and not may and not web.redacts:
        may = viewer.may("operate", name)  # operators see and change payloads anyway
    if not may:
        place = "all queues" if name is None else f"queue {name!r}"
        raise Refusal(403, "forbidden", f"{viewer.name or 'this account'} may not {right} {place}")


# Conditions.


def check_searchable(web: Web, queue: str, condition: Condition | None, *paths: tuple[str, ...] | None) -> None:
    """Raise Refusal if a condition would reveal redacted values: a search shows whether a value exists."""
    if not web.redacts:
        return
    for path in [*(() if condition is None else _paths(condition)), *(one for one in paths if one is not None)]:
        text = ".".join(path[1:])
        hidden = path[0] in ("error", "last_error") or (path[0] == "headers" and text.startswith("dead-letter-"))
        if hidden or (path[0] == "payload" and not _is_searchable(web, queue, text)):
            raise Refusal(
                403, "redacted", f"payloads are redacted here, and a condition on {'.'.join(path)!r} would reveal them"
            )


def _is_searchable(web: Web, queue: str, field: str) -> bool:
    return any(fnmatchcase(queue, pattern) and field in fields for pattern, fields in web.options.searchable.items())


def _paths(condition: Condition) -> list[tuple[str, ...]]:
    if isinstance(condition, Leaf):
        return [condition.path]  # type: ignore[attr-defined]
    if isinstance(condition, Not):
        return _paths(condition.term)
    if isinstance(condition, Every | Some):
        return [path for term in condition.terms for path in _paths(term)]
    return [("payload",)]  # an unknown condition is treated like one that is not allowed


# Messages.


def message_json(web: Web, message: Message, *, whole: bool = False) -> dict[str, Any]:
    """Return a message as JSON: with `whole` as a consumer gets it, otherwise as people may see it."""
    seen = message if whole else web.shown(message)
    fields = msgspec.structs.asdict(seen)
    del fields["token"]
    return _with_payload(fields)


def turn_json(web: Web, event: Event[Any]) -> dict[str, Any]:
    """Return a finished turn as JSON."""
    return _with_payload(msgspec.structs.asdict(web.shown(event)))


def _with_payload(fields: dict[str, Any]) -> dict[str, Any]:
    payload, kind = fields["payload"], fields["kind"]
    fields["payload_base64"] = None
    if isinstance(payload, bytes):
        fields["payload"], fields["payload_base64"] = None, base64.b64encode(payload).decode("ascii")
    elif kind.endswith(SEALED):
        fields["payload"] = None  # it is encrypted, and there is no key here
    return fields


def payload_of(given: Any, default: Any = None) -> Any:
    """Return the payload of a draft; raise InvalidMessage if it is given twice, or is not base64."""
    if given.payload_base64 is None:
        if given.kind in (None, JSON):
            return given.payload if "payload" in given.model_fields_set else default
        if given.kind == BYTES or given.kind.endswith(SEALED):
            raise InvalidMessage(f"a payload of kind {shown(given.kind)} cannot be given as JSON")
        return Encoded(given.kind, codec.encode(given.payload).text)
    if "payload" in given.model_fields_set or given.kind not in (None, BYTES):
        raise InvalidMessage("give either payload or payload_base64")
    try:
        return base64.b64decode(given.payload_base64, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidMessage(f"payload_base64 is not base64: {error}") from error


# Places in lists, after which the next page begins.


class _Mark:
    """Where a page ended: an id, and the value that orders the list."""

    def __init__(self, id: int, field: str, value: Any) -> None:
        self.id = id
        setattr(self, field, value)


def mark_text(order: str, last: Message) -> str:
    """Return the mark of the end of a page of messages."""
    field = order.removeprefix("-")
    value = getattr(last, field)
    is_time = isinstance(value, datetime)
    return packed(msgspec.json.encode([field, last.id, value.isoformat() if is_time else value, is_time]))


def mark_of(order: str, text: str | None) -> Any:
    """Return the end of a page of messages, as `find` takes it; raise Refusal if it belongs to another list."""
    if text is None:
        return None
    try:
        field, id_, value, is_time = msgspec.json.decode(
            unpacked(text), type=tuple[str, int, str | int | float | bool | None, bool]
        )
        if field != order.removeprefix("-"):
            raise ValueError
        return _Mark(id_, field, datetime.fromisoformat(str(value)) if is_time else value)
    except (ValueError, msgspec.DecodeError, RecursionError):
        raise _wrong_mark() from None


def event_text(last: Event[Any]) -> str:
    """Return the mark of the end of a page of turns."""
    return packed(msgspec.json.encode([last.finished_at.isoformat(), last.id, last.token]))


def event_of(text: str | None) -> Event[Any] | None:
    """Return the end of a page of turns, as `history` takes it; raise Refusal if it is invalid."""
    if text is None:
        return None
    try:
        finished, id_, token = msgspec.json.decode(unpacked(text), type=tuple[str, int, int])
        at = datetime.fromisoformat(finished)
        if at.utcoffset() is None:
            raise ValueError
    except (ValueError, msgspec.DecodeError, RecursionError):
        raise _wrong_mark() from None
    return Event(id_, token, "", "done", None, None, JSON, None, {}, None, 0, 0, at, at, at, at, at, None, None)


def _wrong_mark() -> Refusal:
    return Refusal(422, "invalid-page", "after= takes the `next` of the previous page, in the same order")


def said(model: Any, *names: str) -> Mapping[str, Any]:
    """Return the members that a request contains, including null, which differs from a missing member."""
    return {name: getattr(model, name) for name in names if name in model.model_fields_set}
