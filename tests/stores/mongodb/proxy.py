"""A way to the server that loses answers when a test says so."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from duerow.testing import proxy


class Proxy(proxy.Proxy):
    """Hands on what it is sent.

    Attributes:
        lost: how many answers were lost.
    """

    def __init__(self, host: str, port: int) -> None:
        self._losing = False
        self._losers: set[proxy.Link] = set()
        self.lost = 0
        super().__init__(host, port)

    def lose_an_answer(self) -> None:
        """Hand the next request on to the server, and break the connection instead of handing its answer back."""
        self._losing = True

    def pass_on(self, link: proxy.Link, data: bytes, target: socket.socket) -> None:
        if target is link.far:
            if self._losing and b"$db" in data and b"hello" not in data:  # what the driver asks for itself
                self._losing = False
                self._losers.add(link)
        elif link in self._losers:
            self.lost += 1
            link.cut()
        super().pass_on(link, data, target)


@contextmanager
def proxied(host: str, port: int) -> Iterator[Proxy]:
    """A proxy for as long as the block runs."""
    proxy = Proxy(host, port)
    try:
        yield proxy
    finally:
        proxy.close()
