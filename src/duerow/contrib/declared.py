"""Queues that a program declares when it is imported, before it has a database to keep them in."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
T = TypeVar("T")


class DeclaredQueues(ABC, Generic[Q, T]):
    """The queues and the tasks that a program declares.

    Args:
        kind: the class of the queues.
    """

    def __init__(self, kind: type[Q]) -> None:
        self._kind = kind
        self._declared: dict[str, Q] = {}
        self._tasks: list[T] = []

    def queue(self, name: str, **settings: Any) -> Q:
        """Declare a queue; see `Database.queue` for its settings.

        Raises:
            ConfigurationError: the queue is already declared.
            InvalidMessage: the name is not a valid queue name.
        """
        if name in self._declared:
            raise ConfigurationError(
                f"queue {name!r} is declared twice: declare it once, and import it wherever else it is needed"
            )
        declared = self._declared[name] = self._kind(name, settings)
        self._declare(declared)
        return declared

    def tasks(self, **settings: Any) -> T:
        """Return tasks that belong to these queues, and whose worker runs alongside the handlers.

        In Flask, push them in the application's context: in a request, in a command, or in `with app.app_context():`.

        Args:
            settings: keyword arguments of `duerow.Tasks`: queue, retry, results.
        """
        made = self._make_tasks(settings)
        self._tasks.append(made)
        return made

    @abstractmethod
    def _make_tasks(self, settings: dict[str, Any]) -> T:
        """Return tasks of the API that the framework uses."""

    def _declare(self, queue: Q) -> None:
        """Tell a queue which queues it belongs to."""
