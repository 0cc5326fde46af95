"""The right to work on one message until a given time, and the receipt that proves it."""

from __future__ import annotations

from datetime import datetime
from typing import Generic

import msgspec

from duerow.message import Message, P_co
from duerow.payload.codec import Encoded


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """Proof of a reservation: valid as long as the message still has this token."""

    id: int
    token: int


class _Kept(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Optional fields of a reservation."""

    sealed: Encoded | None = None


class BareReservation(_Kept, Generic[P_co], frozen=True, gc=False):
    """One message, leased to one consumer until a given time.

    Attributes:
        message: the message; its `due_at` is the due time that it had while it waited.
        until: when the lease ends unless it is extended. Settling later still succeeds if nobody took the message.
        sealed: its payload as stored, if it is encrypted; a move to another queue encrypts it again.
    """

    message: Message[P_co]
    until: datetime

    @property
    def receipt(self) -> Receipt:
        """The receipt that every later write for this reservation must match."""
        return Receipt(self.message.id, self.message.token)

    @property
    def attempt(self) -> int:
        """The number of this attempt; the first is 1."""
        return self.message.attempts
