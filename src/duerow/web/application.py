"""The web application: pages, HTTP API and access control in one ASGI application, to be served or mounted."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from duerow.aio.database import Database, connect
from duerow.errors import ConfigurationError, DuerowError, shown
from duerow.queue.audit import KEEP_AUDIT
from duerow.web.api import problems
from duerow.web.api.application import api
from duerow.web.api.repeats import Repeats
from duerow.web.options import LASTING, MAX_BODY_BYTES, Authenticate, Redact, WebOptions, checked
from duerow.web.refusals import Refusal
from duerow.web.security import login
from duerow.web.security.accounts import Accounts
from duerow.web.security.guard import API, Guard, path_of
from duerow.web.security.proxy import TrustedProxy
from duerow.web.security.sessions import Sessions
from duerow.web.web import Web, sessions_of

ErrorPage = Callable[[Request, Exception], Awaitable[Response]]
"""Answers an error; `ERRORS` of the dashboard's routes has one for each type of error."""

Target = Database | str | Callable[[], Awaitable[Database]]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


def application(
    database: Target | Mapping[str, Target],
    *,
    users: Accounts | str | os.PathLike[str] | None = None,
    proxy: TrustedProxy | None = None,
    authenticate: Authenticate | None = None,
    read_only: bool = False,
    redact: Redact | None = None,
    searchable: Mapping[str, Sequence[str]] | None = None,
    queues: Sequence[Any] = (),
    secret: str | None = None,
    session: timedelta = LASTING,
    audit: timedelta = KEEP_AUDIT,
    hosts: Sequence[str] = (),
    root_path: str = "",
    max_body_bytes: int = MAX_BODY_BYTES,
    rate: str = "6000/minute",
    login_rate: str = "10/minute",
) -> Application | SeveralApplications:
    """Return the pages and the HTTP API of a database's queues as an ASGI application.

    Without `users`, `proxy` or `authenticate`, it answers only requests from this machine.

    Args:
        database: an awaited database, a URL, or an async function that returns a database. A database that the
            application opens itself is opened by the first request, and closed at shutdown if the server runs lifespan
            events. You can also pass several databases by name: each is served under its name, such as `/shop/`, with
            its API under `/shop/api/v1/`, and people log in once for all of them.
        users: accounts with passwords and tokens, or the path of a file that `duerow dashboard user` writes.
        proxy: a proxy that logs users in and passes their names in a header.
        authenticate: a function that returns the Viewer who made a request, or None, for mounting this application in
            your own. It may be async.
        read_only: whether changes are refused for everybody.
        redact: a function of (queue name, payload) that returns what people may see of the payload.
        searchable: with `redact`, the payload fields that conditions may use, by patterns of queue names; default:
            none, because a search for a value shows whether it exists.
        queues: queues in your own tables to show as well, each a `duerow.aio.EntityQueue(…)`.
        secret: signs sessions; pass the same one to all processes. Default: the one in the accounts file, or else a new
            one at each start.
        session: how long a session lasts after the login.
        audit: how long audit entries are kept.
        hosts: the host names that it answers to; default: all, or only those of this machine if nobody has to log in.
        root_path: the path that a proxy removes from requests before it passes them on.
        max_body_bytes: the largest body of a request, in bytes.
        rate: how many requests an account may send, such as "6000/minute".
        login_rate: how many login attempts are allowed from one address, and for one account.

    Raises:
        ConfigurationError: an option is invalid.
    """
    options = checked(
        users=users,
        proxy=proxy,
        authenticate=authenticate,
        read_only=read_only,
        redact=redact,
        searchable=searchable or {},
        queues=queues,
        secret=secret,
        session=session,
        audit=audit,
        hosts=hosts,
        root_path=root_path,
        max_body_bytes=max_body_bytes,
        rate=rate,
        login_rate=login_rate,
    )
    if isinstance(database, Mapping):
        return SeveralApplications(database, options)
    return Application(database, options)


class Application:
    """The application of one database; made by `application`."""

    def __init__(self, database: Target, options: WebOptions, sessions: Sessions | None = None) -> None:
        self._target, self._options, self._sessions = database, options, sessions
        self._opening: asyncio.Lock | None = None
        self._app: ASGIApp | None = None
        self._own: Database | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or the startup and shutdown of the server."""
        if scope["type"] == "lifespan":
            await _live(self.open, self.close, receive, send)
            return
        app = self._app or await self._opened()
        await app(scope, receive, send)

    async def open(self) -> Web:
        """Open the database now, not at the first request."""
        await self._opened()
        return self.web

    async def close(self) -> None:
        """Close the database if the application opened it."""
        if self._app is not None:
            await self.web.close()
        self._app, own, self._own = None, self._own, None
        if own is not None:
            await own.close()

    async def _opened(self) -> ASGIApp:
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            if self._app is None:
                self.web = Web(await self._database(), self._options, self._sessions)
                self._app = guarded(self.web)
            return self._app

    async def _database(self) -> Database:
        if isinstance(self._target, Database):
            return self._target
        if isinstance(self._target, str):
            self._own = await connect(self._target)
            return self._own
        if not callable(self._target):
            raise ConfigurationError(
                f"the application takes a database of duerow.aio, a URL or an async function, not "
                f"{type(self._target).__name__}"
            )
        return await self._target()


class SeveralApplications:
    """The applications of several databases, each under its name; made by `application`.

    Attributes:
        parts: the applications by the names of their databases.
    """

    def __init__(self, databases: Mapping[str, Target], options: WebOptions) -> None:
        if options.queues:
            raise ConfigurationError(
                "queues= works with one database only; serve your own tables in a separate application"
            )
        for name in databases:
            if not _NAME.fullmatch(str(name)):
                raise ConfigurationError(
                    f"a database cannot be called {shown(name)} here: use 1 to 40 letters, digits, _ and -"
                )
        if not databases:
            raise ConfigurationError("there is no database to show")
        sessions, names = sessions_of(options), tuple(databases)
        self._root_path = options.root_path
        self.parts = {
            name: Application(
                target,
                msgspec.structs.replace(
                    options, called=name, databases=names, root_path=options.root_path and f"{options.root_path}/{name}"
                ),
                sessions,
            )
            for name, target in databases.items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application of its database; the root path redirects to the first database."""
        if scope["type"] == "lifespan":
            await _live(self.open, self.close, receive, send)
            return
        root, path = str(scope.get("root_path", "")), path_of(scope)
        name, _, rest = path.removeprefix("/").partition("/")
        part = self.parts.get(name)
        if part is not None and path != f"/{name}":
            inside = {**scope, "root_path": f"{root}/{name}", "path": f"{root}/{name}/{rest}"}
            await part(inside, receive, send)
            return
        target = name if part is not None else next(iter(self.parts))
        response: Response = PlainTextResponse(f"there is no database {shown(name)} here", 404)
        if part is not None or not name:
            response = RedirectResponse(f"{self._root_path or root}/{target}/", 307)
        await response(scope, receive, send)

    async def open(self) -> list[Web]:
        """Open all databases now, not at the first request; return the state of each application."""
        return [await one.open() for one in self.parts.values()]

    async def close(self) -> None:
        """Close the databases that the applications have opened."""
        for one in self.parts.values():
            await one.close()


async def _live(
    opening: Callable[[], Awaitable[object]], closing: Callable[[], Awaitable[None]], receive: Receive, send: Send
) -> None:
    """Follow a server from startup to shutdown."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            try:
                await opening()
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                raise
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await closing()
            await send({"type": "lifespan.shutdown.complete"})
            return


def guarded(web: Web) -> ASGIApp:
    """Return all pages and operations, behind the guard."""
    pages, page_errors = dashboard(web)
    routes: list[BaseRoute] = [*login.routes(web), Mount("/api/v1", Repeats(api())), *watched(web), *pages]
    handlers: dict[Any, Any] = {
        kind: partial(_answer, problem, page_errors.get(kind))
        for kind, problem in (
            (Refusal, problems.of_refusal),
            (HTTPException, problems.of_http),
            (DuerowError, problems.of_duerow),
        )
    }
    return Guard(Starlette(routes=routes, exception_handlers=handlers), web)


def dashboard(web: Web) -> tuple[list[BaseRoute], Mapping[Any, ErrorPage]]:
    """Return the pages of the dashboard and their error pages, if they are installed."""
    if find_spec("duerow.web.dashboard") is None:
        return [], {}
    module = import_module("duerow.web.dashboard.routes")
    return module.routes(web), getattr(module, "ERRORS", {})


def watched(web: Web) -> list[BaseRoute]:
    """Return the routes `/healthz`, `/readyz` and, if prometheus_client is installed, `/metrics`."""
    routes: list[BaseRoute] = []
    for module, needed in (("health", "starlette"), ("prometheus", "prometheus_client")):
        if find_spec("duerow.telemetry") is not None and find_spec(needed) is not None:
            routes += import_module(f"duerow.telemetry.{module}").routes(web.database)
    return routes


async def _answer(problem: ErrorPage, page: ErrorPage | None, request: Request, error: Exception) -> Response:
    """Answer an error: programs get a problem, people get a page."""
    is_page = page is not None and not path_of(request.scope).startswith(API)
    return await (page if page is not None and is_page else problem)(request, error)
