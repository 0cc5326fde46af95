"""Errors as problem details, worded for users of the HTTP API."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from duerow import errors
from duerow.web.refusals import Refusal
from duerow.web.web import LOG

STATUSES: Final[tuple[tuple[type[errors.DuerowError], int, str], ...]] = (
    (errors.UnknownName, 404, "unknown-name"),
    (errors.InvalidCondition, 422, "invalid-condition"),
    (errors.NotSupported, 501, "not-supported"),
    (errors.ConfigurationError, 422, "invalid-request"),
    (errors.InvalidMessage, 422, "invalid-message"),
    (errors.DuplicateKey, 409, "duplicate-key"),
    (errors.MessageLeased, 409, "message-leased"),
    (errors.NotInProgress, 409, "not-in-progress"),
    (errors.LeaseLost, 409, "lease-lost"),
    (errors.QueueDraining, 409, "queue-draining"),
    (errors.QueryTimeout, 504, "query-timeout"),
    (errors.TimedOut, 504, "timed-out"),
    (errors.InvalidOutcome, 422, "invalid-outcome"),
    (errors.Conflict, 503, "conflict"),
    (errors.StoreUnavailable, 503, "store-unavailable"),
    (errors.DuerowError, 500, "failed"),
)
"""The status and the kind of each error, subclasses first."""


class ApiWords:
    """How errors refer to members and operations in the HTTP API."""

    def argument(self, name: str, value: Any) -> str:
        """Return the name of a member of the request."""
        return f'"{name}"' if value is ... else f'"{name}": {self.value(value)}'

    def value(self, value: Any) -> str:
        """Return a value as JSON."""
        return msgspec.json.encode(value).decode()

    def call(self, name: str) -> str:
        """Return the operation for a method."""
        return f"POST …/{name}"

    def hint(self, python: str, plain: str) -> str:
        """Return the hint without Python code."""
        return plain


def refusal(error: errors.DuerowError) -> Refusal:
    """Return the problem for an error."""
    status, kind = next((status, kind) for one, status, kind in STATUSES if isinstance(error, one))
    more: dict[str, Any] = {}
    if isinstance(error, errors.DuplicateKey):
        more = {"queue": error.queue, "keys": list(error.keys)}
    elif isinstance(error, errors.LeaseLost | errors.MessageLeased):
        more = {"message_id": error.message_id}
    elif isinstance(error, errors.StoreUnavailable):
        more = {"outcome": error.outcome}
    return Refusal(status, kind, error.told(ApiWords()), retry_after=1 if status == 503 else None, more=more)


async def of_duerow(request: Request, error: Exception) -> Response:
    """Respond to an error of duerow."""
    assert isinstance(error, errors.DuerowError)  # noqa: S101 - registered for these
    refused = refusal(error)
    if refused.status >= 500:
        LOG.warning("%s %s: %s", request.method, request.url.path, error)
    return refused.response()


async def of_refusal(request: Request, error: Exception) -> Response:
    """Respond with a refusal."""
    assert isinstance(error, Refusal)  # noqa: S101 - registered for these
    return error.response()


async def of_http(request: Request, error: Exception) -> Response:
    """Respond to an error of the framework, such as an unknown path or method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for these
    if isinstance(error, Refusal):
        return error.response()
    kinds = {404: "no-such-path", 405: "no-such-method", 400: "not-json"}
    response = Refusal(error.status_code, kinds.get(error.status_code, "refused"), str(error.detail)).response()
    response.headers.update(error.headers or {})
    return response


async def of_validation(request: Request, error: Exception) -> Response:
    """Respond to a request with an invalid form, without repeating what was sent."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for these
    wrong = [{"at": "/".join(map(str, one["loc"])), "detail": one["msg"]} for one in error.errors()[:20]]
    first = f"{wrong[0]['at']}: {wrong[0]['detail']}" if wrong else "the request"
    return Refusal(422, "invalid-request", f"the request is invalid: {first}", more={"errors": wrong}).response()


async def of_fault(request: Request, error: Exception) -> Response:
    """Respond to an internal error; only the log has its details."""
    LOG.exception("%s %s failed", request.method, request.url.path, exc_info=error)
    return Refusal(500, "fault", "this is an internal error of the server; its log has the details").response()
