"""Requests that are sent again because their answer was lost: they get the first answer, and are not carried out."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from typing import Final, NamedTuple

import msgspec
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duerow.web.refusals import Refusal
from duerow.web.security.guard import whole_body
from duerow.web.security.viewer import Viewer

KEY: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotent-Replayed"

LONGEST_KEY: Final = 200
LASTING: Final = 600.0
"""Seconds for which an answer is kept."""

MOST_BYTES: Final = 32 << 20
"""How many bytes of answers are kept."""

OVERHEAD: Final = 500
"""About how many bytes an answer takes in addition to its body."""

LARGEST: Final = 4 << 20
"""The largest answer that is kept."""


class Answer(NamedTuple):
    """The answer to a request."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class _Kept(msgspec.Struct):
    """A request, and its answer once there is one; None if it is not worth keeping."""

    digest: bytes
    until: float
    answer: asyncio.Future[Answer | None]
    size: int = 0


class Repeats:
    """Gives a POST request with a known `Idempotency-Key` the same answer as the first request with that key.

    If the first request is still being carried out, its answer is awaited. Requests that failed on the server or met a
    rate limit are carried out again. Answers are kept in this process, each for one account only.

    Args:
        app: carries requests out.
        lasting: seconds for which an answer is kept.
        most_bytes: how many bytes of answers are kept.
    """

    def __init__(self, app: ASGIApp, lasting: float = LASTING, most_bytes: int = MOST_BYTES) -> None:
        self._app, self._lasting, self._most_bytes = app, lasting, most_bytes
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        key = Headers(scope=scope).get(KEY) if scope["type"] == "http" and scope["method"] == "POST" else None
        if key is None:
            await self._app(scope, receive, send)
            return
        try:
            if not 1 <= len(key) <= LONGEST_KEY:
                raise Refusal(422, "invalid-request", f"{KEY} must have 1 to {LONGEST_KEY} characters")
            if (body := await whole_body(receive)) is None:
                return
            answer, replayed = await self._answer(scope, body, receive, (_who(scope), key))
        except Refusal as refused:
            await refused.response()(scope, receive, send)
            return
        headers = [*answer.headers, (REPLAYED.lower().encode(), b"true")] if replayed else answer.headers
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, place: tuple[str, str]) -> tuple[Answer, bool]:
        """Return the answer to a request, and whether it was given before."""
        digest = hashlib.sha256(b"\0".join((scope["path"].encode(), scope["query_string"], body))).digest()
        while (before := self._known(place)) is not None:
            if before.digest != digest:
                raise Refusal(422, "key-reused", f"this {KEY} was used for another request; use a new one for each")
            answer = await asyncio.shield(before.answer)
            if answer is not None:
                return answer, True
        kept = self._kept[place] = _Kept(
            digest, time.monotonic() + self._lasting, asyncio.get_running_loop().create_future()
        )
        # Shielded, so that it ends even if the client has disconnected: the client will then ask again.
        return await asyncio.shield(asyncio.create_task(self._carried_out(scope, body, receive, place, kept))), False

    async def _carried_out(
        self, scope: Scope, body: bytes, receive: Receive, place: tuple[str, str], kept: _Kept
    ) -> Answer:
        found: Answer | None = None
        try:
            answer = await _gathered(self._app, scope, body, receive)
            if answer.status < 500 and answer.status != 429 and len(answer.body) <= LARGEST:
                found = answer
            return answer
        finally:
            if found is None:
                self._kept.pop(place, None)
            else:
                kept.size = OVERHEAD + len(found.body)
                self._bytes += kept.size
                self._shrink()
            kept.answer.set_result(found)

    def _known(self, place: tuple[str, str]) -> _Kept | None:
        kept = self._kept.get(place)
        if kept is not None and kept.answer.done() and kept.until < time.monotonic():
            self._forget(place)
            return None
        return kept

    def _shrink(self) -> None:
        """Forget answers that are too old, and the oldest ones while all take too much memory."""
        now = time.monotonic()
        for place, kept in list(self._kept.items()):
            if not kept.answer.done():
                continue
            if kept.until > now and self._bytes <= self._most_bytes:
                return
            self._forget(place)

    def _forget(self, place: tuple[str, str]) -> None:
        self._bytes -= self._kept.pop(place).size


def _who(scope: Scope) -> str:
    viewer: Viewer = scope["state"]["viewer"]
    return viewer.name or viewer.address


async def _gathered(app: ASGIApp, scope: Scope, body: bytes, receive: Receive) -> Answer:
    """Have a request carried out, and return its whole answer."""
    sent = False
    parts: list[Message] = []

    async def receiving() -> Message:
        nonlocal sent
        if sent:
            return await receive()  # the disconnection of the client
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def sending(message: Message) -> None:
        parts.append(message)

    try:
        await app(scope, receiving, sending)
    except Exception:
        if not parts:
            raise  # otherwise the error was already answered and logged
    start, *rest = parts
    return Answer(start["status"], list(start["headers"]), b"".join(one.get("body", b"") for one in rest))
