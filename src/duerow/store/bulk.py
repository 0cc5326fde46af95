"""Lending, publishing and receiving in batches: the values of work on many messages at once."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from duerow.reservation import Receipt
from duerow.store.reads import HistoryRow
from duerow.store.writes import GivenUp, Record


class Lease(msgspec.Struct, frozen=True, gc=False):
    """The result of `lend`, without the messages themselves.

    Attributes:
        receipts: of the messages lent, in the order of their ids.
        groups: the group of each message that has one, by the message's id; the turn that ends it names the group.
        buried: the messages that were buried instead.
    """

    receipts: list[Receipt]
    groups: dict[int, str]
    buried: list[GivenUp] = []


class MessageHeader(msgspec.Struct, frozen=True, gc=False):
    """A lent message without its payload: what it takes along when it moves; fields as in `Record`."""

    id: int
    key: str | None
    headers: str | None
    group: str | None
    priority: int


class Published(msgspec.Struct, frozen=True, gc=False):
    """The result of publishing a batch.

    Attributes:
        repeated: the batch's name was recorded before, so nothing happened.
        entries: how many entries were pushed, including those whose key was taken.
    """

    repeated: bool
    entries: int


REFUSED: Final = "/refused"
"""The suffix of an arrival's name in the note that it was refused for good."""


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """A message or turn that comes from another database, once.

    Attributes:
        name: the name that records its arrival, so that it arrives only once.
        what: a message, or a finished turn, as it was in the other database, with its queue in this database; None:
            only the name is recorded.
    """

    name: str
    what: Record | HistoryRow | None


Reception = Literal["arrived", "before", "refused"]
"""The result of an arrival: it is here now, it came before, or a live message has its key."""
