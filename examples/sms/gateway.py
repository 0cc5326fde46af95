"""A telephone company's gateway, as slow and as unreliable as you like; nothing leaves this machine."""

from __future__ import annotations

import time
from random import Random


class Gateway:
    """Sends text messages.

    Args:
        delay: seconds that one message takes.
        failures: the share of messages, from 0 to 1, that it refuses.
        random: which ones.

    Attributes:
        sent: how many it took.
    """

    def __init__(self, delay: float, failures: float, random: Random) -> None:
        self.delay, self.failures, self.sent = delay, failures, 0
        self._random = random

    def send(self, receiver: str, text: str) -> None:
        """Send a message; raise ConnectionError if the gateway does not take it."""
        time.sleep(self.delay)
        if self._random.random() < self.failures:
            raise ConnectionError(f"the gateway does not answer for {receiver}")
        self.sent += 1
