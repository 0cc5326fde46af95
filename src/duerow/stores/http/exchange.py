"""Decides when a request is sent again and what its response means; sends nothing itself."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

import httpx
import msgspec

from duerow.backoff import Delays
from duerow.errors import ConfigurationError, DuerowError, InvalidMessage, StoreUnavailable, shown
from duerow.store.wire.failures import DETAIL, ERROR, failed
from duerow.store.wire.operations import REPEATED, StoreOperation
from duerow.stores.http.site import Site

FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 5.0
"""Seconds to wait before a request is sent again."""

JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"

GATEWAY: Final = frozenset({502, 504})
"""The statuses with which a proxy answers after it may have passed the request on."""

_NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
"""Errors that occur before the first byte of a request is sent."""

_IMPOSSIBLE: Final = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)


class Request(NamedTuple):
    """A step of a plan: an operation and its arguments as JSON."""

    operation: StoreOperation
    body: bytes


class Exchange:
    """The state of a request until it is answered or abandoned.

    Args:
        site: the address to which it is sent.
        request: the operation and its arguments.
    """

    def __init__(self, site: Site, request: Request) -> None:
        self._site, self._operation = site, request.operation
        self._delays = Delays(FIRST_DELAY, LONGEST_DELAY)
        self._left = site.retries
        self._key = None if self._operation.reads else secrets.token_urlsafe(18)
        self._perhaps_done = False

    @property
    def path(self) -> str:
        """The URL's path."""
        return self._operation.name

    @property
    def headers(self) -> dict[str, str]:
        """The headers; those of a repeated request say that the server may already have carried it out."""
        said = {"Content-Type": JSON}
        if self._key is not None:
            said["Idempotency-Key"] = self._key
            if self._perhaps_done:
                said[REPEATED] = "1"
        return said

    def lost(self, error: httpx.HTTPError) -> float:
        """Return the seconds before the unanswered request is sent again; raise if it is not sent again."""
        if isinstance(error, _IMPOSSIBLE):
            raise ConfigurationError(f"cannot reach {self._site.name}: {error}") from error
        if not isinstance(error, _NEVER_SENT):
            self._perhaps_done = self._key is not None
        reason = str(error) or type(error).__name__
        return self._again(f"{self._site.name} did not answer {self._operation.name}: {reason}", None, error)

    def answered(self, response: httpx.Response) -> float | None:
        """Return None if a response is the answer, or the seconds before the request is sent again; raise errors."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code == 200 and kind == JSON:
            return None
        problem = _problem(response) if kind == PROBLEM else None
        if problem is not None and ERROR in problem:
            return self._refused(failed(problem), response)
        said = f": {problem[DETAIL]}" if problem is not None and DETAIL in problem else ""
        return self._without_error(response, said)

    def _refused(self, error: DuerowError, response: httpx.Response) -> float:
        """Raise a store's error, unless it says that nothing happened and another try may help."""
        if not isinstance(error, StoreUnavailable):
            raise error
        if self._perhaps_done:
            error.outcome = "unknown"
        if error.outcome == "unknown" or getattr(error, "waited", False):
            raise error
        return self._again(str(error), response, None)

    def _without_error(self, response: httpx.Response, said: str) -> float:
        """Interpret a response without a store's error, from the guard, a proxy, or some other server."""
        status, name = response.status_code, self._site.name
        if status in GATEWAY:
            self._perhaps_done = self._key is not None
        if status in GATEWAY or status in (429, 503):
            return self._again(f"{name} answered {status}{said}", response, None)
        if status == 401:
            token = "refuses this token" if self._site.token is not None else "asks for a token"
            raise ConfigurationError(
                f"{name} {token}: write https://TOKEN@host/path, with the token of an account there"
            )
        if status == 403:
            raise ConfigurationError(f"{name} does not allow {self._operation.name}{said}")
        if status == 413:
            raise InvalidMessage(f"{name} does not accept a request as large as this{said}")
        if status in (400, 422):
            raise ConfigurationError(f"{name} does not understand {self._operation.name}{said}")
        if status >= 500:
            raise DuerowError(f"{name} failed at {self._operation.name} with {status}{said}")
        raise ConfigurationError(
            f"{name} has no duerow API that supports {self._operation.name} (HTTP {status}){said}. The URL is the "
            "address of the dashboard, without /api/v1"
        )

    def _again(self, text: str, response: httpx.Response | None, error: Exception | None) -> float:
        """Return the seconds before the request is sent again; raise StoreUnavailable if there are no retries left."""
        if self._left <= 0:
            outcome: Literal["none", "unknown"] = "unknown" if self._perhaps_done else "none"
            raise StoreUnavailable(text, outcome) from error
        self._left -= 1
        wanted = response.headers.get("retry-after", "") if response is not None else ""
        seconds = self._delays.next()
        return min(max(seconds, float(wanted)), LONGEST_DELAY) if wanted.isascii() and wanted.isdigit() else seconds


def read(request: Request, body: bytes, name: str) -> Any:
    """Return the result in a response.

    Raises:
        ConfigurationError: this version does not understand the response.
    """
    try:
        return request.operation.read_answer(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ConfigurationError(
            f"{name} answered {request.operation.name} in a way that this version of duerow does not understand: "
            f"{shown(str(error), 200)}"
        ) from error


def _problem(response: httpx.Response) -> Mapping[str, Any] | None:
    try:
        found = msgspec.json.decode(response.content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None
