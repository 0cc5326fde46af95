"""What MariaDB reads: one short function per statement, values apart from the text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.probes.contract import Entry, Receipt, Record

# Everything but the payload, which only those who hand it out need to read.
STATE = "id, queue, message_key, status, due_at, first_due_at, attempts, token, leased_by, leased_until, last_error"
NOW = "COALESCE(CAST(%(clock)s AS DATETIME(6)), UTC_TIMESTAMP(6))"


@dataclass(frozen=True)
class Statement:
    """A step: text and its values."""

    text: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """A step's answer: its rows, by name. Counts are left out on purpose: they depend on the connection's flags."""

    rows: list[dict[str, Any]]


def next_ids(n: int) -> Statement:
    """Take n ids in one round trip; a sequence belongs to no transaction, so nobody waits for it."""
    return Statement(f"SELECT NEXTVAL(duerow_message_id) AS id FROM seq_1_to_{n:d}")


def create_or_lock(rows: Sequence[tuple[int, Entry]], clock: datetime | None) -> Statement:
    """Insert messages under the ids given; where a key is live, lock its message and leave it as it is.

    Answers one row for each that was given, in that order: the id tells the created from the met.
    """
    values: dict[str, Any] = {"clock": naive(clock)}
    places = []
    for number, (id, entry) in enumerate(rows):
        due = f"COALESCE(%(due{number})s, {NOW})"
        places.append(
            f"(%(id{number})s, %(queue{number})s, %(key{number})s, 'new', {due}, {due}, 0, 0, %(payload{number})s)"
        )
        values |= {
            f"id{number}": id,
            f"queue{number}": entry.queue.encode(),
            f"key{number}": entry.key and entry.key.encode(),
            f"due{number}": naive(entry.due),
            f"payload{number}": entry.payload,
        }
    return Statement(
        "INSERT INTO duerow_message (id, queue, message_key, status, due_at, first_due_at, attempts, token, payload)"
        f" VALUES {', '.join(places)} ON DUPLICATE KEY UPDATE id = duerow_message.id"
        f" RETURNING {STATE}, payload, {NOW} AS now",
        values,
    )


def next_in_line(queue: str, limit: int, clock: datetime | None) -> Statement:
    """The oldest due rows, locked, without those that another consumer has locked."""
    return Statement(
        f"SELECT {STATE}, payload, {NOW} AS now FROM duerow_message"
        f" WHERE queue = %(queue)s AND due_at <= {NOW}"
        " ORDER BY due_at, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED",
        {"queue": queue.encode(), "limit": limit, "clock": naive(clock)},
    )


def lock(receipts: Sequence[Receipt], clock: datetime | None, payloads: bool = False) -> Statement:
    """The rows of these receipts, whoever has them by now, locked in the order of their ids."""
    ids, values = _list("id", sorted(receipt.id for receipt in receipts))
    payload = "payload" if payloads else "'' AS payload"
    return Statement(
        f"SELECT {STATE}, {payload}, {NOW} AS now FROM duerow_message WHERE id IN ({ids}) ORDER BY id FOR UPDATE",
        values | {"clock": naive(clock)},
    )


def lock_keys(wanted: Sequence[tuple[str, str]]) -> Statement:
    """The live messages that hold these (queue, key) pairs, locked in the order of the index."""
    pairs: list[str] = []
    values: dict[str, Any] = {}
    for number, (queue, key) in enumerate(sorted(wanted)):
        pairs.append(f"(%(queue{number})s, %(key{number})s)")
        values |= {f"queue{number}": queue.encode(), f"key{number}": key.encode()}
    return Statement(
        f"SELECT {STATE}, payload FROM duerow_message FORCE INDEX (live_key)"
        f" WHERE (queue, live_key) IN ({', '.join(pairs)}) ORDER BY queue, live_key FOR UPDATE",
        values,
    )


def write(states: Sequence[tuple[Record, str | None]]) -> Statement:
    """Write locked rows as they are to be, one after the other as given; without a payload it stays.

    One document carries all rows, so that the statement has one text whatever is written.
    """
    return Statement(
        "UPDATE JSON_TABLE(%(states)s, '$[*]' COLUMNS ("
        " id BIGINT PATH '$.id', queue VARCHAR(100) PATH '$.queue', status VARCHAR(5) PATH '$.status',"
        " due_at DATETIME(6) PATH '$.due_at', first_due_at DATETIME(6) PATH '$.first_due_at',"
        " attempts INT PATH '$.attempts', token BIGINT PATH '$.token', leased_by VARCHAR(255) PATH '$.leased_by',"
        " leased_until DATETIME(6) PATH '$.leased_until', last_error LONGTEXT PATH '$.last_error',"
        " payload LONGTEXT PATH '$.payload')) AS state"
        " STRAIGHT_JOIN duerow_message AS message ON message.id = state.id"
        " SET message.queue = state.queue, message.status = state.status, message.due_at = state.due_at,"
        " message.first_due_at = state.first_due_at, message.attempts = state.attempts, message.token = state.token,"
        " message.leased_by = state.leased_by, message.leased_until = state.leased_until,"
        " message.last_error = state.last_error, message.payload = COALESCE(state.payload, message.payload)",
        {"states": json.dumps([_as_json(record, payload) for record, payload in states], ensure_ascii=False)},
    )


def delete(ids: Sequence[int]) -> Statement:
    """Take rows out by primary key."""
    places, values = _list("id", sorted(ids))
    return Statement(f"DELETE FROM duerow_message WHERE id IN ({places})", values)


def all_of(queue: str) -> Statement:
    """Every message of a queue, by id."""
    return Statement(
        f"SELECT {STATE}, payload FROM duerow_message WHERE queue = %(queue)s ORDER BY id",
        {"queue": queue.encode()},
    )


def naive(moment: datetime | None) -> datetime | None:
    """UTC without saying so, as DATETIME keeps it."""
    return moment and moment.replace(tzinfo=None)


def _list(name: str, values: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    named = {f"{name}{number}": value for number, value in enumerate(values)}
    return ", ".join(f"%({each})s" for each in named), named


def _as_json(record: Record, payload: str | None) -> dict[str, Any]:
    return {
        "id": record.id,
        "queue": record.queue,
        "status": record.status,
        "due_at": _text(record.due_at),
        "first_due_at": _text(record.first_due_at),
        "attempts": record.attempts,
        "token": record.token,
        "leased_by": record.leased_by,
        "leased_until": _text(record.leased_until),
        "last_error": record.last_error,
        "payload": payload,
    }


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S.%f")
