"""The raw operations of the store, for duerow's own client: `connect("https://…")` is a store that calls them.

They carry text as the store keeps it, encrypted or not, and turns whose end is already decided: codecs, keys, retry
policies and handlers stay with the client. The server checks the viewer's rights, and whatever a store does not check.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from duerow.errors import DuerowError, StoreUnavailable
from duerow.store.wire import calls
from duerow.store.wire.failures import DETAIL, failure
from duerow.store.wire.operations import OPERATIONS, REPEATED, StoreOperation, encoded
from duerow.web.api import store_values
from duerow.web.api.common import ByViewer, InWeb, OnceKey, router
from duerow.web.api.problems import refusal
from duerow.web.api.store_access import StoreAccess
from duerow.web.api.store_operations import CARRIED_OUT
from duerow.web.refusals import Refusal
from duerow.web.web import LOG

routes = router("store")

JSON: Final = "application/json"

BODY: Final = {
    "required": True,
    "description": "The arguments, named as in the contract of stores.",
    "content": {JSON: {"schema": {"type": "object"}}},
}

Named = StrEnum("Named", {name: name for name in OPERATIONS})  # type: ignore[misc]
"""The operations, by the part of the contract and the method."""


@routes.post("/store/{operation}", response_model=Any, openapi_extra={"requestBody": BODY})
async def carry_out(request: Request, web: InWeb, viewer: ByViewer, operation: Named, key: OnceKey = None) -> Response:
    """Carry out an operation of the store, for duerow's own client in Python, `connect("https://…")`.

    Its format depends on the version of duerow, which `schema.check` returns. Programs in other languages should use
    the other operations.
    """
    try:
        return Response(await _answer(request, StoreAccess(web, viewer), OPERATIONS[operation]), media_type=JSON)
    except DuerowError as error:
        told, members = refusal(error), failure(error)
        if told.status >= 500:
            LOG.warning("%s of %s: %s", operation, viewer.name or viewer.address, error)
        detail = members.pop(DETAIL)
        more = {**told.more, **msgspec.to_builtins(members)}
        raise Refusal(told.status, told.kind, detail, retry_after=told.retry_after, more=more) from error


async def _answer(request: Request, access: StoreAccess, operation: StoreOperation) -> bytes:
    """Check and carry out an operation; return its answer."""
    try:
        call = operation.read_call(await request.body())
    except msgspec.ValidationError as error:
        raise Refusal(422, "invalid-request", f"these are not the arguments of {operation.name}: {error}") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refusal(400, "not-json", f"the body is not JSON: {error}") from error
    store_values.check(call)
    if REPEATED in request.headers and not _may_repeat(operation, call):
        raise StoreUnavailable(
            f"the answer to {operation.name} was lost, and this server has no record of the request: it was restarted, "
            "or another server received it. It may have been carried out",
            outcome="unknown",
        )
    return encoded(await CARRIED_OUT[operation.name](access, call))


def _may_repeat(operation: StoreOperation, call: Any) -> bool:
    """Return whether a call may be carried out twice; a push may if its messages have keys and no duplicate fails."""
    if isinstance(call, calls.PushCall):
        return call.on_duplicate != "reject" and all(entry.key is not None for entry in call.entries)
    return operation.repeats
