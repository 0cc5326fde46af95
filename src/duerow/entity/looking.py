"""What is asked of the rows of a queue state, and changed in them, as statements of SQLAlchemy's ORM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import msgspec
from sqlalchemy import (
    ColumnElement,
    Select,
    select,
)
from sqlalchemy.orm import Mapper

from duerow.clock import Clock
from duerow.entity.columns import PARTS, StateTable
from duerow.entity.handling import is_ours
from duerow.message import Message

E = TypeVar("E")

NUMBERS: Final = ("ready", "delayed", "leased", "stopped", "dead")


class Standing(msgspec.Struct, frozen=True):
    """How the queue of a state stands.

    Attributes:
        queue: its name.
        ready: rows that are due; those whose lease has ended among them.
        delayed: those that are not due yet.
        leased: those that a consumer has.
        stopped: those without a due time that are neither done nor dead; new ones that were never scheduled too.
        dead: those given up.
        oldest_due_at: the due time of the row that has been ready longest; None: none is ready.
        next_due_at: when the next row that is not ready will be; None: none will.
        capped: which of the numbers were not counted to their end.
    """

    queue: str
    ready: int
    delayed: int
    leased: int
    stopped: int
    dead: int
    oldest_due_at: datetime | None
    next_due_at: datetime | None
    capped: frozenset[str] = frozenset()

    def shown(self, name: str) -> str:
        """Return one of the numbers as people read it: with a + where it was not counted to its end."""
        return f"{getattr(self, name)}{'+' if name in self.capped else ''}"


class Looking(Generic[E]):
    """The statements of one state.

    Args:
        mapper: that of the model.
        table: where the state is.
        clock: tells the time instead of the database.
    """

    def __init__(self, mapper: Mapper[E], table: StateTable, clock: Clock | None) -> None:
        self._model, self._clock, self._queue = mapper.class_, clock, table.queue
        columns: Any = mapper.local_table.c
        self._id: ColumnElement[Any] = columns[table.id]
        self._of: dict[str, ColumnElement[Any]] = {part: columns[table.column(part)] for part in PARTS}

    # Read.

    def by_ids(self, ids: Sequence[int]) -> Select[Any]:
        """Read rows by their primary keys."""
        return select(self._model).where(self._id.in_(ids))

    def in_line(self, found: Iterable[E], messages: Sequence[Message], key: str) -> dict[int, E]:
        """Return the rows of messages, in their order, that are still those of their turns; by id."""
        by_id = {entity.__mapper__.primary_key_from_instance(entity)[0]: entity for entity in found}  # type: ignore[attr-defined]
        ours = [message.id for message in messages if is_ours(by_id.get(message.id), key, message)]
        return {id: by_id[id] for id in ours}
