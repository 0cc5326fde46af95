"""A deliberately broken store for the processes of a run: everything that the end of a turn pushes is pushed twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from duerow.store import End, Entry
from duerow.store.writes import following
from duerow.stores.sql.plans import settle
from duerow.testing.torture import producer


class Breaking:
    """Starts processes with the broken store, by means of another context of `multiprocessing`.

    Args:
        context: the other context.
        enough: the number of waiting messages from which producers pause.
    """

    def __init__(self, context: Any, enough: int) -> None:
        self._context, self._enough = context, enough
        self.Pipe = context.Pipe

    def Process(self, target: Callable[..., None], args: tuple[Any, ...]) -> Any:
        """Return a process that has not been started."""
        return self._context.Process(target=_be_broken, args=(self._enough, target, *args))


def _be_broken(enough: int, target: Callable[..., None], *args: Any) -> None:
    settle.following = _twice
    producer.ENOUGH = enough
    target(*args)


def _twice(end: End) -> list[Entry]:
    return [*following(end)] * 2
