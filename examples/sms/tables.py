"""The table of text messages; each row is also an item in the queue."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import DateTime, String, Text, func
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duerow.entity import QueueState, queue_state


class Base(DeclarativeBase):
    """The tables of this application."""


class SmsMessage(Base):
    """A text message to be sent."""

    __tablename__ = "sms_message"
    id: Mapped[int] = mapped_column(primary_key=True)
    sender: Mapped[str] = mapped_column(String(100))
    receiver: Mapped[str] = mapped_column(String(30))
    text: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    sending: Mapped[QueueState] = queue_state("sending")
