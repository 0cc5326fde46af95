"""The same work by hand in plain SQL: bench/floor.py, which here decodes payloads and wakes its worker by NOTIFY."""

from __future__ import annotations

import json
from typing import LiteralString

import psycopg

from bench import ours
from bench.floor import BATCH, PUSH, PostgresqlFloor, SqliteFloor, open_floor
from bench.messages import QUEUE, Noted, Payload
from bench.peers.rows_left import count_rows
from bench.peers.sending import BlockingSender
from bench.processes import Prepared

NAME = "floor"
SETTINGS = f"prepared statements, COPY, batches of {BATCH:,}"
ONE_BY_ONE = False

PUSH_AND_NOTIFY: LiteralString = f"WITH pushed AS ({PUSH}) SELECT id, pg_notify('bench', '') FROM pushed"


def set_up(url: str) -> None:
    """Make duerow's tables."""
    ours.migrate(url)


def sender(url: str) -> BlockingSender:
    """Connect; every push wakes the worker, as every push of duerow does."""
    floor = _open(url)
    if isinstance(floor, SqliteFloor):
        return BlockingSender(lambda message: floor.push(QUEUE, json.dumps(message)), lambda many: _copy(floor, many))
    cursor = floor.connection.cursor(binary=True)

    def push(message: Payload) -> None:
        cursor.execute(PUSH_AND_NOTIFY, (QUEUE, json.dumps(message)), prepare=True)

    return BlockingSender(push, lambda many: _copy(floor, many))


def _copy(floor: PostgresqlFloor | SqliteFloor, messages: list[Payload]) -> None:
    floor.push_many(QUEUE, [json.dumps(message) for message in messages])


def prepare_drain(url: str, count: int) -> Prepared[list[int]]:
    """Connect; return the loop that leases, handles and deletes batches until nothing is due."""
    floor = _open(url)
    seen: list[int] = []

    def run() -> list[int]:
        while leased := floor.lease(QUEUE, BATCH):
            seen.extend(json.loads(row.payload)["n"] for row in leased)
            if len(floor.delete(leased)) != len(leased):
                raise AssertionError("the floor did not delete every message that it had leased")
        return seen

    return run


def prepare_worker(url: str) -> Prepared[dict[int, int]]:
    """Listen; return the loop that handles what is due after each notification."""
    floor, listening = _open(url), psycopg.connect(url, autocommit=True)
    listening.execute("LISTEN bench")
    noted = Noted()

    def run() -> dict[int, int]:
        while not _handled_all(floor, noted):
            for _ in listening.notifies(timeout=1, stop_after=1):
                pass
        return noted.times

    return run


def _handled_all(floor: PostgresqlFloor | SqliteFloor, noted: Noted) -> bool:
    """Handle what is due; return whether the stop was among it."""
    stopped = False
    while leased := floor.lease(QUEUE, BATCH):
        for row in leased:
            stopped = noted.stopped_by(json.loads(row.payload)) or stopped
        floor.delete(leased)
    return stopped


def left(url: str) -> int:
    """Count what is not handled yet."""
    return count_rows(url, "SELECT count(*) FROM duerow_message")


def synchronous(url: str) -> int:
    """Return what SQLite's setting is on a connection of the floor's."""
    floor = _open(url)
    assert isinstance(floor, SqliteFloor)
    return int(floor.connection.execute("PRAGMA synchronous").fetchone()[0])


def _open(url: str) -> PostgresqlFloor | SqliteFloor:
    address, _, settings = url.partition("?")
    floor = open_floor(address)
    assert isinstance(floor, PostgresqlFloor | SqliteFloor)
    if settings and isinstance(floor, SqliteFloor):
        floor.connection.execute(f"PRAGMA {settings}")
    return floor
