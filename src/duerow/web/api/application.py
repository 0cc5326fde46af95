"""The HTTP API as an application of its own, with its description."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from duerow.errors import DuerowError
from duerow.web.api import directory, messages, operations, problems, reservations, store
from duerow.web.refusals import Refusal

VERSION: Final = "1"
DESCRIPTION: Final = """\
Queues of a database for programs in any language. A consumer reserves messages, works on them, and settles each with
its receipt: `commit` when it is done, `rollback` when it failed, `release` when it was not begun. A message whose lease
ends before it is settled is handed out again, and the old receipt is refused.
"""


def api() -> FastAPI:
    """Return the application; the guard in front of it provides the database."""
    app = FastAPI(
        title="duerow",
        version=VERSION,
        description=DESCRIPTION,
        dependencies=[Security(HTTPBearer(auto_error=False, description="A token of an account."))],
        docs_url=None,  # they load scripts from other hosts
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            Refusal: problems.of_refusal,
            HTTPException: problems.of_http,
            DuerowError: problems.of_duerow,
            RequestValidationError: problems.of_validation,
            Exception: problems.of_fault,
        },
    )
    for part in (operations, reservations, messages, directory, store):
        app.include_router(part.routes)
    return app
