"""Shared by the parts of the store: sending requests, and the queues of the messages seen so far."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock
from typing import Any, Final

from duerow.errors import InvalidMessage
from duerow.plan import Plan
from duerow.store import Record
from duerow.store.wire.calls import StoreCall
from duerow.store.wire.operations import OPERATIONS, encoded
from duerow.stores.http.exchange import Request, read

MOST_PLACES: Final = 100_000
"""The maximum number of messages whose queues are remembered."""


class Requests:
    """Sends requests, and remembers the queue of each message that the server has returned.

    A receipt does not name its message's queue, and the server needs the queue to find the message quickly.

    Args:
        name: the name of the server in errors.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.largest: int | None = None
        self._lock = Lock()
        self._queues: OrderedDict[int, str] = OrderedDict()

    def ask(self, name: str, call: StoreCall) -> Plan[Any]:
        """Return a plan with one request: an operation and its arguments."""
        request = Request(OPERATIONS[name], encoded(call))
        if self.largest is not None and len(request.body) > self.largest:
            raise InvalidMessage(
                f"{name} would send {len(request.body):,} bytes, and {self.name} takes at most {self.largest:,} at "
                "once; send fewer messages at a time, or smaller ones"
            )
        body = yield request
        return read(request, body, self.name)

    def seen(self, records: Iterable[Record]) -> None:
        """Remember the queues of messages."""
        with self._lock:
            for record in records:
                self._queues[record.id] = record.queue
                self._queues.move_to_end(record.id)
            while len(self._queues) > MOST_PLACES:
                self._queues.popitem(last=False)

    def queue_of(self, id: int) -> str | None:
        """Return the queue in which a message was last seen; None if it was never seen, or was forgotten."""
        return self._queues.get(id)
