"""What is lent, published and received by the batch: the values of work on many messages as one."""

from __future__ import annotations

from typing import Literal

import msgspec

from duerow.reservation import Receipt
from duerow.store.reads import HistoryRow
from duerow.store.writes import GivenUp, Record


class Lease(msgspec.Struct, frozen=True, gc=False):
    """What a lend lent, without the messages themselves.

    Attributes:
        receipts: of what was lent, in the order of the ids.
        groups: the group of each message that is in one, by its id; the turn that ends it names it.
        buried: what was buried instead.
    """

    receipts: list[Receipt]
    groups: dict[int, str]
    buried: list[GivenUp] = []


class MessageHeader(msgspec.Struct, frozen=True, gc=False):
    """A message that is lent, without its payload: what it takes along when it moves; fields as in `Record`."""

    id: int
    key: str | None
    headers: str | None
    group: str | None
    priority: int


class Published(msgspec.Struct, frozen=True, gc=False):
    """What became of a batch that was published.

    Attributes:
        repeated: its name was noted before, so nothing happened.
        entries: how many entries were pushed; those whose key was taken count too.
    """

    repeated: bool
    entries: int


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """What comes from another database, once.

    Attributes:
        name: what it is noted under, so that it comes once.
        what: a message, or a turn that is over, as the other database had it, with the queue that it is to be in here;
            None: the name alone is noted.
    """

    name: str
    what: Record | HistoryRow | None


Reception = Literal["arrived", "before", "refused"]
"""What became of an arrival: it is here now, it came before, or a live message has its key."""
