"""What the actions of all forms share: rights, errors, and the next page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from duerow.errors import DuerowError
from duerow.errors import shown as briefly
from duerow.web.dashboard.pages import DashboardPages, failed
from duerow.web.dashboard.visit import Forbidden, Visit

Action = Callable[[Visit, FormData], Awaitable[Response]]


class FormActions:
    """Carries out the actions of forms; see its subclasses.

    Args:
        pages: renders the next page.
    """

    def __init__(self, pages: DashboardPages) -> None:
        self.pages, self.web = pages, pages.web

    def endpoint(self, action: Action) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint for a form."""

        async def answer(request: Request) -> Response:
            visit = Visit(self.web, self.pages.live, self.pages.jobs, request)
            try:
                return await action(visit, await request.form())
            except DuerowError as error:
                return self.pages.page(visit, failed(error))
            finally:
                if request.method == "POST":
                    self.pages.live.changed()

        return answer

    def back(self, address: str, text: str, tone: str = "good") -> Response:
        """Redirect the browser to a page that says what was done."""
        sign = "&" if "?" in address else "?"
        return RedirectResponse(f"{address}{sign}said={self.pages.flash(text, tone)}", 303)

    def operated(self, visit: Visit) -> str:
        """Return the queue of a form; raise Forbidden if the viewer may not change it."""
        name = visit.queue
        self.require(visit, name)
        return name

    def require(self, visit: Visit, name: str) -> None:
        """Raise Forbidden if the viewer may not change a queue."""
        if not visit.operates(name):
            why = "this dashboard is read-only" if self.web.read_only else "only operators may change it"
            raise Forbidden(f"queue {briefly(name)} was not changed: {why}")
