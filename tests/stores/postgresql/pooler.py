"""A pooler in transaction mode as its clients see it: what servers say between two transactions reaches nobody."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy.engine import make_url

NOTIFICATION = b"A"


@contextmanager
def pooler(url: str) -> Iterator[str]:
    """Listen on a port of this machine, and hand everything to the server of a URL; yield the URL to use instead."""
    server = make_url(url)
    listening = socket.create_server(("127.0.0.1", 0))
    opened: list[socket.socket] = [listening]

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                behind = socket.create_connection((server.host, server.port))
                opened.extend((client, behind))
                threading.Thread(target=_forward, args=(client, behind), daemon=True).start()
                threading.Thread(target=_answer, args=(behind, client), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        port = listening.getsockname()[1]
        yield server.set(host="127.0.0.1", port=port).update_query_dict({"sslmode": "disable"}).render_as_string(False)
    finally:
        for one in opened:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def _forward(client: socket.socket, server: socket.socket) -> None:
    with suppress(OSError):
        while some := client.recv(65_536):
            server.sendall(some)
        server.shutdown(socket.SHUT_WR)


def _answer(server: socket.socket, client: socket.socket) -> None:
    """Hand on all messages of the server but notifications."""
    read = server.makefile("rb")
    with suppress(OSError):
        while len(head := read.read(5)) == 5:
            body = read.read(struct.unpack("!I", head[1:])[0] - 4)
            if head[:1] != NOTIFICATION:
                client.sendall(head + body)
        client.shutdown(socket.SHUT_WR)
