"""The steps that plans of this store yield: the server's commands, `Together` and `Question`."""

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
        outside: whether the command is never part of a transaction.
        taken: whether a unique index may refuse single writes, which the answer then reports in `writeErrors`. If
            false, such a refusal raises Conflict, because it ends a transaction.
        bounded: whether this is a read for people, which may not take longer than `read_timeout`.
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
        """Whether the command writes."""
        return self.name in WRITES


WRITES: Final = frozenset({"insert", "update", "delete", "findAndModify", "createIndexes", "dropIndexes", "create"})


@dataclass(frozen=True)
class Together:
    """A step that runs another plan in one transaction; the answer is that plan's result.

    If a transaction is already open, the inner plan becomes part of it. A Conflict is raised in the outer plan.
    """

    plan: Callable[[], Plan[Any]]


class Question(Enum):
    """A step that asks the connection, not the server."""

    INSIDE = "inside"


INSIDE: Final = Question.INSIDE
"""Asks whether the plan runs in a transaction."""
