"""What is lent and published by the batch: the values for engines that work on many messages as one."""

from __future__ import annotations

import msgspec

from duerow.reservation import Receipt


class Lent(msgspec.Struct, frozen=True, gc=False):
    """What a lend lent, without the messages themselves.

    Attributes:
        receipts: of what was lent, in the order of the ids.
        groups: the group of each message that is in one, by its id; the turn that ends it names it.
        buried: how many were buried instead.
    """

    receipts: list[Receipt]
    groups: dict[int, str]
    buried: int


class Outline(msgspec.Struct, frozen=True, gc=False):
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
