"""A relay between a client and a PostgreSQL server that counts the statements which the client sends.

It needs nothing from the server, and counts BEGIN and COMMIT too.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

SIMPLE_QUERY, EXECUTE = b"Q", b"E"
ENCRYPTION_REQUESTS = {80877103, 80877104}


class CountingProxy:
    """Listens on a free port of 127.0.0.1; `statements` grows with every statement that passes."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        login = f"{parts.username}:{parts.password}" if parts.password else f"{parts.username}"
        self.url = urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{port}"))
        self.statements = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            for side in (client, server):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._count, args=(client, server), daemon=True).start()
            threading.Thread(target=_relay, args=(server, client), daemon=True).start()

    def _count(self, client: socket.socket, server: socket.socket) -> None:
        try:
            _pass_startup(client, server)
            while True:
                kind = _read(client, 1)
                body = _read_body(client)
                if kind in (SIMPLE_QUERY, EXECUTE):
                    with self._lock:
                        self.statements += 1
                server.sendall(kind + body)
        except OSError:
            _shut(client, server)


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


def _relay(server: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):  # one side is gone; both are shut below
        while piece := server.recv(65536):
            client.sendall(piece)
    _shut(client, server)


def _shut(*sides: socket.socket) -> None:
    for side in sides:
        with suppress(OSError):  # it was shut already
            side.shutdown(socket.SHUT_RDWR)
        side.close()
