"""Draining: batches with one and two worker processes, one message at a time, and the peers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from bench import floor_runs, interleaved, ours, peers
from bench.context import Context
from bench.databases import MariadbDatabase, PostgresqlDatabase, SqliteDatabase, settle_down
from bench.floor import open_floor
from bench.messages import payload_text
from bench.peers import REQUIRED, runs
from bench.processes import Prepared, Timed, together
from bench.results import Result, against
from bench.rounds import Contestant, check_ids, interleave

BATCH_BARS = {1: 0.5, 2: 0.6}
SINGLY_BAR = 0.7
PROCESSES, EIGHT_BAR = 8, 0.9
SHARED_BAR = 0.4
"""Of databases other than PostgreSQL."""

FLOORS_QUEUE = "bench-floor"

Prepare = Callable[..., Prepared[list[int]]]


def batches(context: Context) -> list[Result]:
    """A no-op handler in batches, with one and two processes, against hand-written SQL and the peers."""
    urls = {name: _set_up(context, name) for name in peers.drained()}
    return [line for processes in BATCH_BARS for line in _batches(context, processes, urls)]


def _batches(context: Context, processes: int, urls: dict[str, str]) -> list[Result]:
    size = context.size
    contestants = {
        "floor": drained(context.postgresql, floor_runs.drain, size.drain, processes),
        "duerow": drained(context.postgresql, ours.drain, size.drain, processes),
    }
    for name, url in urls.items():
        count = size.drain if name in REQUIRED else max(1, int(size.drain * size.peer_share))
        contestants[name] = _drained_peer(name, url, count, processes)
    samples = interleave(contestants, size.rounds)
    title = f"drain of {size.drain:,} in batches, {processes} {'process' if processes == 1 else 'processes'}"
    against_floor = against(title, samples, "floor", BATCH_BARS[processes])
    against_peers = [
        against(title, samples, name, 1.0 if name in REQUIRED else None, note=peers.load(name).SETTINGS)
        for name in urls
    ]
    return [against_floor, *against_peers]


def singly(context: Context) -> list[Result]:
    """One message a transaction: lease, commit, settle, commit."""
    size = context.size
    contestants = {
        "floor": drained(context.postgresql, floor_runs.drain_singly, size.singly),
        "duerow": drained(context.postgresql, ours.drain_singly, size.singly),
    }
    samples = interleave(contestants, size.rounds)
    by_eight = interleave(
        {
            "floor": drained(context.postgresql, floor_runs.drain_singly, size.singly, PROCESSES),
            "duerow": drained(context.postgresql, ours.drain_singly, size.singly, PROCESSES),
        },
        size.rounds,
    )
    by_turns = _settled_by_turns(context)
    note = f"by turns in one process, blocks of {interleaved.BLOCK}"
    return [
        against("one transaction per message, worker", samples, "floor", SINGLY_BAR, note="batch=1"),
        against(f"one transaction per message, {PROCESSES} workers", by_eight, "floor", EIGHT_BAR, note="batch=1"),
        against("one transaction per message, reserve and commit", by_turns, "floor", SINGLY_BAR, note=note),
    ]


def _settled_by_turns(context: Context) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {"floor": [], "duerow": []}
    for _ in range(context.size.rounds):
        ids = context.postgresql.fill(context.size.singly)
        with closing(open_floor(context.postgresql.url)) as floor:
            floor.push_many(FLOORS_QUEUE, [payload_text(number) for number in range(context.size.singly)])
        ids += context.postgresql.waiting(FLOORS_QUEUE)
        context.postgresql.settle_down()
        timed = together(interleaved.settle, context.postgresql.url, context.size.singly, FLOORS_QUEUE)
        check_ids(ids, [share.ids for share in timed.results[0].values()], "one transaction per message")
        for name, share in timed.results[0].items():
            rates[name].append(share.rate)
    return rates


def sqlite(context: Context) -> list[Result]:
    """SQLite, synchronous=FULL on both sides."""
    return _beside_floor("SQLite", context.sqlite, context)


def mariadb(context: Context) -> list[Result]:
    """MariaDB, innodb_flush_log_at_trx_commit=1 on both sides."""
    return _beside_floor("MariaDB", context.mariadb, context, note=context.mariadb.version)


def _beside_floor(
    family: str, database: SqliteDatabase | MariadbDatabase, context: Context, note: str = ""
) -> list[Result]:
    size = context.size
    lines = []
    for processes in (1, 2):
        contestants = {
            "floor": drained(database, floor_runs.drain, size.drain, processes),
            "duerow": drained(database, ours.drain, size.drain, processes),
        }
        samples = interleave(contestants, size.rounds)
        title = (
            f"{family}: drain of {size.drain:,} in batches, {processes} {'process' if processes == 1 else 'processes'}"
        )
        lines.append(against(title, samples, "floor", SHARED_BAR if processes == 1 else None, note=note))
    contestants = {
        "floor": drained(database, floor_runs.drain_singly, size.singly),
        "duerow": drained(database, ours.drain_singly, size.singly),
    }
    samples = interleave(contestants, size.rounds)
    lines.append(against(f"{family}: one transaction per message, worker", samples, "floor", None, note="batch=1"))
    return lines


def drained(
    database: PostgresqlDatabase | SqliteDatabase | MariadbDatabase,
    prepare: Prepare,
    count: int,
    processes: int = 1,
    arguments: Sequence[Any] = (),
) -> Contestant:
    """A contestant that drains `count` fresh messages, prepared with these arguments; its figure is messages/s."""

    def run() -> float:
        ids = database.fill(count)
        timed = together(prepare, database.url, *arguments, processes=processes)
        return _rate(prepare.__module__, timed, ids, len(database.waiting()))

    return run


def _drained_peer(name: str, url: str, count: int, processes: int) -> Contestant:
    def run() -> float:
        together(runs.push_many, name, url, count)
        settle_down(url)
        timed = together(runs.drain, name, url, count, processes=processes)
        return _rate(name, timed, list(range(count)), peers.load(name).left(url))

    return run


def _rate(who: str, timed: Timed[list[int]], ids: list[int], left: int) -> float:
    """Return messages/s, after a look whether each was handled once and none is left."""
    check_ids(ids, timed.results, who)
    if left:
        raise AssertionError(f"{who} left {left} messages in the queue")
    return len(ids) / timed.seconds


def _set_up(context: Context, name: str) -> str:
    url = context.server.database(f"bench_{name}")
    peers.load(name).set_up(url)
    return url
