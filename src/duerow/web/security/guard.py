"""The guard: ASGI middleware that checks every request before anything else sees it."""

from __future__ import annotations

import inspect
import math
import time
from typing import Any, Final
from urllib.parse import quote

from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import FixedWindowRateLimiter
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duerow.errors import ConfigurationError, shown
from duerow.store.wire.operations import OPERATIONS
from duerow.web.refusals import Refusal
from duerow.web.security.headers import with_headers
from duerow.web.security.proxy import is_loopback, peer_of
from duerow.web.security.sessions import BrowserSession
from duerow.web.security.viewer import ALL, Viewer
from duerow.web.web import ROOT, Web

API: Final = "/api/"
STATIC: Final = "/static/"
HEALTH: Final = frozenset({"/healthz", "/readyz"})
PUBLIC: Final = frozenset({"/login"}) | HEALTH
"""The paths that need no login, besides static files."""

METRICS: Final = "/metrics"
"""The path that shows numbers of all queues."""

MOST_OF_STRANGERS: Final = 64 << 10
"""The largest request, in bytes, that is accepted before a login."""

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})

FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""The headers that reveal a proxy; a request through a proxy may come from any machine."""

READS: Final = frozenset(f"/api/v1/store/{one.name}" for one in OPERATIONS.values() if one.reads)
"""The paths that only read although they use POST, because their arguments do not fit into a URL."""

FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")


class Guard:
    """Recognizes the viewer, refuses what is not allowed, and adds security headers to responses.

    Args:
        app: the application behind the guard.
        web: the state of the web application.
    """

    def __init__(self, app: ASGIApp, web: Web) -> None:
        self._app, self._web, self._options = app, web, web.options
        self._limiter = FixedWindowRateLimiter(MemoryStorage())
        self._rate = parse(web.options.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; WebSockets are not supported."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        request, path = Request(scope, receive), path_of(scope)
        mounted = ROOT.set(scope.get("root_path", ""))
        cookie: str | None = None
        try:
            session = self._web.sessions.read(request)
            if session is None:
                session = self._web.sessions.new()
                if (
                    request.method in SAFE
                    and not path.startswith((API, STATIC))
                    and "authorization" not in request.headers
                ):
                    cookie = self._web.cookie(request, session)
            request.state.session, request.state.web = session, self._web
            try:
                receive = await self._admit(request, path, session, receive)
            except Refusal as refused:
                await self._refused(request, path, refused)(scope, receive, with_headers(send, False, cookie))
                return
            await self._app(scope, receive, with_headers(send, path.startswith(STATIC), cookie))
        finally:
            ROOT.reset(mounted)

    async def _admit(self, request: Request, path: str, session: BrowserSession, receive: Receive) -> Receive:
        """Return how to read the body; raise Refusal if the request may not pass."""
        self._check_host(request, path)
        is_public = path in PUBLIC or path.startswith(STATIC)
        most = min(self._options.max_body_bytes, MOST_OF_STRANGERS) if is_public else self._options.max_body_bytes
        receive = _limited(request, receive, most)
        viewer = await self._viewer(request, session)
        if viewer is None and not is_public:
            raise Refusal(401, "unauthorized", "log in, or give a token: Authorization: Bearer …")
        if viewer is not None and not viewer.may("view"):
            raise Refusal(403, "forbidden", f"{viewer.name or 'this account'} has no role here")
        if path == METRICS and viewer is not None and not _sees_all(viewer):
            raise Refusal(403, "forbidden", "metrics show all queues, so they need a role for all of them")
        request.state.viewer = viewer = viewer or Viewer("", address=self._address(request))
        request.state.csrf = self._web.form_token(request)
        if not is_public:
            await self._check_rate(viewer)
        if request.method not in SAFE:
            self._check_read_only(path)
            receive = await self._check_form_token(request, path, session, viewer, receive)
        return receive

    # Who sends the request.

    async def _viewer(self, request: Request, session: BrowserSession) -> Viewer | None:
        found = await self._recognised(request, session)
        if found is None:
            return None
        return Viewer(found.name, found.roles, found.means, self._address(request), self._web.read_only)

    async def _recognised(self, request: Request, session: BrowserSession) -> Viewer | None:
        options = self._options
        if options.is_open:
            return Viewer("", {ALL: ("operator", "worker")}, "local")
        if (found := self._of_token(request)) is not None:
            return found
        if options.proxy is not None and (user := options.proxy.user_of(request)) is not None:
            return Viewer(*user, "proxy")
        if options.authenticate is not None:
            host: Any = options.authenticate(request)
            viewer = await host if inspect.isawaitable(host) else host
            if viewer is not None and not isinstance(viewer, Viewer):
                raise ConfigurationError(f"authenticate() returns a Viewer or None, not {type(viewer).__name__}")
            return viewer
        return self._of_session(session)

    def _of_token(self, request: Request) -> Viewer | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        accounts = self._options.accounts
        if accounts is None or scheme.lower() != "bearer" or not token.strip():
            return None
        name = accounts.of_token(token.strip())
        return None if name is None else Viewer(name, accounts.roles(name), "token")

    def _of_session(self, session: BrowserSession) -> Viewer | None:
        accounts = self._options.accounts
        if accounts is None or not session.user:
            return None
        account = accounts.get(session.user)
        if account is None or account.password is None or account.mark != session.mark:
            return None  # removed, or the password was changed
        return Viewer(session.user, accounts.roles(session.user), "session")

    def _address(self, request: Request) -> str:
        proxy = self._options.proxy
        return proxy.client_of(request) if proxy is not None and proxy.is_peer(request) else peer_of(request)

    # What is refused.

    def _check_host(self, request: Request, path: str) -> None:
        """Refuse other host names, with which a foreign page could read these pages (DNS rebinding)."""
        name = host_of(request.headers)
        options = self._options
        if options.is_open:
            local = is_loopback(peer_of(request)) and not any(one in request.headers for one in FORWARDED)
            if not local:
                raise Refusal(
                    403,
                    "local-only",
                    "without users, only this machine may connect; set up accounts, a trusted proxy or a function that "
                    "tells who a request is from",
                )
            if name not in LOCAL_NAMES | set(options.hosts):
                raise Refusal(
                    403,
                    "wrong-host",
                    f"this host name is not allowed: {shown(name)}; use localhost, or add it to hosts=",
                )
        elif options.hosts and name not in options.hosts and path not in HEALTH:  # probes use addresses, not names
            raise Refusal(403, "wrong-host", f"this host name is not allowed: {shown(name)}")

    async def _check_rate(self, viewer: Viewer) -> None:
        who = viewer.name or viewer.address
        if not await self._limiter.hit(self._rate, "requests", who):
            window = await self._limiter.get_window_stats(self._rate, "requests", who)
            later = max(1, math.ceil(window.reset_time - time.time()))
            raise Refusal(429, "too-many-requests", f"no more than {self._rate}; try again later", retry_after=later)

    def _check_read_only(self, path: str) -> None:
        if self._web.read_only and path not in ("/login", "/logout") and path not in READS:
            raise Refusal(403, "read-only", "this application is read-only")

    async def _check_form_token(
        self, request: Request, path: str, session: BrowserSession, viewer: Viewer, receive: Receive
    ) -> Receive:
        """Refuse requests that another site makes a browser send; return how to read the body again."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if path.startswith(API):
            bearer = request.headers.get("authorization", "").lower().startswith("bearer ")
            if viewer.means == "token" or (viewer.means == "host" and bearer):
                return receive  # no browser adds such a token on its own
            if viewer.means == "local" and not _is_foreign(request) and kind not in (*FORMS, "text/plain"):
                return receive
        token = request.headers.get("x-csrf-token", "")
        if not token and kind in FORMS:
            body = await whole_body(receive) or b""
            receive = _again(body)
            async with Request(request.scope, _again(body)).form() as form:
                said = form.get("csrf_token", "")
                token = said if isinstance(said, str) else ""
        if not self._web.sessions.is_form_token(token, session, viewer.name):
            raise Refusal(
                403, "csrf", "the form token is missing or wrong, or the session has ended: load the page again"
            )
        return receive

    def _refused(self, request: Request, path: str, refused: Refusal) -> Response:
        accounts = self._options.accounts
        page = request.method in SAFE and not path.startswith((API, STATIC))
        if refused.status == 401 and page and accounts is not None and accounts.have_passwords:
            query = f"?{request.url.query}" if request.url.query else ""
            return RedirectResponse(self._web.url(f"/login?next={quote(path + query, safe='')}"), 303)
        return refused.response()


def _sees_all(viewer: Viewer) -> bool:
    return bool(viewer.roles.get(ALL))


def path_of(scope: Scope) -> str:
    """Return the path of a request, without the path where the application is mounted."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root) :] if root and f"{path}/".startswith(f"{root}/") else path


def host_of(headers: Headers) -> str:
    """Return the host name in a request, without the port; empty if there are several."""
    names = headers.getlist("host")
    if len(names) != 1:
        return ""
    name = names[0].lower()
    return name[: name.find("]") + 1] if name.startswith("[") else name.partition(":")[0]


def _is_foreign(request: Request) -> bool:
    """Return whether, according to the browser, a page of another site sent this request."""
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    origin = request.headers.get("origin")
    return origin is not None and origin.rpartition("//")[2].lower() != request.headers.get("host", "").lower()


def _limited(request: Request, receive: Receive, most: int) -> Receive:
    """Return a `receive` that refuses a body that is too large, even if its size was not declared."""
    said = request.headers.get("content-length", "0")
    if not said.isascii() or not said.isdigit() or int(said) > most:
        raise too_large(most)
    seen = 0

    async def receiving() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise too_large(most)
        return message

    return receiving


def too_large(most: int) -> Refusal:
    """Return the refusal of a body that is too large."""
    return Refusal(413, "too-large", f"a request may have at most {most:,} bytes; send several smaller ones")


async def whole_body(receive: Receive) -> bytes | None:
    """Return the body of a request; None if the sender disconnected before it was complete."""
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(chunks)


def _again(body: bytes) -> Receive:
    sent = False

    async def receiving() -> Message:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving
