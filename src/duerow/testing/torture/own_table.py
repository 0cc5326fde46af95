"""A table of the application's own whose rows are a queue: `{prefix}item`."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duerow.entity import QueueState, queue_state


@cache
def item(prefix: str) -> Any:
    """Return the model of the table of a run; its rows are told apart by their `record`.

    Each handler that finishes raises `handled`, in the session that it was given.
    """

    class Base(DeclarativeBase):
        """The models of one run."""

    class Item(Base):
        """One row, which is also a message."""

        __tablename__ = f"{prefix}item"
        id: Mapped[int] = mapped_column(primary_key=True)
        record: Mapped[str] = mapped_column(String(60))
        handled: Mapped[int] = mapped_column(default=0)
        working: Mapped[QueueState] = queue_state("working")

    return Item
