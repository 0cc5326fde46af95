"""The application's own table, whose rows are used as a queue: `{prefix}item`."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duerow.entity import QueueState, queue_state


@cache
def item(prefix: str) -> Any:
    """Return the model of a run's table, whose rows are identified by their `record`.

    Each handler that finishes increments `handled`, in the session that it received.
    """

    class Base(DeclarativeBase):
        """The models of a run."""

    class Item(Base):
        """A row that is also an item of a queue."""

        __tablename__ = f"{prefix}item"
        id: Mapped[int] = mapped_column(primary_key=True)
        record: Mapped[str] = mapped_column(String(60))
        handled: Mapped[int] = mapped_column(default=0)
        working: Mapped[QueueState] = queue_state("working")

    return Item
