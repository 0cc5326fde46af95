"""The values with which messages are lent, published and received in batches."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from duerow.reservation import Receipt
from duerow.store.reads import HistoryRow
from duerow.store.writes import GivenUp, Record


class Lease(msgspec.Struct, frozen=True, gc=False):
    """The result of `lend`, without the messages themselves.

    Attributes:
        receipts: the receipts of the lent messages, in the order of their ids.
        groups: the group of each message that has one, by the message's id; the message's turn must name it.
        buried: the messages that were buried instead of being lent.
    """

    receipts: list[Receipt]
    groups: dict[int, str]
    buried: list[GivenUp] = []


class MessageHeader(msgspec.Struct, frozen=True, gc=False):
    """A lent message without its payload: what it keeps when it moves; fields as in `Record`."""

    id: int
    key: str | None
    headers: str | None
    group: str | None
    priority: int


class Published(msgspec.Struct, frozen=True, gc=False):
    """The result of publishing a batch.

    Attributes:
        repeated: whether the batch's name was already recorded, so that nothing happened.
        entries: how many entries were pushed, including entries whose key was taken.
    """

    repeated: bool
    entries: int


REFUSED: Final = "/refused"
"""The suffix of an arrival's name in the record that says that it was refused for good."""


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """A message or turn that arrives from another database, only once.

    Attributes:
        name: the name that records its arrival, so that it arrives only once.
        what: a message or finished turn as it was in the other database, but with its queue in this one; None: only the
            name is recorded.
    """

    name: str
    what: Record | HistoryRow | None


Reception = Literal["arrived", "before", "refused"]
"""The result of an arrival: it is stored now, it had already arrived, or a live message has its key."""
