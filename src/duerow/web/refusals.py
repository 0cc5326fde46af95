"""Refused requests as problem details (RFC 9457), for programs and for people."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

PROBLEM: Final = "application/problem+json"
KIND: Final = "urn:duerow:problem:"
"""The prefix of all problem types."""


class Refusal(HTTPException):
    """The refusal of a request.

    Args:
        status: the status of the response.
        kind: a word for programs, the end of the problem's type.
        detail: a sentence for people.
        retry_after: the seconds after which to try again.
        more: further members of the problem.
    """

    def __init__(
        self, status: int, kind: str, detail: str, *, retry_after: int | None = None, more: Mapping[str, Any] = {}
    ) -> None:
        super().__init__(status, detail)
        self.status, self.kind, self.retry_after, self.more = status, kind, retry_after, more

    def response(self) -> JSONResponse:
        """Return the response."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse(self.members(), self.status, headers, PROBLEM)

    def members(self) -> dict[str, Any]:
        """Return the members of the problem."""
        return {
            "type": f"{KIND}{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }
