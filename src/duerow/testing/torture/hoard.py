"""All connections that a server has left, held for a moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from duerow.testing.torture.access import Access

MOST: Final = 500
"""How many connections are held at most; a server that offers more is spared."""

AT_ONCE: Final = 8
"""How many are opened at the same time: on a busy machine each one waits for its turn."""


class Hoard:
    """Holds all connections that the server has left for this user.

    Args:
        access: opens them.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._held: list[Any] = []

    def __len__(self) -> int:
        """Return how many it holds."""
        return len(self._held)

    def take(self) -> bool:
        """Take what is left; return whether nothing is left then. If the server offers too many, give them back."""
        with ThreadPoolExecutor(AT_ONCE) as opening:
            refused = all(opening.map(lambda _: self._take_until_refused(), range(AT_ONCE)))
        if not refused:
            self.give_back()
        return refused

    def take_one(self) -> None:
        """Take one more if the server has one again."""
        one = self._access.open_connection()
        if one is not None:
            self._held.append(one)

    def give_back(self) -> None:
        """Close all of them."""
        for one in self._held:
            self._access.close_connection(one)
        self._held.clear()

    def _take_until_refused(self) -> bool:
        while len(self._held) < MOST:
            one = self._access.open_connection()
            if one is None:
                return True
            self._held.append(one)
        return False
