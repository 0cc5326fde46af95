"""The HTTP API as a separate application, with its description."""

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
The queues of a database, for programs in any language. A consumer reserves messages, handles them, and settles each one
with its receipt: `commit` if it is done, `rollback` if it failed, `release` if it was not started. If the lease of a
message ends before the message is settled, it is handed out again, and the old receipt is refused.
"""


def api() -> FastAPI:
    """Return the application; the guard in front of it provides the database."""
    app = FastAPI(
        title="duerow",
        version=VERSION,
        description=DESCRIPTION,
        dependencies=[Security(HTTPBearer(auto_error=False, description="The token of an account."))],
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
