"""Numbers of messages, which tell whether they are complete."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

import msgspec

from duerow.store import Tally

CAP: Final = 10_000
"""How far messages are counted, for a condition or for `stats`, unless an exact number is requested."""


class Count(int):
    """A number of messages; printed with a `+` if there may be more.

    Attributes:
        capped: whether counting ended at the cap.
    """

    capped: bool

    def __new__(cls, number: int, capped: bool = False) -> Count:
        """Return the number, together with whether counting ended there."""
        count = super().__new__(cls, number)
        count.capped = capped
        return count

    def __str__(self) -> str:
        return f"{int(self)}+" if self.capped else str(int(self))

    __repr__ = __str__

    def __reduce__(self) -> tuple[type[Count], tuple[int, bool]]:
        """Pickle with both values."""
        return Count, (int(self), self.capped)


class Counts(dict[Any, int]):
    """Numbers of messages by the values of a field.

    Missing values and null are counted under None, and lists and objects under their JSON text. Equal numbers are one
    value, and so are 1 and True, as usual in Python.

    Attributes:
        capped: whether counting ended at the cap, so that the numbers cover only the first messages found.
    """

    capped: bool = False


def counted(tally: Tally, cap: int | None) -> Count:
    """Return the number of messages in a tally, at most the cap."""
    number = sum(count for _, count in tally)
    capped = cap is not None and number > cap
    return Count(cap if capped and cap is not None else number, capped)


def counted_by(tally: Tally, cap: int | None) -> Counts:
    """Return the number of messages in a tally for each value, the most frequent first."""
    found: dict[Hashable, int] = {}
    for value, number in tally:
        name = msgspec.json.encode(value, order="sorted").decode() if isinstance(value, list | dict) else value
        found[name] = found.get(name, 0) + number
    counts = Counts(sorted(found.items(), key=lambda item: -item[1]))
    counts.capped = cap is not None and sum(found.values()) > cap
    return counts
