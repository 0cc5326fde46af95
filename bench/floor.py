"""The floor: what a careful engineer would write by hand, as plain SQL, on the table that duerow's migration makes.

Nothing here is duerow's: no key handling, no retry, no codec. The floor knows the table's name and columns, sends
prepared statements with binary parameters, and leases first, commits, then settles, as duerow does. Payloads are
handed over as the text that the database keeps. Every method answers with ids, so that effects can be checked.

`docs/design/0004-benchmarks.md` says why each statement reads as it does.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import LiteralString

import psycopg

from bench.floor_mariadb import LEASE_SECONDS, Leased, MariadbFloor

TABLE = "duerow_message"
BATCH = 1_000


# --- PostgreSQL -----------------------------------------------------------------------------------------------------

PUSH: LiteralString = """
INSERT INTO duerow_message
       (queue, key, kind, payload, headers, priority, status, due_at, first_due_at, attempts, token, created_at)
VALUES (%s, NULL, 'json', %s, NULL, 0, 'new',
        statement_timestamp(), statement_timestamp(), 0, 0, statement_timestamp())
RETURNING id"""

COPY: LiteralString = """
COPY duerow_message (queue, kind, payload, priority, status, due_at, first_due_at, attempts, token, created_at)
FROM STDIN (FORMAT BINARY)"""
COPY_KEYED: LiteralString = """
COPY duerow_message (queue, kind, payload, priority, status, due_at, first_due_at, attempts, token, created_at, key)
FROM STDIN (FORMAT BINARY)"""
COPY_TYPES = ("text", "text", "text", "int2", "text", "timestamptz", "timestamptz", "int4", "int8", "timestamptz")

# An array of ids is an InitPlan: read once, so the limit holds, and always followed by the primary key. As a join,
# the same claim is planned as a scan of the whole table while statistics say that all of its rows are due.
LEASE: LiteralString = """
UPDATE duerow_message
   SET due_at = statement_timestamp() + %s * interval '1 second', place_at = due_at,
       leased_until = statement_timestamp() + %s * interval '1 second',
       leased_by = %s, token = token + 1, attempts = attempts + 1, last_attempt_at = statement_timestamp()
 WHERE id = ANY (ARRAY (SELECT id FROM duerow_message
                         WHERE queue = %s AND priority = 0 AND due_at <= statement_timestamp() AND "group" IS NULL
                        ORDER BY due_at, id LIMIT %s FOR UPDATE SKIP LOCKED))
RETURNING id, token, payload::text"""

DELETE: LiteralString = """
DELETE FROM duerow_message AS message USING unnest(%b::bigint[], %b::bigint[]) AS receipt (id, token)
 WHERE message.id = receipt.id AND message.token = receipt.token
RETURNING message.id"""

DELETE_ONE: LiteralString = "DELETE FROM duerow_message WHERE id = %s AND token = %s RETURNING id"

MOVE: LiteralString = """
UPDATE duerow_message AS message
   SET queue = %s, payload = receipt.payload::json, kind = 'json', status = 'new', attempts = 0,
       due_at = statement_timestamp(), first_due_at = statement_timestamp(), token = message.token + 1,
       place_at = NULL, leased_by = NULL, leased_until = NULL, last_attempt_at = NULL, last_error = NULL
  FROM unnest(%b::bigint[], %b::bigint[], %b::text[]) AS receipt (id, token, payload)
 WHERE message.id = receipt.id AND message.token = receipt.token
RETURNING message.id"""


class PostgresqlFloor:
    """Plain SQL through psycopg 3, one connection, autocommit: each statement is its own transaction."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        for plan in (
            "seqscan",
            "hashjoin",
            "mergejoin",
        ):  # a claim or a settlement is never a matter of the whole table
            self.connection.execute(f"SET enable_{plan} = off".encode())
        self._cursor = self.connection.cursor(binary=True)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def push(self, queue: str, payload: str) -> int:
        """Insert one message in its own transaction; return its id."""
        row = self._cursor.execute(PUSH, (queue, payload), prepare=True).fetchone()
        return int(row[0])  # type: ignore[index]  # RETURNING of one inserted row is one row

    def push_keyed(self, queue: str, messages: Iterable[tuple[str, str]]) -> None:
        """COPY messages, given as payload and key, in one transaction; it fails if a key is taken."""
        now = datetime.now(UTC)
        with self._cursor.copy(COPY_KEYED) as copy:
            copy.set_types((*COPY_TYPES, "text"))
            for payload, key in messages:
                copy.write_row((queue, "json", payload, 0, "new", now, now, 0, 0, now, key))

    def push_many(self, queue: str, payloads: Iterable[str], due: datetime | None = None) -> None:
        """COPY the messages in one transaction, all due at once or at the moment given."""
        now = datetime.now(UTC)
        with self._cursor.copy(COPY) as copy:
            copy.set_types(COPY_TYPES)
            for payload in payloads:
                copy.write_row((queue, "json", payload, 0, "new", due or now, due or now, 0, 0, now))

    def lease(self, queue: str, limit: int) -> list[Leased]:
        """Lease the oldest due messages, at most `limit`, and commit."""
        values = (LEASE_SECONDS, LEASE_SECONDS, "floor", queue, limit)
        return [Leased(*row) for row in self._cursor.execute(LEASE, values, prepare=True)]

    def delete(self, leased: Sequence[Leased]) -> list[int]:
        """Delete those whose token is still ours, and commit; return their ids."""
        receipts = ([row.id for row in leased], [row.token for row in leased])
        return [row[0] for row in self._cursor.execute(DELETE, receipts, prepare=True)]

    def delete_one(self, leased: Leased) -> list[int]:
        """Delete one message by id and token, and commit; return its id in a list, [] when it was not ours."""
        return [row[0] for row in self._cursor.execute(DELETE_ONE, (leased.id, leased.token), prepare=True)]

    def move(self, leased: Sequence[Leased], payloads: Sequence[str], to: str) -> list[int]:
        """Give those whose token is still ours another queue and payload, and commit; return their ids."""
        receipts = (to, [row.id for row in leased], [row.token for row in leased], list(payloads))
        return [row[0] for row in self._cursor.execute(MOVE, receipts, prepare=True)]


# --- SQLite ---------------------------------------------------------------------------------------------------------

SQLITE_PUSH = """
INSERT INTO duerow_message
       (queue, key, kind, payload, headers, priority, status, due_at, first_due_at, attempts, token, created_at)
VALUES (?, NULL, 'json', ?, NULL, 0, 'new', ?, ?, 0, 0, ?)"""

SQLITE_PUSH_KEYED = SQLITE_PUSH.replace("NULL", "?", 1)

SQLITE_LEASE = """
UPDATE duerow_message
   SET due_at = ?, place_at = due_at, leased_until = ?, leased_by = ?,
       token = token + 1, attempts = attempts + 1, last_attempt_at = ?
 WHERE id IN (SELECT id FROM duerow_message
              WHERE queue = ? AND priority = 0 AND due_at <= ? AND "group" IS NULL ORDER BY due_at, id LIMIT ?)
RETURNING id, token, payload"""

SQLITE_DELETE = "DELETE FROM duerow_message WHERE id = ? AND token = ?"

SQLITE_MOVE = """
UPDATE duerow_message
   SET queue = ?, payload = ?, kind = 'json', status = 'new', attempts = 0, due_at = ?, first_due_at = ?,
       token = token + 1, place_at = NULL, leased_by = NULL, leased_until = NULL,
       last_attempt_at = NULL, last_error = NULL
 WHERE id = ? AND token = ?"""


class SqliteFloor:
    """Plain SQL through the stdlib's sqlite3: WAL, synchronous=FULL, each write in BEGIN IMMEDIATE."""

    def __init__(self, path: str) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def push(self, queue: str, payload: str) -> int:
        """Insert one message in its own transaction; return its id."""
        now = _microseconds()
        return self.connection.execute(SQLITE_PUSH, (queue, payload, now, now, now)).lastrowid or 0

    def push_keyed(self, queue: str, messages: Iterable[tuple[str, str]]) -> None:
        """Insert messages, given as payload and key, in one transaction; it fails if a key is taken."""
        now = _microseconds()
        self._begin()
        rows = ((queue, key, payload, now, now, now) for payload, key in messages)
        self.connection.executemany(SQLITE_PUSH_KEYED, rows)
        self._commit()

    def push_many(self, queue: str, payloads: Iterable[str], due: datetime | None = None) -> None:
        """Insert the messages in one transaction, all due at once or at the moment given."""
        now = _microseconds()
        when = now if due is None else int(due.timestamp() * 1_000_000)
        self._begin()
        self.connection.executemany(SQLITE_PUSH, ((queue, payload, when, when, now) for payload in payloads))
        self._commit()

    def lease(self, queue: str, limit: int) -> list[Leased]:
        """Lease the oldest due messages, at most `limit`, and commit."""
        now = _microseconds()
        until = now + LEASE_SECONDS * 1_000_000
        self._begin()
        rows = self.connection.execute(SQLITE_LEASE, (until, until, "floor", now, queue, now, limit)).fetchall()
        self._commit()
        return [Leased(*row) for row in rows]

    def delete(self, leased: Sequence[Leased]) -> list[int]:
        """Delete those whose token is still ours, and commit; return their ids, [] unless it was all of them."""
        self._begin()
        count = self.connection.executemany(SQLITE_DELETE, [(row.id, row.token) for row in leased]).rowcount
        self._commit()
        return [row.id for row in leased] if count == len(leased) else []

    def delete_one(self, leased: Leased) -> list[int]:
        """Delete one message by id and token, and commit; return its id in a list, [] when it was not ours."""
        count = self.connection.execute(SQLITE_DELETE, (leased.id, leased.token)).rowcount
        return [leased.id] if count == 1 else []

    def move(self, leased: Sequence[Leased], payloads: Sequence[str], to: str) -> list[int]:
        """Give those whose token is still ours another queue and payload; return their ids, [] unless all moved."""
        now = _microseconds()
        rows = [(to, payload, now, now, row.id, row.token) for row, payload in zip(leased, payloads, strict=True)]
        self._begin()
        count = self.connection.executemany(SQLITE_MOVE, rows).rowcount
        self._commit()
        return [row.id for row in leased] if count == len(leased) else []

    def _begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        self.connection.execute("COMMIT")


def _microseconds() -> int:
    return time.time_ns() // 1_000


# --- What the floors are made to do ---------------------------------------------------------------------------------

Floor = PostgresqlFloor | SqliteFloor | MariadbFloor


def open_floor(url: str) -> Floor:
    """Connect to the database that a duerow URL names."""
    if url.startswith("sqlite:///"):
        return SqliteFloor(url.removeprefix("sqlite:///"))
    if url.startswith("mysql://"):
        return MariadbFloor(url)
    return PostgresqlFloor(url)


def drain(floor: Floor, queue: str, batch: int = BATCH, handle: Callable[[Leased], None] | None = None) -> list[int]:
    """Lease and delete in batches until nothing is due; return the ids in the order handled."""
    seen: list[int] = []
    handle = handle or _handle
    while leased := floor.lease(queue, batch):
        for row in leased:
            handle(row)
        settled = floor.delete(leased)
        _require_all(settled, leased)
        seen.extend(settled)
    return seen


def drain_one_by_one(floor: Floor, queue: str) -> list[int]:
    """Lease and delete one message after the other, two transactions each; return the ids in the order handled."""
    seen: list[int] = []
    while leased := floor.lease(queue, 1):
        _handle(leased[0])
        settled = floor.delete_one(leased[0])
        _require_all(settled, leased)
        seen.extend(settled)
    return seen


def pass_on(floor: PostgresqlFloor | SqliteFloor, queue: str, to: str, chunk: int) -> list[int]:
    """Lease and move in chunks until nothing is due, the payloads as they are; return the ids."""
    seen: list[int] = []
    while leased := floor.lease(queue, chunk):
        moved = floor.move(leased, [row.payload for row in leased], to)
        _require_all(moved, leased)
        seen.extend(moved)
    return seen


def _handle(row: Leased) -> None:
    """The handler with nothing to do, called once for each message as a worker would."""


def _require_all(settled: Sequence[int], leased: Sequence[Leased]) -> None:
    if len(settled) != len(leased):
        raise AssertionError(f"the floor settled {len(settled)} of {len(leased)} messages that it had leased")
