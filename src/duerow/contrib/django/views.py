"""The dashboard as a view for users with the permission, with Django's users and login."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import global_settings, settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import NoReverseMatch, Resolver404, resolve, reverse
from django.views.decorators.csrf import csrf_exempt

from duerow.contrib.bridge import BridgedDashboard, BridgedResponse, scope_of
from duerow.contrib.django.conf import DjangoSettings, django_settings
from duerow.contrib.django.database_urls import url_of
from duerow.contrib.django.viewers import role_of

_DASHBOARDS: dict[tuple[str, DjangoSettings], BridgedDashboard] = {}
"""The dashboards, by the database and the settings of their queues."""

_MAKING = threading.Lock()


def _dashboard(url: str, configured: DjangoSettings) -> BridgedDashboard:
    """Return the dashboard of a database."""
    with _MAKING:
        if (url, configured) not in _DASHBOARDS:
            settings = {
                "prefix": configured.prefix,
                "schema": configured.schema,
                "encryption": configured.sealing(),
                "read_timeout": configured.read_timeout,
            }
            _DASHBOARDS[url, configured] = BridgedDashboard(url, settings, {})
        return _DASHBOARDS[url, configured]


def close_dashboards() -> None:
    """Close the dashboards' connections; the next request opens them again."""
    with _MAKING:
        dashboards = list(_DASHBOARDS.values())
        _DASHBOARDS.clear()
    for one in dashboards:
        one.close()


@csrf_exempt  # the dashboard's forms have their own tokens
def dashboard(request: Any, path: str = "") -> Any:
    """Serve the dashboard; redirect to the login if nobody is logged in, and refuse users without permission."""
    from duerow.web import Viewer, roles_of

    role = role_of(request.user)
    if role is None:
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.get_full_path(), _login_url())
    configured = django_settings()
    scope = scope_of(request.META, request.path.removesuffix(path).rstrip("/"), request.path)
    scope["scheme"] = request.scheme
    scope["duerow.viewer"] = Viewer(request.user.get_username(), roles_of(role))
    response = _dashboard(url_of(configured.database), configured).respond(scope, request.body)
    headers = [(name, value) for name, value in response.headers if name != "content-length"]
    kind = dict(headers).get("content-type")
    if response.streams:
        chunks: Any = _awaited(response) if hasattr(request, "scope") else response.chunks
        answer: Any = StreamingHttpResponse(chunks, status=response.status, content_type=kind)
    else:
        answer = HttpResponse(b"".join(response.chunks), status=response.status, content_type=kind)
    for name, value in headers:
        if name == "set-cookie":
            answer.cookies.load(value)
        elif name != "content-type":
            answer.headers[name] = value
    return answer


def _login_url() -> str | None:
    """Return the admin's login if LOGIN_URL is Django's default and does not exist, as in a new project; else None."""
    if settings.LOGIN_URL != global_settings.LOGIN_URL:
        return None
    try:
        resolve(settings.LOGIN_URL)
    except Resolver404:
        try:
            return str(reverse("admin:login"))
        except NoReverseMatch:  # this project has no admin
            return None
    return None


async def _awaited(response: BridgedResponse) -> AsyncIterator[bytes]:
    """Yield the chunks without blocking the server's loop; Django would read a plain iterator to its end first."""
    following = sync_to_async(lambda: next(response.chunks, None), thread_sensitive=False)
    try:
        while (chunk := await following()) is not None:
            yield chunk
    finally:
        response.leave()  # a thread may still wait for the next chunk
