"""A simulated gateway to a phone company, as slow and unreliable as you like; nothing leaves this machine."""

from __future__ import annotations

import time
from random import Random


class Gateway:
    """Sends text messages.

    Args:
        delay: how many seconds it takes to send a message.
        failures: the share of messages that the gateway refuses, from 0 to 1.
        random: chooses which messages to refuse.

    Attributes:
        sent: how many messages the gateway has accepted.
    """

    def __init__(self, delay: float, failures: float, random: Random) -> None:
        self.delay, self.failures, self.sent = delay, failures, 0
        self._random = random

    def send(self, receiver: str, text: str) -> None:
        """Send a message; raise ConnectionError if the gateway refuses it."""
        time.sleep(self.delay)
        if self._random.random() < self.failures:
            raise ConnectionError(f"the gateway does not answer for {receiver}")
        self.sent += 1
