"""What the parts of the store share: how they ask, and what they know of messages that they were shown."""

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
"""Of how many messages it is remembered in which queue they are."""


class Requests:
    """Asks a server, and remembers in which queues the messages are that it has shown.

    A receipt does not say where its message is, and the server has to know to find it quickly.

    Args:
        name: what errors call the server.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.largest: int | None = None
        self._lock = Lock()
        self._queues: OrderedDict[int, str] = OrderedDict()

    def ask(self, name: str, call: StoreCall) -> Plan[Any]:
        """Return a plan of one request: an operation with its arguments."""
        request = Request(OPERATIONS[name], encoded(call))
        if self.largest is not None and len(request.body) > self.largest:
            raise InvalidMessage(
                f"{name} would send {len(request.body):,} bytes, and {self.name} takes at most {self.largest:,} at "
                "once; send fewer messages at a time, or smaller ones"
            )
        body = yield request
        return read(request, body, self.name)

    def seen(self, records: Iterable[Record]) -> None:
        """Remember where messages are."""
        with self._lock:
            for record in records:
                self._queues[record.id] = record.queue
                self._queues.move_to_end(record.id)
            while len(self._queues) > MOST_PLACES:
                self._queues.popitem(last=False)

    def queue_of(self, id: int) -> str | None:
        """Return where a message was seen last; None: it was not, or long ago."""
        return self._queues.get(id)
