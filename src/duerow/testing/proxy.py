"""A proxy to a server whose connections can be cut, slowed down and left half-open.

with proxied("127.0.0.1", 5432) as proxy:
    duerow.connect(f"postgresql://app@127.0.0.1:{proxy.port}/shop")
    proxy.cut()
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

CHUNK: Final = 1 << 16


@dataclass(eq=False)
class Link:
    """A connection through the proxy.

    Attributes:
        near: the socket of the client.
        far: the socket of the server.
        delay: how many seconds each piece of data takes.
        is_deaf: whether nothing is forwarded although both sides are still connected.
    """

    near: socket.socket
    far: socket.socket
    delay: float = 0.0
    is_deaf: bool = False

    def cut(self) -> None:
        """Close both sides."""
        for side in (self.near, self.far):
            shut(side)

    @property
    def is_open(self) -> bool:
        """Whether the connection is still open."""
        return self.near.fileno() >= 0 and self.far.fileno() >= 0


class Proxy:
    """Forwards all data; subclasses can read the data in `ask`, `answer` and `pass_on`.

    Args:
        host, port: the server's address.

    Attributes:
        port: the port on which it listens on 127.0.0.1.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._links: list[Link] = []
        self._lock = threading.Lock()
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def links(self) -> list[Link]:
        """The open connections."""
        with self._lock:
            self._links = [link for link in self._links if link.is_open]
            return [*self._links]

    def cut(self) -> int:
        """Cut all connections; return how many there were."""
        links = self.links
        for link in links:
            link.cut()
        return len(links)

    def close(self) -> None:
        """Stop accepting connections, and cut all of them."""
        shut(self._listening)  # this also wakes the thread that waits for the next connection
        self.cut()

    def ask(self, link: Link) -> None:
        """Forward what the client sends until one side is gone."""
        self.hand_on(link, link.near, link.far)

    def answer(self, link: Link) -> None:
        """Forward what the server sends until one side is gone."""
        self.hand_on(link, link.far, link.near)

    def hand_on(self, link: Link, source: socket.socket, target: socket.socket) -> None:
        """Forward what one side sends until it is gone."""
        while data := source.recv(CHUNK):
            self.pass_on(link, data, target)

    def pass_on(self, link: Link, data: bytes, target: socket.socket) -> None:
        """Forward a piece of data if the state of the connection allows that."""
        if link.delay:
            time.sleep(link.delay)
        if not link.is_deaf:
            target.sendall(data)

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                near, _ = self._listening.accept()
                try:
                    far = socket.create_connection(self._server)
                except OSError:  # the server is down: the client's connection is cut
                    shut(near)
                    continue
                link = Link(near, far)
                for side in (near, far):
                    side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._links.append(link)
                for carry in (self.ask, self.answer):
                    threading.Thread(target=_carry, args=(carry, link), daemon=True).start()


def _carry(carry: Callable[[Link], None], link: Link) -> None:
    with suppress(OSError):
        carry(link)
    if not link.is_deaf:
        link.cut()


def shut(side: socket.socket) -> None:
    """Close a socket, even if a thread is waiting for it."""
    with suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)
    side.close()


@contextmanager
def proxied(host: str, port: int) -> Iterator[Proxy]:
    """Run a proxy for the duration of a block."""
    proxy = Proxy(host, port)
    try:
        yield proxy
    finally:
        proxy.close()
