"""The headers of every response: they forbid other hosts, inline scripts and styles, frames and caching."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def with_headers(send: Send, cached: bool, cookie: str | None) -> Send:
    """Return a `send` that adds the headers, and the cookie if there is a new one; `cached` allows caching."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            if not cached:
                headers["Cache-Control"] = "no-store"
            if cookie is not None and not any(
                one.startswith(cookie.partition("=")[0] + "=") for one in headers.getlist("set-cookie")
            ):
                headers.append("Set-Cookie", cookie)
        await send(message)

    return sending
