"""A simulation as values: who does what, and in which order. Printed, it is a program that does it again."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, Literal

Mode = Literal["ignore", "replace", "earliest", "reject"]

SETS: Final = "sets"
"""The queue that holds the sets of joins."""

COUNT: Final = 2
"""How many parts complete a set."""

DEADLINE: Final = 8.0
"""Seconds after which a set is due, complete or not."""

EVERY: Final = 3.0
"""Seconds between two ticks of the schedule."""


class Value:
    """Something that is written in a script as it is constructed, without what is as usual."""

    def __repr__(self) -> str:
        given = []
        for number, field in enumerate(dataclasses.fields(self)):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value != field.default:
                given.append(repr(value) if number == len(given) else f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass(frozen=True, repr=False)
class Push(Value):
    """Push a message for each of these keys, in one call."""

    queue: str
    keys: tuple[str | None, ...] = (None,)
    group: str | None = None
    priority: int = 0
    delay: float = 0
    mode: Mode = "ignore"
    remembered: bool = False


@dataclass(frozen=True, repr=False)
class Reserve(Value):
    """Reserve messages, and hold them."""

    queue: str
    limit: int = 1
    lease: float = 2
    attempts: int | None = None
    dead_letter: str | None = None


@dataclass(frozen=True, repr=False)
class Pop(Value):
    """Pop messages."""

    queue: str
    limit: int = 1


@dataclass(frozen=True, repr=False)
class Extend(Value):
    """Extend the leases of all messages held."""

    lease: float = 2


@dataclass(frozen=True, repr=False)
class Commit(Value):
    """The message is done, and pushes as many messages into a queue."""

    then: int = 0
    queue: str = "out"


@dataclass(frozen=True, repr=False)
class Rollback(Value):
    """The attempt failed; the message is tried again after a delay."""

    delay: float = 0


@dataclass(frozen=True, repr=False)
class Bury(Value):
    """The message is dead."""


@dataclass(frozen=True, repr=False)
class Release(Value):
    """The message was not begun."""


@dataclass(frozen=True, repr=False)
class Move(Value):
    """The message goes to another queue, with a key or without one; it keeps its group."""

    to: str
    key: str | None = None
    mode: Mode = "ignore"


@dataclass(frozen=True, repr=False)
class Join(Value):
    """The message becomes a part of a set."""

    correlation: str


End = Commit | Rollback | Bury | Release | Move | Join


@dataclass(frozen=True, repr=False)
class Settle(Value):
    """End the turns of the first messages held, in one call; hold them still if it is to be repeated."""

    ends: tuple[End, ...]
    keep: bool = False


@dataclass(frozen=True, repr=False)
class Change(Value):
    """Find a message as operators do, and change it as it was read."""

    queue: str
    place: int
    what: Literal["requeue", "stop", "prioritise", "edit", "delay"]
    even_if_leased: bool = False


@dataclass(frozen=True, repr=False)
class Remove(Value):
    """Remove a message, by its place among those that are found or by its key."""

    queue: str
    which: int | str
    even_if_leased: bool = False


@dataclass(frozen=True, repr=False)
class Set(Value):
    """Pause, resume, drain or open a queue."""

    queue: str
    paused: bool | None = None
    draining: bool | None = None


@dataclass(frozen=True, repr=False)
class Tick(Value):
    """Push what the schedule is due to push, as every worker does."""


@dataclass(frozen=True, repr=False)
class Prune(Value):
    """Delete what was kept for long enough."""


@dataclass(frozen=True, repr=False)
class Together(Value):
    """Do these in one transaction, as a caller does with `within=`, and commit it or roll it back."""

    operations: tuple[Operation, ...]
    commits: bool = True


Operation = Push | Reserve | Pop | Extend | Settle | Change | Remove | Set | Tick | Prune | Together


@dataclass(frozen=True, repr=False)
class Crash(Value):
    """An actor is gone: what it had begun is rolled back."""

    actor: int


@dataclass(frozen=True, repr=False)
class Sleep(Value):
    """Time passes for all."""

    seconds: float


Event = int | Crash | Sleep
"""A step of an actor, by its number, or what happens to it."""


@dataclass(frozen=True)
class Script:
    """A simulation: when its events are over, the actors go on one after the other.

    Attributes:
        place: the name of the store.
        actors: what each actor does.
        events: the order of their steps.
    """

    place: str
    actors: tuple[tuple[Operation, ...], ...]
    events: tuple[Event, ...] = ()

    @property
    def size(self) -> int:
        """How long it is, for comparisons."""
        return len(self.events) + sum(map(len, self.actors)) + len(self.actors)


def program(script: Script, broken: str = "") -> str:
    """Return the source of a program that plays a script, and fails as it did."""
    actors = "".join(_lines(actor, 12) for actor in script.actors)
    return (
        f"# {broken}\n" * bool(broken)
        + "from tests.simulation.script import *\n"
        + "from tests.simulation.world import play\n\n"
        + f"play(\n    Script(\n        {script.place!r},\n        (\n{actors}        ),\n"
        + f"        {_tuple(script.events)},\n    ),\n    tell=print,\n)\n"
    )


def _lines(operations: tuple[Operation, ...], indent: int) -> str:
    """Return what an actor does, each operation on a line."""
    start = " " * indent
    return f"{start}(\n" + "".join(f"{start}    {one!r},\n" for one in operations) + f"{start}),\n"


def _tuple(values: tuple[Any, ...]) -> str:
    return f"({', '.join(map(repr, values))}{',' * (len(values) == 1)})"
