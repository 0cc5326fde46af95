"""Receipts for programs: opaque texts from which reservations are restored when they are settled."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from duerow.aio.queue import Queue
from duerow.aio.reservation import Reservation
from duerow.payload.encoding import sealed_of
from duerow.queue import mapping
from duerow.reservation import Receipt
from duerow.store import Query
from duerow.web.refusals import Refusal


class Ticket(NamedTuple):
    """The data in a receipt.

    Attributes:
        text: the text that the program has.
        receipt: id and token, which fence every write.
        due_at: the due time that the message had while it waited, which a release restores.
    """

    text: str
    receipt: Receipt
    due_at: datetime | None


def ticket(reservation: Reservation[Any]) -> str:
    """Return the receipt of a reservation as text."""
    due_at = reservation.message.due_at
    fields = [reservation.receipt.id, reservation.receipt.token, None if due_at is None else due_at.isoformat()]
    return packed(msgspec.json.encode(fields))


def ticket_of(text: str) -> Ticket:
    """Return the data in a receipt's text; raise Refusal if it is invalid."""
    try:
        id_, token, due = msgspec.json.decode(unpacked(text), type=tuple[int, int, str | None])
        due_at = None if due is None else datetime.fromisoformat(due)
        if not all(-(1 << 63) <= one < 1 << 63 for one in (id_, token)) or (due_at and due_at.utcoffset() is None):
            raise ValueError
    except (ValueError, msgspec.DecodeError, RecursionError):
        raise Refusal(422, "invalid-receipt", "pass a receipt exactly as it came with the reservation") from None
    return Ticket(text, Receipt(id_, token), due_at)


async def reserved(queue: Queue[Any], tickets: Iterable[Ticket]) -> list[Reservation[Any]]:
    """Return the reservations that are still held by these tickets.

    Messages that were taken over, changed, removed or settled in the meantime are left out. Messages of other queues
    are left out too, because two queues may use the same ids.
    """
    wanted = {one.receipt: one for one in tickets}
    if not wanted:
        return []
    query = Query(queue.name, ids=tuple({one.id for one in wanted}), by_id=True, limit=len(wanted))
    store = queue.database.store
    held: list[Reservation[Any]] = []
    for record in await queue.database.run(lambda: store.messages.find(query)):
        place = wanted.get(Receipt(record.id, record.token))
        if place is not None and record.leased_until is not None:
            message = msgspec.structs.replace(mapping.readable(record, queue.payloads), due_at=place.due_at)
            held.append(Reservation(message, record.leased_until, queue, sealed=sealed_of(record)))
    return held


def packed(data: bytes) -> str:
    """Return data as text for URLs."""
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def unpacked(text: str) -> bytes:
    """Return the data of a text; raise ValueError if it is invalid."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
