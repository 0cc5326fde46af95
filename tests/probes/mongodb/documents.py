"""The schema: one document a message, two indexes, and a counter document for ids.

Moments are whole microseconds since 1970 as 64-bit integers. A field that says nothing is absent, never null: so a
partial index leaves out the messages that nobody waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from bson import Int64

from tests.probes.contract import Entry, Record

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

MESSAGES, COUNTERS = "duerow_message", "duerow_counter"

# Moments are at least 0, and every look into the line says so: that lets the server prove that the index suffices.
LINE = {
    "name": "line",
    "key": {"queue": 1, "due_at": 1, "_id": 1},
    "partialFilterExpression": {"due_at": {"$gte": Int64(0)}},
}

# Absent when the message is dead. An upsert by exactly these two fields is what the server retries by itself when
# another one inserts the same key at the same time.
LIVE_KEY = {
    "name": "live_key",
    "key": {"queue": 1, "live_key": 1},
    "unique": True,
    "partialFilterExpression": {"live_key": {"$exists": True}},
}


def new(id: int, entry: Entry, now: datetime) -> dict[str, Any]:
    """A message just pushed."""
    due = micro(entry.due or now)
    named = {} if entry.key is None else {"key": entry.key, "live_key": entry.key}
    return {
        "_id": Int64(id),
        "queue": entry.queue,
        **named,
        "status": "new",
        "due_at": due,
        "first_due_at": due,
        "attempts": 0,
        "token": Int64(0),
        "payload": entry.payload,
    }


def read(document: Mapping[str, Any]) -> Record:
    """A document as a record."""
    return Record(
        id=int(document["_id"]),
        queue=document["queue"],
        payload=document["payload"],
        key=document.get("key"),
        status=document["status"],
        due_at=_moment(document.get("due_at")),
        first_due_at=moment(document["first_due_at"]),
        attempts=document["attempts"],
        token=int(document["token"]),
        leased_by=document.get("leased_by"),
        leased_until=_moment(document.get("leased_until")),
        last_error=document.get("last_error"),
    )


def state(record: Record) -> dict[str, Any]:
    """The update that makes a stored message what the record says."""
    live = record.key if record.status in ("new", "error") else None
    fields = {
        "queue": record.queue,
        "live_key": live,
        "status": record.status,
        "due_at": record.due_at and micro(record.due_at),
        "first_due_at": micro(record.first_due_at),
        "attempts": record.attempts,
        "token": Int64(record.token),
        "payload": record.payload,
        "leased_by": record.leased_by,
        "leased_until": record.leased_until and micro(record.leased_until),
        "last_error": record.last_error,
    }
    said = {name: value for name, value in fields.items() if value is not None}
    return {"$set": said, "$unset": dict.fromkeys(fields.keys() - said.keys(), "")}


def micro(when: datetime) -> Int64:
    """A moment as it is stored."""
    return Int64((when - EPOCH) // MICROSECOND)


def moment(stored: int) -> datetime:
    """A stored moment."""
    return EPOCH + stored * MICROSECOND


def _moment(stored: int | None) -> datetime | None:
    return None if stored is None else moment(stored)
