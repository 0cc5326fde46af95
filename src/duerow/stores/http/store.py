"""The store behind an HTTP API: each operation of the contract is a request."""

from __future__ import annotations

from typing import Any

from duerow.store import Store, missing
from duerow.store.wire.calls import THROUGH_HTTP, About
from duerow.stores.http.plans import (
    HttpCounters,
    HttpHistory,
    HttpMessages,
    HttpMetadata,
    HttpOperations,
    HttpSchema,
)
from duerow.stores.http.requests import Requests


class HttpStore(Store):
    """The queues of a database behind an HTTP API.

    The capabilities of that database are learned from the server when the store is opened.

    Args:
        name: the name of the server in errors.
    """

    def __init__(self, name: str) -> None:
        self.capabilities = THROUGH_HTTP
        requests = Requests(name)
        self.messages = HttpMessages(requests)
        self.operations = HttpOperations(requests)
        self.history = HttpHistory(requests)
        self.metadata = HttpMetadata(requests)
        self.counters = HttpCounters(requests)
        self.schema = HttpSchema(requests, self._learn)

    def _learn(self, about: About) -> None:
        """Adopt the server's description of its store."""
        self.capabilities = about.capabilities()
        for part in THROUGH_HTTP.parts - self.capabilities.parts:
            lacking: Any = missing(part)
            setattr(self, part, lacking)
