"""What the plans of this store yield: commands as the server documents them, `Together` and `Question`."""

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
    """A command; the connection adds session, write concern and database.

    Attributes:
        document: the command; its first field is its name.
        rows: whether the answer is a cursor, whose documents are returned in one list.
        outside: whether it is never part of a transaction.
        taken: whether a unique index may refuse single writes, which the answer reports in `writeErrors`. Otherwise
            that is a Conflict, because it ends a transaction.
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
        """Whether it writes."""
        return self.name in WRITES


WRITES: Final = frozenset({"insert", "update", "delete", "findAndModify", "createIndexes", "dropIndexes", "create"})


@dataclass(frozen=True)
class Together:
    """A step that is a plan of its own, run as a whole or not at all; the answer is its result.

    Inside a transaction it is part of that one. A Conflict is raised in the plan that yields it.
    """

    plan: Callable[[], Plan[Any]]


class Question(Enum):
    """A step that asks the connection, not the server."""

    INSIDE = "inside"


INSIDE: Final = Question.INSIDE
"""Asks whether the plan runs in a transaction."""
