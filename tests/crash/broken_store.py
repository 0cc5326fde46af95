"""A deliberately broken store for the processes of a run: everything that the end of a turn pushes is pushed twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from duerow.store import End, Entry
from duerow.store.writes import following
from duerow.stores.sql.plans import settle


class Breaking:
    """Starts processes with the broken store, by means of another context of `multiprocessing`.

    Args:
        context: the other context.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self.Pipe = context.Pipe

    def Process(self, target: Callable[..., None], args: tuple[Any, ...]) -> Any:
        """Return a process that has not been started."""
        return self._context.Process(target=_be_broken, args=(target, *args))


def _be_broken(target: Callable[..., None], *args: Any) -> None:
    settle.following = _twice
    target(*args)


def _twice(end: End) -> list[Entry]:
    return [*following(end)] * 2
