# Generated from ../aio/handle.py by tools/generate_sync.py; edit that file instead.
"""A handle for a queue: its name, its settings and its database, which all parts of a queue use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, Generic

from typing_extensions import TypeVar

from duerow.errors import ConfigurationError
from duerow.message import check_queue_name, check_span
from duerow.payload.codec import MAX_PAYLOAD_BYTES
from duerow.payload.encoding import Payloads
from duerow.payload.types import Declared, PayloadTypes, Upgrades
from duerow.queue.definition import check_indexed, check_max_payload_bytes
from duerow.queue.history import check_keeps, keeping
from duerow.queue.mapping import DeadLetter
from duerow.retry import RetryFunction, RetryPolicy, as_policy
from duerow.sync.executor import Executor

P = TypeVar("P", default=Any)
"""The declared type of a queue's payloads; Any if none is declared."""

SHORTEST_LEASE: Final = timedelta(milliseconds=1)


class QueueHandle(Generic[P]):
    """What the parts of a queue share; see `Queue`."""

    def __init__(
        self,
        database: Executor,
        name: str,
        lease: timedelta = timedelta(minutes=1),
        retry: RetryPolicy | RetryFunction | None = None,
        max_payload_bytes: int = MAX_PAYLOAD_BYTES,
        dead_letter: str | None = None,
        payload: type[P] | None = None,
        upgrades: Upgrades | None = None,
        indexed: Mapping[str, type] | None = None,
        history: timedelta | None = None,
        remember_keys: timedelta | None = None,
    ) -> None:
        self.database = database
        self.name = check_queue_name(name)
        self.lease = check_span("lease", lease, SHORTEST_LEASE)
        self.retry = as_policy(retry)
        self.max_payload_bytes = check_max_payload_bytes(max_payload_bytes)
        self.dead_letter = None if dead_letter is None else check_queue_name(dead_letter)
        self.payload, self.upgrades = payload, upgrades
        self.indexed = check_indexed(indexed)
        self.keeping = keeping(history, remember_keys)
        check_keeps(database.store.capabilities, self.keeping)
        self._remembers = remember_keys is not None
        self._store = database.store
        self._payloads = Payloads(self.name, _declared(payload, upgrades), database.encryption)
        if dead_letter is not None:
            database.dead_letters.add(name, dead_letter)

    @property
    def payloads(self) -> Payloads:
        """How the queue's payloads are written and read; for engines."""
        return self._payloads

    def __repr__(self) -> str:
        return f"<Queue {self.name!r}>"

    def _lease(self, lease: timedelta | None) -> timedelta:
        """Return the length of the requested lease; None: the queue's."""
        return self.lease if lease is None else check_span("lease", lease, SHORTEST_LEASE)

    def _dead_letter_now(self) -> DeadLetter | None:
        """Return where messages that have failed for good go, and the current time; None: they stay here."""
        return None if self.dead_letter is None else DeadLetter(self.dead_letter, self.database.host_time())

    @property
    def _history_bytes(self) -> int | None:
        """The maximum size of a payload in the history; None: the queue has no history."""
        return self.max_payload_bytes if self.keeping is not None and self.keeping.history is not None else None


def _declared(payload: type[P] | None, upgrades: Upgrades | None) -> PayloadTypes | None:
    given: object = payload
    if not isinstance(given, type) and isinstance(given, PayloadTypes):
        return given  # those of tasks
    if payload is None:
        if upgrades:
            raise ConfigurationError("upgrades convert old payloads to the declared type: pass payload=… too")
        return None
    return Declared(payload, upgrades)
