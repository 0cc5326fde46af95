"""`/healthz` and `/readyz` as routes of an ASGI application."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import DuerowError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from duerow.aio.database import Database

PATIENCE: Final = timedelta(seconds=5)
AGE: Final = timedelta(seconds=1)


class Readiness:
    """Whether a database answers and its tables match this version; it is asked at most once a second.

    Args:
        database: the database.
        patience: how long the database may take to answer.
        age: how old an answer may be before the database is asked again.
    """

    def __init__(self, database: Database, patience: timedelta = PATIENCE, age: timedelta = AGE) -> None:
        self._database, self._patience, self._age = database, patience.total_seconds(), age.total_seconds()
        self._answer, self._at = "not asked yet", float("-inf")
        self._asking = asyncio.Lock()

    async def __call__(self) -> str:
        """Return `ok` or the problem, without details that people may see only after a login."""
        async with self._asking:
            if monotonic() - self._at >= self._age:
                self._answer, self._at = await self._asked(), monotonic()
            return self._answer

    async def _asked(self) -> str:
        try:
            await asyncio.wait_for(self._database.run(self._database.store.schema.check), self._patience)
        except TimeoutError:
            return "the database does not answer in time"
        except DuerowError as error:
            return type(error).__name__  # its text may name hosts and users
        return "ok"


def routes(database: Database) -> list[Any]:
    """Return the routes for Starlette and FastAPI: `app.routes.extend(routes(db))`.

    `/healthz` answers 200 as long as the process answers at all; `/readyz` answers 503 while the database is unusable.

    Args:
        database: a database of `duerow.aio`.
    """
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    readiness = Readiness(database)

    async def healthz(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(request: Request) -> Response:
        status = await readiness()
        return JSONResponse({"status": status}, status_code=200 if status == "ok" else 503)

    return [Route("/healthz", healthz), Route("/readyz", readyz)]
