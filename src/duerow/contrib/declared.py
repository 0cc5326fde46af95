"""Queues that a program declares where it is imported, before there is a database to keep them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from duerow.errors import ConfigurationError
from duerow.message import check_queue_name
from duerow.queue.handler import HandledBy, TakesHandler


@dataclass(eq=False)
class DeclaredQueue(TakesHandler):
    """A queue by its name, with its settings and its handler.

    Attributes:
        name: its name.
        settings: its settings, as `Database.queue` takes them.
        handled_by: its handler and the options of its worker; None: it has none.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    handled_by: HandledBy | None = None

    def __post_init__(self) -> None:
        check_queue_name(self.name)


Q = TypeVar("Q", bound=DeclaredQueue)


class DeclaredQueues(Generic[Q]):
    """The queues that a program declares, by their names.

    Args:
        kind: what they are.
    """

    def __init__(self, kind: type[Q]) -> None:
        self._kind = kind
        self._declared: dict[str, Q] = {}

    def queue(self, name: str, **settings: Any) -> Q:
        """Declare a queue; see `Database.queue` for its settings.

        Raises:
            ConfigurationError: it is declared already.
            InvalidMessage: no queue can be called so.
        """
        if name in self._declared:
            raise ConfigurationError(
                f"queue {name!r} is declared twice: declare it once, and import it where else it is needed"
            )
        declared = self._declared[name] = self._kind(name, settings)
        self._declare(declared)
        return declared

    def _declare(self, queue: Q) -> None:
        """Tell a queue whose it is."""
