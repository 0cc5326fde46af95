"""A visit to a page: the viewer, the parameters, and what the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request

from duerow.errors import DuerowError, shown
from duerow.queue.stats import Minute
from duerow.web.dashboard.charts import DAY, HOUR, Scale, last_day, last_hour

if TYPE_CHECKING:
    from duerow.web.dashboard.jobs import BackgroundJobs
    from duerow.web.dashboard.live import Live
    from duerow.web.web import Web

PAGE: Final = 50
"""How many messages, turns or queues a page shows."""

DAY_AGE: Final = 30.0
STALE: Final = 30.0
"""Seconds for which the charts of a day are reused, and for how many more while new ones are being read."""

OFFERED: Final = 200
"""The maximum number of queues that are offered as targets; if there are more, their names have to be typed."""

SLASH: Final = "~"
"""The replacement for a slash in a queue's name in addresses: no name contains this character."""


class NotFound(DuerowError):
    """The page does not exist, or the viewer may not know that it does."""


class Forbidden(DuerowError):
    """The viewer may not do this."""


class Shown(msgspec.Struct):
    """What a page shows.

    Attributes:
        template: the template; its block `live` is sent again whenever it changes.
        title: the title of the page.
        values: the values for the template.
        live: whether the page is kept live.
        status: the status of the response.
    """

    template: str
    title: str
    values: dict[str, Any]
    live: bool = True
    status: int = 200


class Visit:
    """One request for a page.

    Attributes:
        web: the state of the web application.
        live: the shared data.
        jobs: the background jobs.
        request: the request.
        viewer: the viewer.
    """

    def __init__(self, web: Web, live: Live, jobs: BackgroundJobs, request: Request) -> None:
        self.web, self.live, self.jobs, self.request = web, live, jobs, request
        self.viewer = request.state.viewer

    @property
    def rights(self) -> str:
        """The viewer's rights as text: viewers with the same rights share rendered pages."""
        return repr((self.viewer.name, sorted(self.viewer.roles.items()), self.viewer.read_only))

    def get(self, name: str, default: str = "") -> str:
        """Return a parameter of the query."""
        return self.request.query_params.get(name, default).strip()

    def number(self, name: str, default: int | None = None) -> int | None:
        """Return an integer parameter of the query; the default if it is not an integer."""
        text = self.get(name)
        return int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else default

    def sees(self, queue: str) -> bool:
        """Return whether the viewer may see a queue."""
        return bool(self.viewer.may("view", queue))

    def operates(self, queue: str | None = None) -> bool:
        """Return whether the viewer may change messages of a queue, or of all queues if none is given."""
        return not self.web.read_only and bool(self.viewer.may("operate", queue))

    @property
    def scale(self) -> Scale:
        """What charts cover: the last hour, or the last day if the address asks for it."""
        return DAY if self.get("span") == "day" else HOUR

    async def columns(self, name: str, minutes: list[Minute]) -> list[Minute | None]:
        """Return the columns of a queue's charts."""
        now = self.web.database.host_time()
        if self.scale is HOUR:
            return last_hour(minutes, now)
        handle = await self.web.queue(name)
        return last_day(await self.live.shared(("day", name), handle.periods, DAY_AGE, STALE), now)

    @property
    def may_add(self) -> bool:
        """Whether the viewer may change queues with certain names, and so may add them."""
        return not self.web.read_only and any(self.viewer.may("operate", pattern) for pattern in self.viewer.roles)

    async def others(self, name: str) -> list[str]:
        """Return the queues to which messages of this one may be moved; none if there are too many to choose from."""
        names = await self.live.names(own=False)
        return [one for one in names if one != name and self.operates(one)] if len(names) <= OFFERED else []

    @property
    def queue(self) -> str:
        """The queue of the page; raises NotFound if the viewer may not see it."""
        name = unquoted(self.request.path_params["queue"])
        if not self.sees(name):
            raise NotFound(f"there is no queue {shown(name)} that you may see")
        return name

    def url(self, *path: object, **query: object) -> str:
        """Return the address of a page, with its parts quoted, and its query without empty values."""
        return address(self.web, *path, **query)

    def here(self, **query: object) -> str:
        """Return the address of this page with a changed query, without empty values."""
        kept: dict[str, object] = {name: value for name, value in self.request.query_params.items() if name != "live"}
        return self.url(*_parts(self.request), **{**kept, **query})


def address(web: Web, *path: object, **query: object) -> str:
    """Return the address of a page."""
    said = {name: value for name, value in query.items() if value not in ("", None, False)}
    end = f"?{urlencode(said)}" if said else ""
    return web.url("/" + "/".join(quoted(str(part)) for part in path)) + end


def _parts(request: Request) -> list[str]:
    root = request.scope.get("root_path", "")
    path = request.url.path.removeprefix(root) if root else request.url.path
    return [part for part in path.split("/") if part]


def quoted(name: str) -> str:
    """Return a name as a part of an address; a name of only dots would mean a folder."""
    text = name.replace("/", SLASH)
    return f"{SLASH * 2}{text}" if text in (".", "..") else text


def unquoted(part: str) -> str:
    """Return the name from its quoted form."""
    if part in (f"{SLASH * 2}.", f"{SLASH * 2}.."):
        return part[2:]
    return part.replace(SLASH, "/")


def query_of(request: Request) -> Mapping[str, str]:
    """Return the query of a request as a plain mapping."""
    return dict(request.query_params)
