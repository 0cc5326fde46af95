"""Takes all of a server's free connections for a moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from duerow.testing.torture.access import Access

MOST: Final = 500
"""The most connections that are held; a server that offers more is spared."""

AT_ONCE: Final = 8
"""How many are opened at the same time: on a busy machine, each one has to wait."""


class Hoard:
    """Holds all of the server's free connections for this user.

    Args:
        access: opens them.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._held: list[Any] = []

    def __len__(self) -> int:
        """Return how many connections it holds."""
        return len(self._held)

    def take(self) -> bool:
        """Take all that are free; return whether none is left. If the server offers too many, give them back."""
        with ThreadPoolExecutor(AT_ONCE) as opening:
            refused = all(opening.map(lambda _: self._take_until_refused(), range(AT_ONCE)))
        if not refused:
            self.give_back()
        return refused

    def take_one(self) -> None:
        """Take one more connection if the server has one again."""
        one = self._access.open_connection()
        if one is not None:
            self._held.append(one)

    def give_back(self) -> None:
        """Close all connections."""
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
