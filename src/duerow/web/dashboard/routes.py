"""The addresses of the pages."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from duerow.errors import DuerowError
from duerow.web.dashboard.actions import Actions
from duerow.web.dashboard.pages import STATIC, DashboardPages, failed
from duerow.web.dashboard.schedule_actions import ScheduleActions
from duerow.web.dashboard.views import history, journey, lists, message, overview, pipelines, queue, schedules
from duerow.web.dashboard.visit import Visit
from duerow.web.refusals import Refusal
from duerow.web.web import Web


class _Lasting(StaticFiles):
    """Files whose addresses change with their contents."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, which browsers may cache forever."""
        response = await super().get_response(path, scope)
        if scope.get("query_string"):
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def routes(web: Web) -> list[BaseRoute]:
    """Return the routes of the pages."""
    pages = DashboardPages(web)
    actions = Actions(pages)
    scheduling = ScheduleActions(pages)
    shown = {
        "/": overview.overview,
        "/queues/{queue}": queue.queue,
        "/queues/{queue}/messages/{id:int}": message.message,
        "/queues/{queue}/messages/{id:int}/way": journey.journey,
        "/dead": lists.dead_letters,
        "/pipelines": pipelines.pipelines,
        "/pipelines/{name}": pipelines.pipeline,
        "/schedules": schedules.schedules,
        "/schedules/{name}": schedules.schedule,
        "/workers": lists.workers,
        "/history": history.history,
        "/audit": history.audit,
        "/jobs": lists.jobs,
        "/jobs/{id:int}": lists.job,
    }
    done = {
        "/queues/{queue}/pause": actions.pause,
        "/queues/{queue}/resume": actions.resume,
        "/queues": actions.declare,
        "/queues/{queue}/drain": actions.drain,
        "/queues/{queue}/limit": actions.limit,
        "/queues/{queue}/purge": actions.purge,
        "/queues/{queue}/push": actions.push,
        "/queues/{queue}/many": actions.many,
        "/queues/{queue}/messages/{id:int}/stack": actions.stack,
        "/queues/{queue}/messages/{id:int}/{verb}": actions.change,
        "/queues/{queue}/messages/{id:int}/lineage/{verb}": actions.lineage,
        "/queues/{queue}/rows/{verb}": actions.row,
        "/jobs/{id:int}/cancel": actions.cancel,
        "/schedules": scheduling.save,
        "/schedules/{name}": scheduling.save,
        "/schedules/{name}/{verb}": scheduling.change,
    }
    found: list[BaseRoute] = [Mount("/static", _Lasting(directory=str(STATIC)), name="static")]
    found += [Route(path, pages.endpoint(view), methods=["GET"]) for path, view in shown.items()]
    found += [Route(path, actions.endpoint(action), methods=["POST"]) for path, action in done.items()]
    found += [Route("/audit.jsonl", actions.endpoint(actions.export), methods=["GET"])]
    _PAGES[web] = pages
    if not web.read_only:
        web.beside(pages.jobs.run())
    return found


_PAGES: Final[WeakKeyDictionary[Web, DashboardPages]] = WeakKeyDictionary()


async def _refused(request: Request, error: Exception) -> Response:
    """Show a refusal as a page."""
    pages = _PAGES[request.state.web]
    told: DuerowError = error if isinstance(error, DuerowError) else DuerowError(str(getattr(error, "detail", error)))
    shown = failed(told)
    if not isinstance(error, DuerowError):
        shown.status = getattr(error, "status_code", getattr(error, "status", 400))
    if shown.status == 404:
        shown.title, shown.values = "Not found", {"text": "there is no page at this address"}
    return pages.page(Visit(pages.web, pages.live, pages.jobs, request), shown)


ERRORS: Final = {HTTPException: _refused, Refusal: _refused, DuerowError: _refused}
"""The handlers of errors that no page catches."""
