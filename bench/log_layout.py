"""A prototype of a queue as a log, by hand on PostgreSQL: messages are appended, leased by the range and never changed.

A consumer leases the range that follows the last one, in one row, and ends it by deleting that row. The log itself is
truncated by the partition. A message is read only once every transaction that began before its own has ended, as in
PgQ: the order of ids is not the order of commits, and a range must not gain messages after it was read.

`docs/design/0058-no-log-layout.md` says what this would cost users, and why duerow does not offer it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import LiteralString

import psycopg

from bench.floor import BATCH
from bench.floor_mariadb import LEASE_SECONDS
from bench.messages import QUEUE, payload_text
from bench.processes import Prepared

TABLES: tuple[LiteralString, ...] = (
    "DROP TABLE IF EXISTS log_message, log_position, log_range",
    """CREATE TABLE log_message (id bigint GENERATED ALWAYS AS IDENTITY, queue text NOT NULL, kind text NOT NULL,
        payload text NOT NULL, xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
        created_at timestamptz NOT NULL DEFAULT statement_timestamp())""",
    "CREATE INDEX log_line ON log_message (queue, xid, id)",
    "CREATE TABLE log_position (queue text PRIMARY KEY, xid xid8 NOT NULL, id bigint NOT NULL) WITH (fillfactor = 10)",
    """CREATE TABLE log_range (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, token bigint,
        first_xid xid8, first_id bigint, last_xid xid8, last_id bigint, attempts int, leased_until timestamptz,
        leased_by text)""",
)

COPY: LiteralString = "COPY log_message (queue, kind, payload) FROM STDIN (FORMAT BINARY)"

CLAIM: LiteralString = """
WITH position AS (SELECT xid, id FROM log_position WHERE queue = %(queue)s FOR UPDATE),
     taken AS MATERIALIZED (
       SELECT message.xid, message.id, message.payload FROM position, log_message AS message
        WHERE message.queue = %(queue)s AND (message.xid, message.id) > (position.xid, position.id)
          AND message.xid < pg_snapshot_xmin(pg_current_snapshot())
       ORDER BY message.xid, message.id LIMIT %(limit)s),
     ends AS (SELECT (SELECT xid FROM taken ORDER BY xid DESC, id DESC LIMIT 1) AS last_xid,
                     (SELECT id FROM taken ORDER BY xid DESC, id DESC LIMIT 1) AS last_id),
     moved AS (UPDATE log_position AS at SET xid = last_xid, id = last_id FROM ends
                WHERE queue = %(queue)s AND last_id IS NOT NULL),
     leased AS (INSERT INTO log_range (queue, token, first_xid, first_id, last_xid, last_id, attempts, leased_until,
                                       leased_by)
                SELECT %(queue)s, 1, position.xid, position.id, last_xid, last_id, 1,
                       statement_timestamp() + %(lease)s * interval '1 second', 'log'
                  FROM position, ends WHERE last_id IS NOT NULL RETURNING id)
SELECT leased.id, taken.id, taken.payload FROM leased, taken"""

SETTLE: LiteralString = "DELETE FROM log_range WHERE id = %s AND token = %s RETURNING id"


def set_up(url: str) -> None:
    """Make the tables anew, with an empty queue."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in TABLES:
            connection.execute(statement)
        connection.execute("INSERT INTO log_position VALUES (%s, '0', 0)", (QUEUE,))


def push_many(url: str, count: int) -> Prepared[None]:
    """Append `count` messages in one transaction."""
    connection = psycopg.connect(url, autocommit=True)
    payloads = [payload_text(number) for number in range(count)]

    def run() -> None:
        with connection.cursor().copy(COPY) as copy:
            copy.set_types(("text", "text", "text"))
            for payload in payloads:
                copy.write_row((QUEUE, "json", payload))

    return run


def drain(url: str) -> Prepared[list[int]]:
    """Handle all messages, a range after the other; return their ids."""
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("SET enable_seqscan = off")
    cursor = connection.cursor(binary=True)
    terms = {"queue": QUEUE, "limit": BATCH, "lease": LEASE_SECONDS}

    def run() -> list[int]:
        seen: list[int] = []
        while rows := cursor.execute(CLAIM, terms, prepare=True).fetchall():
            _handle_all(rows, seen.append)
            if len(cursor.execute(SETTLE, (rows[0][0], 1), prepare=True).fetchall()) != 1:
                raise AssertionError("the range was not ours any more")
        return seen

    return run


def _handle_all(rows: Sequence[tuple[int, int, str]], handle: Callable[[int], None]) -> None:
    for row in rows:
        handle(row[1])
