"""The ways in which a worker works on rows, and handlers of one row that serve in all of them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from duerow import fixed, limited

Handler = Callable[..., Coroutine[Any, Any, Any]]
AT_ONCE = limited(2, fixed(timedelta(0)))
MODES: dict[str, dict[str, Any]] = {
    "one by one": {"batch": 1},
    "at least once": {"batch": 10, "concurrency": 2},
    "transactional": {"transactional": True},
    "batch": {"whole_batch": True, "batch": 10},
}


def of_each(handler: Handler, mode: str) -> Handler:
    """Return the handler of one row as the mode takes it; of a batch each row has an outcome of its own."""
    if mode != "batch":
        return handler

    async def handle_all(rows: list[Any], session: Any) -> list[Any]:
        outcomes = []
        for row in rows:
            try:
                outcomes.append(await handler(row, session))
            except Exception as error:
                outcomes.append(error)
        return outcomes

    return handle_all
