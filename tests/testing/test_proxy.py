"""A proxy hands everything on, and cuts, delays or swallows it when it is told to."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from duerow.testing.proxy import Proxy, proxied


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy to a server that sends back what it is sent."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=echo, args=(listening.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    with proxied(*listening.getsockname()[:2]) as proxy:
        yield proxy
    listening.close()


def echo(one: socket.socket) -> None:
    with one:
        while data := one.recv(100):
            one.sendall(data)


def client(proxy: Proxy) -> socket.socket:
    """A client whose connection has come through."""
    there = socket.create_connection(("127.0.0.1", proxy.port), timeout=30)
    there.sendall(b"first")
    assert there.recv(100) == b"first"
    return there


def test_what_is_cut_is_gone_for_the_client_and_new_connections_come_through(proxy: Proxy):
    with client(proxy) as there:
        assert proxy.cut() == 1
        assert there.recv(100) == b""
        assert proxy.links == []
    with client(proxy):
        assert len(proxy.links) == 1


def test_a_slow_connection_hands_everything_on(proxy: Proxy):
    with client(proxy) as there:
        proxy.links[0].delay = 0.001
        there.sendall(b"second")
        assert there.recv(100) == b"second"


def test_a_half_open_connection_answers_nothing_and_stays(proxy: Proxy):
    with client(proxy) as there:
        (link,) = proxy.links
        link.is_deaf = True
        there.sendall(b"second")
        there.settimeout(0.05)
        with pytest.raises(TimeoutError):
            there.recv(100)
        assert proxy.links == [link]


def test_a_server_that_is_away_cuts_its_clients(proxy: Proxy):
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = server.getsockname()[:2]
    with proxied(*gone) as nowhere, socket.create_connection(("127.0.0.1", nowhere.port), timeout=30) as there:
        assert there.recv(100) == b""
