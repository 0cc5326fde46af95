"""A relay between a client and a PostgreSQL server that counts the statements which the client sends.

It needs nothing from the server, and counts BEGIN and COMMIT too.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

from duerow.testing.proxy import Link, Proxy

SIMPLE_QUERY, EXECUTE = b"Q", b"E"
ENCRYPTION_REQUESTS = {80877103, 80877104}


class CountingProxy(Proxy):
    """Listens on a free port of 127.0.0.1; `statements` grows with every statement that passes."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.statements = 0
        self._counting = threading.Lock()
        super().__init__(parts.hostname or "127.0.0.1", parts.port or 5432)
        login = f"{parts.username}:{parts.password}" if parts.password else f"{parts.username}"
        self.url = urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{self.port}"))

    def ask(self, link: Link) -> None:
        """Hand on what the client sends, message by message."""
        _pass_startup(link.near, link.far)
        while True:
            kind = _read(link.near, 1)
            body = _read_body(link.near)
            if kind in (SIMPLE_QUERY, EXECUTE):
                with self._counting:
                    self.statements += 1
            link.far.sendall(kind + body)


@contextmanager
def counting(url: str) -> Iterator[CountingProxy]:
    """A proxy to the server of the URL for as long as the block runs."""
    proxy = CountingProxy(url)
    try:
        yield proxy
    finally:
        proxy.close()


def _pass_startup(client: socket.socket, server: socket.socket) -> None:
    """Pass on the messages without a type that open a connection; refuse encryption, which could not be counted."""
    while True:
        body = _read_body(client)
        if struct.unpack("!I", body[4:8])[0] not in ENCRYPTION_REQUESTS:
            server.sendall(body)
            return
        client.sendall(b"N")


def _read_body(client: socket.socket) -> bytes:
    length = _read(client, 4)
    return length + _read(client, struct.unpack("!I", length)[0] - 4)


def _read(client: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        piece = client.recv(count - len(received))
        if not piece:
            raise ConnectionResetError("the client is gone")
        received += piece
    return received
