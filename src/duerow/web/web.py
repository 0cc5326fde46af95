"""What the pages and the HTTP API share: the database, redaction, sessions and the audit."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from starlette.requests import Request

from duerow.aio.database import Database
from duerow.aio.queue import Queue
from duerow.errors import CodecError
from duerow.message import Failure, Message, Scalar
from duerow.payload import dead_letter_headers
from duerow.payload.codec import BYTES, JSON, SEALED, decode_json
from duerow.queue.history import Event
from duerow.queue.stats import Reason
from duerow.settlement import outline
from duerow.web.audit import Audit
from duerow.web.options import WebOptions
from duerow.web.security.sessions import BrowserSession, Sessions
from duerow.web.security.viewer import Viewer

LOG: Final = logging.getLogger("duerow.web")

ROOT: Final[ContextVar[str]] = ContextVar("duerow_web_root", default="")
"""The path under which the application that serves the current request is mounted."""

CACHED: Final = 5.0
"""Seconds for which a stored definition is cached."""

HIDDEN: Final = "(hidden)"
"""What people see of a payload if the `redact` function fails."""

_QUOTING: Final = (dead_letter_headers.REASON, dead_letter_headers.BEFORE)
"""The headers that may quote an error, and therefore a payload."""

Seen = TypeVar("Seen", Message, Event)


class _Opened(NamedTuple):
    queue: Any
    until: float


class Web:
    """The state that all pages and operations of one web application share.

    Attributes:
        database: the database.
        options: the options of `application`.
        read_only: whether changes are refused for everybody.
        sessions: signs and reads the session cookies.
        audit: the audit: who did what to which messages.
    """

    def __init__(self, database: Database, options: WebOptions, sessions: Sessions | None = None) -> None:
        self.database = database
        self.options = options
        self.read_only = options.read_only
        self.sessions = sessions or sessions_of(options)
        self.audit = Audit(database, options.audit)
        self._queues: dict[str, _Opened] = {}
        self._beside: set[asyncio.Task[None]] = set()

    async def queue(self, name: str, *, create: bool = False) -> Queue[Any]:
        """Return a queue by name, with its stored definition, or the queue of one of the application's own tables.

        Args:
            name: its name.
            create: whether the queue may still be unknown to the database.

        Raises:
            UnknownName: the database knows no such queue.
            ConfigurationError: its definition was written by a version that this one cannot read.
            InvalidMessage: the name is invalid.
        """
        own: Any = self.options.queues.get(name)
        if own is not None:
            return own  # type: ignore[no-any-return]
        opened = self._queues.get(name)
        if opened is None or opened.until < time.monotonic():
            queue = await self.database.as_defined(name, known=not create)
            while len(self._queues) >= self.options.most_queues:
                del self._queues[next(iter(self._queues))]
            opened = self._queues[name] = _Opened(queue, time.monotonic() + CACHED)
        queue_: Queue[Any] = opened.queue
        return queue_

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background until the application is closed."""
        task = asyncio.ensure_future(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def close(self) -> None:
        """End everything that runs in the background."""
        tasks = list(self._beside)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # What people see.

    @property
    def redacts(self) -> bool:
        """Whether payloads are redacted."""
        return self.options.redact is not None

    def redacted(self, queue: str, payload: Any) -> Any:
        """Return what people may see of a payload; nothing if the `redact` function fails."""
        if self.options.redact is None:
            return payload
        try:
            return self.options.redact(queue, payload)
        except Exception:
            LOG.exception("redact() failed on a payload of queue %s, so the payload is hidden", queue)
            return HIDDEN

    def redacted_error(self, error: Failure | None) -> Failure | None:
        """Return what people may see of an error, whose text and traceback may quote a payload."""
        return error if not self.redacts else outline(error)

    def redacted_headers(self, headers: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """Return what people may see of headers; two headers of a dead letter may quote its error."""
        if not self.redacts:
            return headers
        return {name: HIDDEN if name in _QUOTING else value for name, value in headers.items()}

    def shown(self, seen: Seen) -> Seen:
        """Return what people may see of a message or a finished turn; a payload of a declared kind becomes JSON."""
        seen = legible(seen)
        if not self.redacts:
            return seen
        error: dict[str, Failure | None] = {
            name: self.redacted_error(getattr(seen, name)) for name in ("last_error", "error") if hasattr(seen, name)
        }
        if isinstance(seen, Event):
            error["log"] = None  # it may quote a payload as well
        payload, headers = self.redacted(seen.queue, seen.payload), self.redacted_headers(seen.headers)
        return msgspec.structs.replace(seen, payload=payload, headers=headers, **error)

    def shown_reasons(self, reasons: Sequence[Reason]) -> list[Reason]:
        """Return what people may see of reasons from `why`; the reason of a dead message quotes its error."""
        hidden = self.redacts
        return [
            msgspec.structs.replace(one, text=one.text.partition(":")[0]) if hidden and one.code == "dead" else one
            for one in reasons
        ]

    # What they do.

    async def record(self, viewer: Viewer, action: str, queue: str | None = None, **details: Any) -> None:
        """Record what somebody is about to do; called first, so that nothing is done without a record."""
        await self.audit.record(
            by=viewer.name, means=viewer.means, address=viewer.address, action=action, queue=queue, details=details
        )

    # Addresses.

    def url(self, path: str) -> str:
        """Return the path of a page, including the path where the application is mounted."""
        return f"{self.options.root_path or ROOT.get()}{path}"

    @property
    def home(self) -> str:
        """The path under which all databases of the application are served; its own path if it has only one."""
        return self.url("/").removesuffix(f"{self.options.called}/" if self.options.called else "")

    def form_token(self, request: Request) -> str:
        """Return the form token of this request's session."""
        return self.sessions.form_token(request.state.session, request.state.viewer.name)

    def cookie(self, request: Request, session: BrowserSession) -> str:
        """Return the session cookie, as the value of a header."""
        proxy = self.options.proxy
        scheme = proxy.scheme_of(request) if proxy is not None and proxy.is_peer(request) else request.url.scheme
        return self.sessions.cookie(session, self.home, scheme == "https")


def sessions_of(options: WebOptions) -> Sessions:
    """Return the object that signs an application's sessions, with its own secret or that of its accounts."""
    kept = None if options.accounts is None else options.accounts.secret
    return Sessions(options.secret or kept or secrets.token_urlsafe(32), options.session)


def legible(seen: Seen) -> Seen:
    """Return a message or a finished turn whose payload, if of a declared kind, is shown as JSON."""
    if seen.kind in (JSON, BYTES) or seen.kind.endswith(SEALED) or not isinstance(seen.payload, str):
        return seen
    try:
        payload = decode_json(seen.payload, "payload")
    except CodecError:
        return seen
    return msgspec.structs.replace(seen, payload=payload)
