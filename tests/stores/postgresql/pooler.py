"""A pooler in transaction mode as its clients see it: what servers say between two transactions reaches nobody."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import make_url

from duerow.testing.proxy import Link, Proxy

NOTIFICATION = b"A"


class Pooler(Proxy):
    """Hands on all messages of the server but notifications."""

    def answer(self, link: Link) -> None:
        read = link.far.makefile("rb")
        while len(head := read.read(5)) == 5:
            body = read.read(struct.unpack("!I", head[1:])[0] - 4)
            if head[:1] != NOTIFICATION:
                self.pass_on(link, head + body, link.near)


@contextmanager
def pooler(url: str) -> Iterator[str]:
    """Listen on a port of this machine, and hand everything to the server of a URL; yield the URL to use instead."""
    server = make_url(url)
    assert server.host is not None
    assert server.port is not None
    proxy = Pooler(server.host, server.port)
    try:
        there = server.set(host="127.0.0.1", port=proxy.port).update_query_dict({"sslmode": "disable"})
        yield there.render_as_string(False)
    finally:
        proxy.close()
