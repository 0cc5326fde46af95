"""Tables of a user's own, with queue states."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Engine, String, create_engine, event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duerow.entity import QueueState, queue_state


class Base(DeclarativeBase):
    """What the models of these tests share."""


class Mail(Base):
    """A row with two queues; all else stands for whatever a user keeps."""

    __tablename__ = "mail"
    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str | None] = mapped_column(String(255))
    payload: Mapped[Any] = mapped_column(JSON)
    headers: Mapped[Any] = mapped_column(JSON)
    sending: Mapped[QueueState] = queue_state("sending")
    billing: Mapped[QueueState] = queue_state("billing")


class Billing(Base):
    """Another table."""

    __tablename__ = "billing"
    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str | None] = mapped_column(String(255))
    payload: Mapped[Any] = mapped_column(JSON)
    headers: Mapped[Any] = mapped_column(JSON)
    sending: Mapped[QueueState] = queue_state("sending")


MODELS = {"mail": Mail, "billing": Billing}


def engine_of(url: str) -> Engine:
    """Return an engine as a user would make it; the SQLite files of tests need not survive a power failure."""
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def careless(connection: Any, _: Any) -> None:
            connection.execute("PRAGMA synchronous = OFF")

    return engine
