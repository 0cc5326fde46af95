"""Tables of a user's own, with queue states."""

from __future__ import annotations

from datetime import date
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import JSON, Dialect, Engine, ForeignKey, String, TypeDecorator, create_engine, event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

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


class ByUuid(Base):
    """Told apart by a UUID."""

    __tablename__ = "by_uuid"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    text: Mapped[str | None] = mapped_column(String(255))
    sending: Mapped[QueueState] = queue_state("sending")


class Lower(TypeDecorator[str]):
    """Text of the user's own kind: in the database it is in capitals."""

    impl = String(30)
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Write it."""
        return value and value.upper()

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """Read it."""
        return value and value.lower()


class ByText(Base):
    """Told apart by text."""

    __tablename__ = "Text & Keys"  # which no queue can be called
    id: Mapped[str] = mapped_column("The Key", Lower, primary_key=True)
    text: Mapped[str | None] = mapped_column(String(255))
    sending: Mapped[QueueState] = queue_state("sending")


class ByThree(Base):
    """Told apart by three columns together."""

    __tablename__ = "by_three"
    tenant: Mapped[UUID] = mapped_column(primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str | None] = mapped_column(String(255))
    sending: Mapped[QueueState] = queue_state("sending")


class Document(Base):
    """The root of an inheritance; each kind of it is a queue of this state's."""

    __tablename__ = "document"
    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(30))
    text: Mapped[str | None] = mapped_column(String(255))
    sending: Mapped[QueueState] = queue_state("sending")
    pages: Mapped[list[Page]] = relationship(lazy="joined", cascade="all, delete-orphan")
    __mapper_args__: ClassVar[Any] = {"polymorphic_on": "kind", "polymorphic_identity": "document"}


class Page(Base):
    """What belongs to a document, and is loaded with it."""

    __tablename__ = "page"
    id: Mapped[int] = mapped_column(primary_key=True)
    document_id: Mapped[int] = mapped_column(ForeignKey("document.id"))


class Letter(Document):
    """In the table of documents, with a state that only letters have."""

    posting: Mapped[QueueState] = queue_state("posting")
    __mapper_args__: ClassVar[Any] = {"polymorphic_identity": "letter"}


class Bill(Document):
    """In a table that is joined with that of documents, with a state there."""

    __tablename__ = "bill"
    id: Mapped[int] = mapped_column(ForeignKey("document.id"), primary_key=True)
    amount: Mapped[int | None]
    collecting: Mapped[QueueState] = queue_state("collecting")
    __mapper_args__: ClassVar[Any] = {"polymorphic_identity": "bill", "polymorphic_load": "inline"}


MODELS = {"mail": Mail, "billing": Billing}


def engine_of(url: str) -> Engine:
    """Return an engine as a user would make it; the SQLite files of tests need not survive a power failure."""
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def careless(connection: Any, _: Any) -> None:
            connection.execute("PRAGMA synchronous = OFF")

    return engine
