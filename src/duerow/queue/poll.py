"""How often consumers look for messages that no push announced."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

POLL_WOKEN: Final = timedelta(seconds=5)
POLL_ALONE: Final = timedelta(seconds=1)


def poll_interval(woken: bool) -> timedelta:
    """Return the longest sleep on an idle queue.

    Args:
        woken: whether pushes wake the consumer; it then polls only in case a wake-up was lost.
    """
    return POLL_WOKEN if woken else POLL_ALONE
