"""What the plans of this store yield: commands as the server documents them, and two things that are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from duerow.plan import Plan

Document = Mapping[str, Any]

DUPLICATE_KEY: Final = 11000


@dataclass(frozen=True)
class Command:
    """A command, without session, write concern and database, which the connection adds.

    Attributes:
        document: the command; its first field is its name.
        rows: the answer is a cursor: all of its documents are wanted, in one list.
        outside: never part of a transaction, whoever's it is.
        taken: a unique index may refuse single writes; the answer then says so in `writeErrors`. Without it that is a
            Conflict, since inside a transaction it has ended the transaction.
        bounded: whether it is a read for people, which may take no longer than `read_timeout` allows.
    """

    document: Document
    rows: bool = False
    outside: bool = False
    taken: bool = False
    bounded: bool = False

    @property
    def name(self) -> str:
        """Return the command's name."""
        return next(iter(self.document))

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return self.name in WRITES


WRITES: Final = frozenset({"insert", "update", "delete", "findAndModify", "createIndexes", "dropIndexes", "create"})


@dataclass(frozen=True)
class Together:
    """A step that is a plan of its own: all of it happens, or none; answered with its result.

    Inside a transaction it is a part of that one. A Conflict is raised in the plan that yields it.
    """

    plan: Callable[[], Plan[Any]]


class Question(Enum):
    """A step that asks the connection, not the server."""

    INSIDE = "inside"


INSIDE: Final = Question.INSIDE
"""Whether the plan runs in a transaction."""
