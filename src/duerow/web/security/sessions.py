"""Sessions: signed cookies that name the user, and the form tokens (CSRF) that belong to them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import timedelta
from http.cookies import SimpleCookie
from typing import Any, Final

import msgspec
from itsdangerous import BadData, URLSafeTimedSerializer
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter
from starlette.requests import Request

COOKIE: Final = "duerow_session"

MOST_ENDED: Final = 10_000
"""How many ended sessions are remembered."""


class BrowserSession(msgspec.Struct, frozen=True):
    """The contents of a session cookie.

    Attributes:
        id: a random id, to which form tokens are bound.
        user: the account that logged in; empty if none has.
        mark: the mark of the account's password at login.
    """

    id: str
    user: str = ""
    mark: str = ""


class Sessions:
    """Signs sessions and reads them back. Applications that share this object share their logins.

    Attributes:
        logins: counts login attempts.

    Args:
        secret: the secret that signs them.
        lasting: how long a session lasts after login.
    """

    def __init__(self, secret: str, lasting: timedelta) -> None:
        self._secret = secret.encode()
        self._serializer = URLSafeTimedSerializer(secret, salt="duerow.session")
        self._lasting = lasting
        self._ended: dict[str, None] = {}
        self.logins = MovingWindowRateLimiter(MemoryStorage())

    def new(self, user: str = "", mark: str = "") -> BrowserSession:
        """Return a new session: a login never continues an earlier session."""
        return BrowserSession(secrets.token_urlsafe(18), user, mark)

    def read(self, request: Request) -> BrowserSession | None:
        """Return the session of a request; None if there is none, or if it is forged, expired or ended."""
        try:
            said: Any = self._serializer.loads(
                request.cookies.get(COOKIE, ""), max_age=int(self._lasting.total_seconds())
            )
            session = msgspec.convert(said, BrowserSession)
        except (BadData, msgspec.ValidationError):
            return None
        return None if session.id in self._ended else session

    def end(self, session: BrowserSession) -> None:
        """End a session: it is no longer accepted."""
        self._ended[session.id] = None
        while len(self._ended) > MOST_ENDED:
            del self._ended[next(iter(self._ended))]

    def cookie(self, session: BrowserSession, path: str, secure: bool) -> str:
        """Return the session cookie as the value of a header: hidden from scripts, not sent with other sites' forms."""
        cookie = SimpleCookie({COOKIE: str(self._serializer.dumps(msgspec.to_builtins(session)))})
        morsel = cookie[COOKIE]
        morsel["path"], morsel["httponly"], morsel["samesite"] = path, True, "Lax"
        if secure:
            morsel["secure"] = True
        return morsel.OutputString()

    def form_token(self, session: BrowserSession, viewer: str) -> str:
        """Return a form token of this session: a new one each time, so that compression reveals none."""
        nonce = secrets.token_urlsafe(9)
        return f"{nonce}.{self._proof(nonce, session, viewer)}"

    def is_form_token(self, token: str, session: BrowserSession, viewer: str) -> bool:
        """Return whether a token belongs to this session."""
        nonce, _, proof = token.partition(".")
        return hmac.compare_digest(proof.encode(), self._proof(nonce, session, viewer).encode())

    def _proof(self, nonce: str, session: BrowserSession, viewer: str) -> str:
        said = "\0".join(("duerow.form", nonce, session.id, viewer))
        return hmac.new(self._secret, said.encode(), hashlib.sha256).hexdigest()
