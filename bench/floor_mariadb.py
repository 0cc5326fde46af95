"""The floor on MariaDB: as `bench.floor`, through PyMySQL.

A claim is a locking read by the index and a write by primary key in one transaction at READ COMMITTED: there is no
UPDATE … RETURNING. A settlement is one DELETE that looks each row up by its primary key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pymysql
from sqlalchemy import make_url

LEASE_SECONDS = 60


class Leased(NamedTuple):
    """A row that the floor holds: enough to handle it and to settle it."""

    id: int
    token: int
    payload: str


PUSH = """
INSERT INTO duerow_message
       (queue, kind, payload, priority, status, due_at, first_due_at, attempts, token, created_at)
VALUES (%s, 'json', %s, 0, 'new', COALESCE(%s, UTC_TIMESTAMP(6)), COALESCE(%s, UTC_TIMESTAMP(6)), 0, 0,
        UTC_TIMESTAMP(6))"""

LOCK = """
SELECT id, token + 1, payload FROM duerow_message FORCE INDEX (duerow_message_due)
 WHERE queue = %s AND priority = 0 AND due_at <= UTC_TIMESTAMP(6) AND line = 0
ORDER BY due_at, id LIMIT %s FOR UPDATE SKIP LOCKED"""

# Assignments are made from left to right: the due time is kept before it is changed.
LEASE = """
UPDATE duerow_message FORCE INDEX (PRIMARY)
   SET place_at = due_at, due_at = UTC_TIMESTAMP(6) + INTERVAL %s SECOND,
       leased_until = UTC_TIMESTAMP(6) + INTERVAL %s SECOND,
       leased_by = %s, token = token + 1, attempts = attempts + 1, last_attempt_at = UTC_TIMESTAMP(6)
 WHERE id IN %s"""

DELETE = """
DELETE duerow_message
  FROM JSON_TABLE(%s, '$[*]' COLUMNS (id BIGINT PATH '$[0]', token BIGINT PATH '$[1]')) AS receipt
       STRAIGHT_JOIN duerow_message ON duerow_message.id = receipt.id AND duerow_message.token = receipt.token"""

DELETE_ONE = "DELETE FROM duerow_message WHERE id = %s AND token = %s"


def connected(url: str) -> Any:
    """Return a connection of PyMySQL that commits each statement by itself, at READ COMMITTED."""
    said = make_url(url)
    where = {"host": said.host, "port": said.port or 3306, "user": said.username, "database": said.database}
    connection = pymysql.connect(**where, password=said.password or "", autocommit=True)
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    return connection


class MariadbFloor:
    """Plain SQL through PyMySQL, one connection."""

    def __init__(self, url: str) -> None:
        self.connection = connected(url)
        self._cursor = self.connection.cursor()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def push(self, queue: str, payload: str) -> int:
        """Insert one message in its own transaction; return its id."""
        self._cursor.execute(f"{PUSH} RETURNING id", (queue, payload, None, None))
        return int(self._cursor.fetchone()[0])

    def push_many(self, queue: str, payloads: Iterable[str], due: datetime | None = None) -> None:
        """Insert the messages in one transaction, all due at once or at the moment given."""
        self._begin()
        self._cursor.executemany(PUSH, [(queue, payload, due, due) for payload in payloads])
        self._commit()

    def lease(self, queue: str, limit: int) -> list[Leased]:
        """Lease the oldest due messages, at most `limit`, and commit."""
        self._begin()
        self._cursor.execute(LOCK, (queue, limit))
        rows = [Leased(*row) for row in self._cursor.fetchall()]
        if rows:
            self._cursor.execute(LEASE, (LEASE_SECONDS, LEASE_SECONDS, "floor", [row.id for row in rows]))
        self._commit()
        return rows

    def delete(self, leased: Sequence[Leased]) -> list[int]:
        """Delete those whose token is still ours, and commit; return their ids, [] unless it was all of them."""
        count = self._cursor.execute(DELETE, (json.dumps([(row.id, row.token) for row in leased]),))
        return [row.id for row in leased] if count == len(leased) else []

    def delete_one(self, leased: Leased) -> list[int]:
        """Delete one message by id and token, and commit; return its id in a list, [] when it was not ours."""
        return [leased.id] if self._cursor.execute(DELETE_ONE, (leased.id, leased.token)) == 1 else []

    def _begin(self) -> None:
        self._cursor.execute("BEGIN")

    def _commit(self) -> None:
        self._cursor.execute("COMMIT")
