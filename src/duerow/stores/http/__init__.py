"""Queues in a database behind duerow's HTTP API, opened by http:// and https:// URLs.

`https://TOKEN@queues.example.org/prefix` is the API of an application that is mounted under `/prefix`. The token
belongs to one of its accounts. The options are `timeout` and `retries`, and in Python also `token` and `client`.
"""

from __future__ import annotations

from typing import Any, Final

from duerow.store import Settings
from duerow.stores.http.aio import connections as awaited
from duerow.stores.http.site import site_of
from duerow.stores.http.store import HttpStore
from duerow.stores.http.sync import connections as blocking


class HttpBackend:
    """Opens stores behind an HTTP API; see `duerow.store.Backend`."""

    def open(self, target: Any, settings: Settings) -> tuple[HttpStore, blocking.HttpConnections]:
        """Open a URL for blocking calls."""
        site = site_of(target, settings)
        return HttpStore(site.name), blocking.HttpConnections(site)

    def aopen(self, target: Any, settings: Settings) -> tuple[HttpStore, awaited.HttpConnections]:
        """Open a URL for async calls."""
        site = site_of(target, settings)
        return HttpStore(site.name), awaited.HttpConnections(site)


http: Final = HttpBackend()
"""The entry point of http:// and https:// in the group `duerow.stores`."""
