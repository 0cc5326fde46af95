# Generated from ../aio/connections.py by tools/generate_sync.py; edit that file instead.
"""Requests to the API, on connections that httpx keeps open and reuses."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import httpx

from duerow.plan import Execute, Transaction
from duerow.stores.http.exchange import Exchange, Request
from duerow.stores.http.limits import refuse_to_begin, refuse_to_join, refuse_transaction
from duerow.stores.http.site import Site
from duerow.stores.http.sync.clients import HttpClients
from duerow.stores.silent_listener import SilentListener


class HttpConnections:
    """The connections to a site of the API.

    Args:
        site: the site.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._clients = HttpClients(site)

    @property
    def place(self) -> Hashable:
        """Return the identity of this API."""
        return self._site.place

    @contextmanager
    def open(self) -> Iterator[Execute]:
        """Lend a function that sends requests, each a separate transaction; see Connections.open."""
        yield self._execute

    def _execute(self, step: Request | Transaction) -> bytes:
        """Send a request until it is answered or abandoned; return the result."""
        if isinstance(step, Transaction):
            refuse_transaction()
        exchange = Exchange(self._site, step)
        while True:
            try:
                client = self._clients.client()
                response = client.post(exchange.path, content=step.body, headers=exchange.headers)
            except httpx.HTTPError as error:
                seconds: float | None = exchange.lost(error)
            else:
                seconds = exchange.answered(response)
            if seconds is None:
                return response.content
            time.sleep(seconds)

    def join(self, within: Any) -> Execute:
        """Refuse: the caller's transaction cannot include the server's database."""
        refuse_to_join(within)

    def begin(self) -> NoReturn:
        """Refuse: there is no connection through which a handler could write."""
        refuse_to_begin()

    def listen(self, queues: Sequence[str]) -> SilentListener:
        """Return a listener that hears nothing: consumers poll every second."""
        return SilentListener()

    def close(self) -> None:
        """Close the connections."""
        self._clients.close()
