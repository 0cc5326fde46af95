"""Definitions that were stored differently, by another version or by hand, cause clear errors and stop nothing else."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow import Pipeline, Relay, Worker
from duerow.errors import DuerowError

STORED = (
    ("duerow_queue", "definition", "name = 'mail'"),
    ("duerow_pipeline", "definition", "name = 'shop'"),
    ("duerow_message", "payload", "queue = 'duerow.limits'"),
    *(("duerow_schedule", "definition", f"name = '{name}'") for name in ("often", "daily", "cron")),
)
"""The table and column of each definition, and the condition for its row."""

ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**63, 10**400, 1.5, 1e308, "", "x", "\x00", "../x", "%s", "a" * 300),
    *("P1D", "PT-5S", "P99999999999D", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "99:99"),
    *("* * * * *", "0 0 30 2 *", [], [1], ["x"], {}, {"a": 1}),
)

TEXTS: tuple[Any, ...] = ("", "null", "[]", "{", "1", "NaN", "[" * 2_000 + "]" * 2_000, b"\xff\xfe", 5, None, 2.5)

TICKS = (0, -1, 1, 2**62, "x", 2.5)
"""What a hand may write as a schedule's next tick."""

SEEDS = (*range(45, 60), 99)
"""What `make test` tries; 51 and 99 found a pipeline that could not be drawn, and a schedule that stopped workers."""


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    """A database with a definition of each kind."""
    file = tmp_path / "declared.db"
    with duerow.connect(f"sqlite:///{file}", migrate=True) as database:
        queue = database.queue("mail", dead_letter="dead", history=timedelta(days=1), remember_keys=timedelta(days=1))
        queue.declare()
        queue.limit(concurrency=3, rate=(4, timedelta(minutes=1)))
        database.schedule("often", queue="mail", payload=1, every=timedelta(hours=1), headers={"a": 1})
        database.schedule("daily", queue="mail", payload=1, daily=["08:30"], zone="Europe/Zagreb")
        database.schedule("cron", queue="mail", payload=1, cron="* * * * *")
        database.declare_pipeline(shop())
        database.queue("other").push("unharmed")
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file


def shop() -> Pipeline:
    return Pipeline("shop", [Relay("check", lambda message: message.payload, to="mail")], outputs=["mail"])


def spoiled(chance: random.Random, text: str) -> Any:
    """Return a definition with a part that is missing, new or odd; or something else in its place."""
    if chance.random() < 0.1:
        return chance.choice([*TEXTS, text[:-1], text * 2])
    definition = json.loads(text)
    part = definition
    while inner := [one for one in part.values() if isinstance(one, dict) and one]:
        if chance.random() < 0.3:
            break
        part = chance.choice(inner)
    name = chance.choice([*part, "newer"])
    if name in part and chance.random() < 0.3:
        del part[name]
    else:
        part[name] = chance.choice(ODD)
    return json.dumps(definition)


def spoil(chance: random.Random, file: Path) -> None:
    """Spoil a definition in the database, and now and then the next tick of each schedule."""
    table, column, where = chance.choice(STORED)
    with sqlite3.connect(file) as connection:
        (text,) = connection.execute(f"SELECT {column} FROM {table} WHERE {where}").fetchone()
        with suppress(sqlite3.IntegrityError):  # the column takes no NULL
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (spoiled(chance, text),))
        if chance.random() < 0.3:
            connection.execute("UPDATE duerow_schedule SET next_at = ?", (chance.choice(TICKS),))
    connection.close()


def doors(database: duerow.Database) -> Iterator[Callable[[], object]]:
    """Yield calls that read definitions."""
    mail = database.queue("mail")
    yield database.maintain
    yield lambda: [schedule.ticks(3) for schedule in database.schedules()]
    yield lambda: database.push_scheduled("often")
    yield lambda: (database.pause_schedule("daily"), database.resume_schedule("daily"))
    yield lambda: database.schedule("often", queue="mail", payload=2, every=timedelta(hours=2))
    yield lambda: database.unschedule("cron")
    yield lambda: [str(one) for one in database.definitions()]
    yield lambda: database.as_defined("mail").push(2)
    yield lambda: [one.bury("no use") for one in database.as_defined("mail").reserve_many(1)]
    yield lambda: Worker(database.as_defined("mail"), lambda message: None).run(until="idle")
    yield lambda: (mail.stats(), mail.why(), mail.limits())
    yield lambda: [graph.mermaid() for graph in database.pipelines()]
    yield lambda: database.declare_pipeline(shop())
    yield lambda: database.forget_pipeline("shop")
    yield mail.declare


def check(declared: Path, file: Path, seed: int) -> None:
    """Spoil a copy of the database, and call everything in a random order."""
    chance = random.Random(seed)
    for left in file.parent.glob(f"{file.name}*"):
        left.unlink()
    shutil.copy(declared, file)
    spoil(chance, file)
    with duerow.connect(f"sqlite:///{file}") as database:
        calls = list(doors(database))
        chance.shuffle(calls)
        for call in calls:
            try:
                call()
            except DuerowError:
                pass
            except Exception as error:
                raise AssertionError(f"seed {seed}: {type(error).__name__} came out of a call") from error
        handled: list[Any] = []
        Worker(database.queue("other"), lambda message: handled.append(message.payload)).run(until="idle")
        assert handled == ["unharmed"], f"seed {seed}"


def test_whatever_is_stored_as_a_definition_calls_answer_or_say_so_and_other_queues_go_on(
    declared: Path, tmp_path: Path
) -> None:
    for seed in SEEDS:
        check(declared, tmp_path / "spoiled.db", seed)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_many_more_stored_definitions_are_answered_likewise(declared: Path, tmp_path: Path) -> None:
    first = int(os.environ.get("DUEROW_SOAK_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"seed {first}")
    for seed in range(first, first + 2_000):
        check(declared, tmp_path / "spoiled.db", seed)
