"""The operations of a run's processes, by name, so that a run can be limited to some of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from duerow.errors import ConfigurationError
from duerow.testing.torture import consumer, pipelines, rows

T = TypeVar("T")


@dataclass(frozen=True)
class Workload:
    """Operations that need each other: these consumers handle what these operations push.

    Attributes:
        name: the name that stands for all of its operations.
        pushes: the operations of producers.
        kinds: the kinds of consumers.
        works: the operations of operators.
        last: the kinds of the consumers that finish the remaining work after the last fault.
    """

    name: str
    pushes: tuple[str, ...]
    kinds: tuple[str, ...]
    works: tuple[str, ...]
    last: tuple[str, ...]

    @property
    def operations(self) -> tuple[str, ...]:
        """The names of all operations."""
        return (*self.pushes, *dict.fromkeys(self.kinds), *self.works)

    def is_complete(self, used: Collection[str]) -> bool:
        """Whether these operations include one that pushes and one that handles."""
        return any(name in used for name in self.pushes) and any(name in used for name in self.kinds)


MESSAGES: Final = Workload(
    "messages",
    ("push", "push many", "push keyed", "push with a row", "push in transactions that overlap"),
    consumer.MESSAGE_KINDS,
    (
        *("requeue", "redrive", "reprioritise", "reschedule", "edit", "remove", "replay"),
        *("look", "maintain", "pause"),
    ),
    ("ahead", "one by one"),
)
PIPELINES: Final = Workload(
    "pipelines", ("send records", "send records with a row"), pipelines.KINDS, (), (pipelines.BLOCKING,)
)
ROWS: Final = Workload("rows", ("insert rows",), rows.KINDS, (), (rows.AHEAD,))

WORKLOADS: Final = (MESSAGES, PIPELINES, ROWS)


def chosen(only: Collection[str], has_rows: bool = True) -> tuple[str, ...]:
    """Return the operations that a run uses.

    Args:
        only: names of operations or of whole workloads; empty: all operations.
        has_rows: whether the database supports queues in the application's own tables.

    Raises:
        ConfigurationError: a name is unknown, or nothing would be both pushed and handled.
    """
    every = [name for one in WORKLOADS for name in (one.name, *one.operations)]
    if unknown := [name for name in only if name not in every]:
        raise ConfigurationError(
            f"there is no operation called {', '.join(map(repr, unknown))}; choose from "
            + "; ".join(f"{one.name} ({', '.join(one.operations)})" for one in WORKLOADS)
        )
    there = [one for one in WORKLOADS if has_rows or one is not ROWS]
    named = [(one, [name for name in one.operations if not only or name in only or one.name in only]) for one in there]
    used = tuple(name for one, names in named if one.is_complete(names) for name in names)
    if not used:
        raise ConfigurationError(
            f"with only {', '.join(only)}, nothing would be both pushed and handled; name at least one operation of "
            "producers and one kind of consumer from the same workload: "
            + "; ".join(f"{', '.join(one.pushes)} with {', '.join(dict.fromkeys(one.kinds))}" for one in there)
        )
    return used


def used_workloads(used: Collection[str]) -> list[Workload]:
    """Return the workloads to which these operations belong."""
    return [one for one in WORKLOADS if one.is_complete(used)]


def allowed(ways: Mapping[T, int], used: Collection[str]) -> dict[T, int]:
    """Return the methods that a run uses, with their weights; if `used` is empty, all methods."""
    return {way: weight for way, weight in ways.items() if not used or operation_of(way) in used}


def operation_of(way: object) -> str:
    """Return the name of the operation that a method implements."""
    return str(getattr(way, "__name__", way)).replace("_", " ")


def has_operators(used: Iterable[str]) -> bool:
    """Whether operators have anything to do."""
    return any(name in MESSAGES.works for name in used)
