"""A way to the server that loses answers when a test says so."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Proxy:
    """Hands on what it is sent.

    Args:
        host, port: of the server.

    Attributes:
        lost: how many answers were lost.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._losing = False
        self._ends: list[socket.socket] = []
        self.lost = 0
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_an_answer(self) -> None:
        """Hand the next request on to the server, and break the connection instead of handing its answer back."""
        self._losing = True

    def close(self) -> None:
        """Let nobody in any more, and break every connection."""
        _break(self._listening)  # which also wakes whoever waits for the next one
        for end in self._ends:
            _break(end)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(self._target)
                self._ends += near, far
                asked = threading.Event()
                threading.Thread(target=self._ask, args=(near, far, asked), daemon=True).start()
                threading.Thread(target=self._answer, args=(near, far, asked), daemon=True).start()

    def _ask(self, near: socket.socket, far: socket.socket, losing: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while request := near.recv(1 << 20):
                if self._losing and b"$db" in request and b"hello" not in request:  # what the driver asks for itself
                    self._losing = False
                    losing.set()
                far.sendall(request)
        _break(far)

    def _answer(self, near: socket.socket, far: socket.socket, losing: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while answer := far.recv(1 << 20):
                if losing.is_set():
                    self.lost += 1
                    break
                near.sendall(answer)
        _break(near)


def _break(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def proxied(host: str, port: int) -> Iterator[Proxy]:
    """A proxy for as long as the block runs."""
    proxy = Proxy(host, port)
    try:
        yield proxy
    finally:
        proxy.close()
