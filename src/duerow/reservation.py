"""The right to work on one message until a time, and the receipt that proves it."""

from __future__ import annotations

from datetime import datetime
from typing import Generic

import msgspec

from duerow.message import Message, P_co
from duerow.payload.codec import Encoded


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """Proves a reservation: it is good as long as the message still carries this token."""

    id: int
    token: int


class _Kept(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a reservation may know beside what it is made of."""

    sealed: Encoded | None = None


class BareReservation(_Kept, Generic[P_co], frozen=True, gc=False):
    """One message, lent to one consumer until a time.

    Attributes:
        message: the message; its `due_at` is the place it had in line.
        until: when the lease ends unless it is extended. Settling later still succeeds if nobody took the message.
        sealed: its payload as it is kept, if it is encrypted: on its way to another queue it is encrypted anew.
    """

    message: Message[P_co]
    until: datetime

    @property
    def receipt(self) -> Receipt:
        """What every later write of this reservation must match."""
        return Receipt(self.message.id, self.message.token)

    @property
    def attempt(self) -> int:
        """The number of this attempt; the first is 1."""
        return self.message.attempts
