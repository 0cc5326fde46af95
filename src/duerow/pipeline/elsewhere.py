"""Queues in other databases, as targets of stations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from typing import Any, Final, Protocol, runtime_checkable

from duerow.errors import ConfigurationError, InvalidMessage, shown
from duerow.message import check_queue_name, check_span
from duerow.signatures import check_call

UNNAMED: Final = "another database"
"""The name of a database for which none was given."""


@runtime_checkable
class TargetQueue(Protocol):
    """A queue of an open database, such as `duerow.Queue`."""

    @property
    def name(self) -> str:
        """The queue's name."""
        ...

    @property
    def database(self) -> Any:
        """The database that holds the queue."""
        ...


@dataclass(frozen=True)
class Elsewhere:
    """A queue in another database, to which a station sends.

    `to=centre.queue("readings")` is enough if the other database is open whenever the pipeline is defined. An
    `Elsewhere` opens it only when it is needed, so the pipeline can start even while that database is unreachable.

    Until they are in the other database, messages wait in a queue of the same name in this one.

    Args:
        queue: the name of the queue in the other database.
        connect: a function that opens the other database, such as `lambda: duerow.connect(url)`; for `Pipeline.arun`, a
            function that returns the result of `duerow.aio.connect`. The run closes each database that it opened.
        name: the queue in this database in which messages wait; default: the name of the other queue.
        database: the name of the other database in drawings and errors.
        history: how long this database remembers which messages it sent there, and under which names; default: it does
            not remember them.

    Raises:
        ConfigurationError: a name is invalid, or `connect` cannot be called without arguments.
        InvalidMessage: `history` is out of bounds.
    """

    queue: str
    connect: Callable[[], Any]
    _: KW_ONLY
    name: str = ""
    database: str = UNNAMED
    history: timedelta | None = None

    def __post_init__(self) -> None:
        try:
            check_queue_name(self.queue)
            object.__setattr__(self, "name", check_queue_name(self.name or self.queue))
        except InvalidMessage as error:
            raise ConfigurationError(f"a queue in another database: {error}") from error
        if not callable(self.connect):
            raise ConfigurationError(
                f"{self}: connect must be a function that opens the database, such as lambda: duerow.connect(url), not "
                f"{shown(self.connect)}"
            )
        check_call(f"connect of {self}", self.connect)
        name: object = self.database
        if not isinstance(name, str) or not 1 <= len(name) <= 100 or not name.isprintable():
            raise ConfigurationError(f"{self}: database must be 1 to 100 printable characters, not {shown(name)}")
        if self.history is not None:
            check_span("history", self.history)

    def __str__(self) -> str:
        return f"queue {self.queue!r} of {self.database}"

    @property
    def is_borrowed(self) -> bool:
        """Whether its database was already open, and so stays open after the run."""
        return isinstance(self.connect, _Open)


Target = str | Elsewhere | TargetQueue
"""Where a station sends messages: the name of a queue in its own database, or a queue in another database."""


@dataclass(frozen=True)
class _Open:
    """Returns a database that is already open."""

    database: Any

    def __call__(self) -> Any:
        return self.database


def elsewhere(target: object) -> Elsewhere | None:
    """Return a target as a queue in another database; None if it is not one."""
    if isinstance(target, Elsewhere):
        return target
    if not isinstance(target, str) and isinstance(target, TargetQueue) and hasattr(target.database, "connections"):
        return Elsewhere(target.name, _Open(target.database))
    return None


def named(targets: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Elsewhere]]:
    """Return the targets by label, and the queues in other databases by name.

    In the first mapping, each queue in another database is replaced by its name here.
    """
    there = {label: one for label, target in targets.items() if (one := elsewhere(target)) is not None}
    names = {label: there[label].name if label in there else target for label, target in targets.items()}
    return names, by_name(there.values())


def by_name(those: Iterable[Elsewhere]) -> dict[str, Elsewhere]:
    """Return queues in other databases by their names here; raise ConfigurationError if two have the same name."""
    found: dict[str, Elsewhere] = {}
    for one in those:
        if found.setdefault(one.name, one) != one:
            raise ConfigurationError(
                f"messages for {found[one.name]} and for {one} would wait in the same queue {one.name!r}; give one of "
                "them another name: Elsewhere(queue, connect, name=…)"
            )
    return found
