"""Login and logout."""

from __future__ import annotations

from typing import Final

from jinja2 import Environment, PackageLoader, select_autoescape
from limits import parse
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from duerow.web.security.sessions import BrowserSession
from duerow.web.web import LOG, Web

PAGES: Final = Environment(
    loader=PackageLoader("duerow.web.security", "templates"), autoescape=select_autoescape(default=True)
)


class Login:
    """The login page and its form.

    Args:
        web: the state of the web application.
    """

    def __init__(self, web: Web) -> None:
        self._web = web
        self._limiter = web.sessions.logins
        self._rate = parse(web.options.login_rate)

    async def show(self, request: Request) -> Response:
        """Show the page."""
        return self._page(request, request.query_params.get("next", "/"))

    async def login(self, request: Request) -> Response:
        """Start a session if the password is right."""
        form = await request.form()
        name, password, onward = (str(form.get(one, "")) for one in ("name", "password", "next"))
        accounts, address = self._web.options.accounts, request.state.viewer.address
        allowed = [await self._limiter.hit(self._rate, "login", *one) for one in (("from", address), ("as", name))]
        if not all(allowed):
            LOG.warning("too many logins from %s as %r", address, name[:100])
            page = self._page(request, onward, "Too many attempts. Wait a minute.", 429)
            page.headers["Retry-After"] = "60"
            return page
        if accounts is None or not await accounts.verify(name, password):
            LOG.warning("a login from %s as %r failed", address, name[:100])
            return self._page(request, onward, "The name or the password is wrong.", 401)
        account = accounts.get(name)
        session = self._web.sessions.new(name, account.mark if account is not None else "")
        return self._onward(request, onward, session)

    async def logout(self, request: Request) -> Response:
        """End a session."""
        self._web.sessions.end(request.state.session)
        return self._onward(request, "/login", self._web.sessions.new())

    def _page(self, request: Request, onward: str, error: str = "", status: int = 200) -> Response:
        page = PAGES.get_template("login.html").render(
            csrf=request.state.csrf, next=harmless(onward), error=error, action=self._web.url("/login"), web=self._web
        )
        return HTMLResponse(page, status)

    def _onward(self, request: Request, onward: str, session: BrowserSession) -> Response:
        response = RedirectResponse(self._web.url(harmless(onward)), 303)
        response.headers.append("Set-Cookie", self._web.cookie(request, session))
        return response


def harmless(path: str) -> str:
    """Return the path to redirect to; the first page for anything that could lead to another site."""
    plain = path.startswith("/") and not path.startswith("//") and path.isprintable() and "\\" not in path
    return path if plain else "/"


def routes(web: Web) -> list[BaseRoute]:
    """Return the routes for login and logout."""
    login = Login(web)
    return [
        Route("/login", login.show, methods=["GET"]),
        Route("/login", login.login, methods=["POST"]),
        Route("/logout", login.logout, methods=["POST"]),
    ]
