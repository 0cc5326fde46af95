"""Work that a cancellation must not interrupt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


async def afinish(work: Callable[..., Coroutine[Any, Any, None]], *given: Any) -> None:
    """Await the work until it is done; if cancelled meanwhile, raise the cancellation afterward."""
    task = asyncio.ensure_future(work(*given))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from (None if task.cancelled() else task.exception())
    task.result()


def finish(work: Callable[..., None], *given: Any) -> None:
    """Do the work: nothing cancels a blocking call."""
    work(*given)
