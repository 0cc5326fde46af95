"""Pages: rendered from templates, and kept live by server-sent events."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined, Template
from jinja2.bccache import Bucket
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from duerow.errors import DuerowError, QueryTimeout, StoreUnavailable, UnknownName
from duerow.phrases import PYTHON
from duerow.web.dashboard.filters import FILTERS
from duerow.web.dashboard.jobs import BackgroundJobs
from duerow.web.dashboard.live import AGE, Live
from duerow.web.dashboard.visit import Forbidden, NotFound, Shown, Visit, address

if TYPE_CHECKING:
    from types import CodeType

    from duerow.web.web import Web

LOG: Final = logging.getLogger("duerow.web")

View = Callable[[Visit], Awaitable[Shown]]

QUIET: Final = 15.0
"""Seconds after which an idle stream sends a comment, so that proxies keep it open."""

LONGEST: Final = 300.0
"""Seconds after which a stream ends; the browser reopens it, and the viewer's rights are checked again."""

STATIC: Final = files("duerow.web.dashboard") / "static"


class CompiledTemplates(BytecodeCache):
    """Keeps compiled templates for every dashboard of a process: compiling them takes a quarter of a second."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give the bucket its code if the template has been compiled before."""
        bucket.code = self._compiled.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template that has just been compiled."""
        if bucket.code is not None:
            self._compiled[bucket.key, bucket.checksum] = bucket.code


COMPILED: Final = CompiledTemplates()


class DashboardPages:
    """Renders pages.

    Args:
        web: the state of the web application.
    """

    def __init__(self, web: Web) -> None:
        self.web = web
        self.live = Live(web)
        self.jobs = BackgroundJobs(web)
        self.flashes: dict[str, tuple[str, str]] = {}
        self._environment = Environment(
            loader=PackageLoader("duerow.web.dashboard"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            bytecode_cache=COMPILED,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(FILTERS)
        self._environment.globals.update(
            web=web,
            asset=self.asset,
            page=lambda *path, **query: address(web, *path, **query),
        )
        for name in self._environment.list_templates():
            self._environment.get_template(name)  # compiled now, not while the first viewer waits
        self._environment.globals["ui"] = self._environment.get_template("macros.html").module
        self._assets: dict[str, str] = {}

    def asset(self, path: str) -> str:
        """Return the address of a static file, which changes with its contents."""
        if path not in self._assets:
            self._assets[path] = hashlib.sha256(STATIC.joinpath(path).read_bytes()).hexdigest()[:12]
        return self.web.url(f"/static/{path}?v={self._assets[path]}")

    def endpoint(self, view: View) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint of a page."""

        async def answer(request: Request) -> Response:
            visit = Visit(self.web, self.live, self.jobs, request)
            if "live" in request.query_params:
                return self._stream(view, visit)
            try:
                shown = await view(visit)
            except DuerowError as error:
                shown = failed(error)
            return self.page(visit, shown)

        return answer

    def page(self, visit: Visit, shown: Shown) -> Response:
        """Return a whole page."""
        values = self._values(visit, shown)
        template = self._environment.get_template(shown.template)
        block = _block(template, values)
        digest = hashlib.sha256(block.encode()).hexdigest()[:16]
        stream = visit.here(live=digest) if shown.live and visit.request.method == "GET" else None
        flash = self.flashes.pop(visit.get("said"), None)
        # The block was rendered by a template, so it is markup already, with all values of messages escaped.
        html = template.render({**values, "live_block": Markup(block), "stream": stream, "flash": flash})  # noqa: S704
        return HTMLResponse(html, shown.status)

    def flash(self, text: str, tone: str = "good") -> str:
        """Keep a message for the next page; return its parameter for the address of that page."""
        while len(self.flashes) > 200:
            del self.flashes[next(iter(self.flashes))]
        name = f"{time.monotonic_ns():x}"
        self.flashes[name] = (text, tone)
        return name

    def _values(self, visit: Visit, shown: Shown) -> dict[str, Any]:
        path = visit.request.url.path.removeprefix(visit.request.scope.get("root_path", ""))
        return {
            "visit": visit,
            "title": shown.title,
            "section": path.split("/")[1] if "/" in path else "",
            "csrf": visit.request.state.csrf,
            "viewer": visit.viewer,
            "now": datetime.now(UTC),
            **shown.values,
        }

    def _stream(self, view: View, visit: Visit) -> Response:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(self._events(view, visit), media_type="text/event-stream", headers=headers)

    async def _events(self, view: View, visit: Visit) -> AsyncIterator[str]:
        """Yield the live part of a page whenever it changes."""
        last, troubled = visit.get("live"), False
        began = said = time.monotonic()
        yield "retry: 1000\n\n"
        while time.monotonic() - began < LONGEST and not await visit.request.is_disconnected():
            turn = time.monotonic()
            try:
                block = await self._live_block(view, visit)
            except DuerowError as error:
                if not troubled:
                    yield _event("trouble", _trouble(error))
                    troubled, said = True, turn
            else:
                digest = hashlib.sha256(block.encode()).hexdigest()[:16]
                if troubled:
                    yield _event("trouble", "")
                    troubled, said = False, turn
                if digest != last:
                    yield _event("live", block)
                    last, said = digest, turn
            if turn - said > QUIET:
                yield ": still here\n\n"
                said = turn
            await asyncio.sleep(max(0.05, AGE - (time.monotonic() - turn)))

    async def _live_block(self, view: View, visit: Visit) -> str:
        """Return the live part of a page, rendered once for all viewers with the same rights."""
        query = tuple(sorted((name, value) for name, value in visit.request.query_params.items() if name != "live"))
        key = ("live", visit.request.url.path, query, visit.rights)

        async def rendered() -> str:
            shown = await view(visit)
            return _block(self._environment.get_template(shown.template), self._values(visit, shown))

        return await self.live.shared(key, rendered, AGE / 2)


def failed(error: DuerowError) -> Shown:
    """Return the page for an error."""
    status, title = 400, "That did not work"
    match error:
        case NotFound() | UnknownName():
            status, title = 404, "Not found"
        case Forbidden():
            status, title = 403, "Not allowed"
        case QueryTimeout():
            status, title = 504, "That took too long"
        case StoreUnavailable():
            status, title = 503, "The database cannot be reached"
    return Shown("error.html", title, {"text": error.told(PYTHON)}, live=False, status=status)


def _trouble(error: DuerowError) -> str:
    if isinstance(error, StoreUnavailable):
        return "The database cannot be reached. This page shows the last data read, and updates once it is back."
    return "This page could not be updated. It shows the last data read."


def _block(template: Template, values: dict[str, Any]) -> str:
    context = template.new_context(values)
    return "".join(template.blocks["live"](context))


def _event(name: str, text: str) -> str:
    lines = "\n".join(f"data: {line}" for line in text.split("\n"))
    return f"event: {name}\n{lines}\n\n"
