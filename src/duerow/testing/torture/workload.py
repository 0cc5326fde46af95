"""What the processes of a run do, by name: so that a run can be told to do only some of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from duerow.errors import ConfigurationError
from duerow.testing.torture import consumer, pipelines, rows

T = TypeVar("T")


@dataclass(frozen=True)
class Workload:
    """Operations that need each other: what is pushed in one of these ways is handled by consumers of these kinds.

    Attributes:
        name: stands for all of them.
        pushes: what producers do.
        kinds: what a consumer may be.
        works: what operators do.
        last: the kinds of the consumers that finish what is left when all faults are over.
    """

    name: str
    pushes: tuple[str, ...]
    kinds: tuple[str, ...]
    works: tuple[str, ...]
    last: tuple[str, ...]

    @property
    def operations(self) -> tuple[str, ...]:
        """The names of all."""
        return (*self.pushes, *dict.fromkeys(self.kinds), *self.works)

    def is_complete(self, used: Collection[str]) -> bool:
        """Whether something is pushed and handled."""
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
        only: names of operations, and of whole workloads; empty: all of them.
        has_rows: whether rows of the application's own tables can be a queue in this database.

    Raises:
        ConfigurationError: a name is unknown, or nothing would be both pushed and handled.
    """
    every = [name for one in WORKLOADS for name in (one.name, *one.operations)]
    if unknown := [name for name in only if name not in every]:
        raise ConfigurationError(
            f"a run has no operation called {', '.join(map(repr, unknown))}; it has "
            + "; ".join(f"{one.name} ({', '.join(one.operations)})" for one in WORKLOADS)
        )
    there = [one for one in WORKLOADS if has_rows or one is not ROWS]
    named = [(one, [name for name in one.operations if not only or name in only or one.name in only]) for one in there]
    used = tuple(name for one, names in named if one.is_complete(names) for name in names)
    if not used:
        raise ConfigurationError(
            f"with only {', '.join(only)} nothing would be both pushed and handled; name at least one operation of "
            "producers and one kind of consumers of the same workload: "
            + "; ".join(f"{', '.join(one.pushes)} with {', '.join(dict.fromkeys(one.kinds))}" for one in there)
        )
    return used


def used_workloads(used: Collection[str]) -> list[Workload]:
    """Return the workloads of which these operations are."""
    return [one for one in WORKLOADS if one.is_complete(used)]


def allowed(ways: Mapping[T, int], used: Collection[str]) -> dict[T, int]:
    """Return the methods, with their weights, that are among the operations that a run uses; empty: all are."""
    return {way: weight for way, weight in ways.items() if not used or operation_of(way) in used}


def operation_of(way: object) -> str:
    """Return the name of the operation that a method is."""
    return str(getattr(way, "__name__", way)).replace("_", " ")


def has_operators(used: Iterable[str]) -> bool:
    """Whether operators have anything to do."""
    return any(name in MESSAGES.works for name in used)
