# Generated from ../aio/own_messages.py by tools/generate_sync.py; edit that file instead.
"""Keyed messages in queues that duerow keeps for itself, such as limits, charts and progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from duerow.message import LIVE, Message, OnDuplicate
from duerow.payload.encoding import AnyKind, Payloads
from duerow.queue import mapping
from duerow.queue.beside import marked
from duerow.store import Entry, Query, Record
from duerow.sync.executor import Executor


class OwnMessages:
    """The keyed messages of one of duerow's own queues.

    Args:
        database: the database that contains the queue.
        queue: its name.
        decoded: decodes a message; by default, an unreadable payload is returned as its stored text.
    """

    def __init__(
        self,
        database: Executor,
        queue: str,
        decoded: Callable[[Record, Payloads], Message] = mapping.readable,
    ) -> None:
        self._database, self._queue, self._decoded = database, queue, decoded
        self._payloads = AnyKind(queue, None, database.encryption)

    def read(self, keys: Iterable[str]) -> dict[str, Any]:
        """Return the payloads of the messages with these keys, by key."""
        wanted = tuple(sorted(set(keys)))
        query = Query(self._queue, keys=wanted, statuses=LIVE, by_id=True, limit=len(wanted))
        records = self._database.run(lambda: self._database.store.messages.find(query))
        return {str(one.key): self._decoded(one, self._payloads).payload for one in records}

    def entry(self, key: str, payload: Any, due: datetime) -> Entry:
        """Return a message, ready to be pushed, that can be found by this key until it is due."""
        return mapping.entry(self._queue, marked(self._queue, payload), key, due, payloads=self._payloads)

    def push(self, entries: Sequence[Entry], on_duplicate: OnDuplicate) -> None:
        """Push messages; `on_duplicate` determines what happens to those whose key is taken."""
        self._database.run(lambda: self._database.store.messages.push(entries, on_duplicate))

    def remove(self, key: str) -> None:
        """Remove the message with this key, if there is one."""
        self._database.run(lambda: self._database.store.operations.remove(self._queue, (), (key,), True))
