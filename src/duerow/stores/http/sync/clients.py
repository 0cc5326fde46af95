"""The clients for a site: one for each process."""

from __future__ import annotations

import os
import threading

import httpx

from duerow.stores.http.site import Site


class HttpClients:
    """An httpx.Client that the threads of a process share."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._lock = threading.Lock()
        self._process = 0
        self._client: httpx.Client | None = None

    def client(self) -> httpx.Client:
        """Return this process's client: a child process does not use its parent's connections."""
        if self._client is None or self._process != os.getpid():
            with self._lock:
                if self._client is None or self._process != os.getpid():
                    self._client, self._process = self._site.client(httpx.Client), os.getpid()
        return self._client

    def close(self) -> None:
        """Close the client; a new one is created if needed."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None and self._process == os.getpid():
            client.close()
