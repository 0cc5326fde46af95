"""One run: processes of every kind are started, killed at random and replaced; then the rest finish what is left."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import psycopg
from sqlalchemy import text

from duerow.errors import StoreUnavailable
from tests.crash.workload.consumer import KINDS, consume
from tests.crash.workload.environment import APPLICATION, WORKED, Setting, queues
from tests.crash.workload.ledger import Ledger
from tests.crash.workload.operation import operate
from tests.crash.workload.producer import produce
from tests.crash.workload.verdict import Row, Turn, Verdict

ROLES = ("producer", "producer", "consumer", "consumer", "consumer", "consumer", "consumer", "operator")
"""The processes that work at any moment."""

LEAST = 10
"""Turns that are begun before there is an end of it, however few are to be killed."""

MOST_WORK = 0.35
"""Seconds that a process computes at most before it is killed, once it is ready: the same on a busy machine."""

LONGEST = 3.0
"""Seconds that it lives at most, if it has nothing to compute."""

LOOK = 0.01
"""Seconds between two looks at whose time is up."""

BROKEN_CONNECTIONS = 0.1
"""How many connections are ended for each process that is killed, on servers that can."""

PATIENCE = 240.0
"""Seconds in which what is left must be finished; then it is stuck."""


@dataclass
class Living:
    """A process, and when it is to be killed.

    Attributes:
        process: it.
        role, kind: what it does.
        ready: where it says that it has begun to.
        work: how many seconds it is to compute from then on.
        begun: what it had computed when it was ready, and when that was; None: it is not.
    """

    process: Any
    role: str
    kind: str
    ready: Any
    work: float
    begun: tuple[float, float] | None = None

    @property
    def is_over(self) -> bool:
        """Whether its time is up."""
        try:
            times = psutil.Process(self.process.pid).cpu_times()
        except psutil.NoSuchProcess:
            return True  # it ended by itself, which is told when it is to be killed
        computed, now = times.user + times.system, time.monotonic()
        if self.begun is None and self.ready.poll():
            self.begun = (computed, now)
        return self.begun is not None and (computed - self.begun[0] >= self.work or now - self.begun[1] >= LONGEST)


@dataclass
class Run:
    """Starts and kills processes.

    Args:
        url, settings: the database, migrated.
        seed: of all that is random.
        context: starts processes.
        log: where the processes say what happened to them.
    """

    url: str
    settings: dict[str, Any]
    seed: int
    context: Any
    log: Path
    killed: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    _number: int = 0
    _living: list[Living] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.setting = self._setting()
        self.ledger = Ledger(self.setting)
        self.ledger.create()

    def kill(self, times: int, tell: Callable[[str], None] = print) -> None:
        """Let them work, and kill so many of them at random moments."""
        self._living = [self._start(role) for role in ROLES]
        began = time.monotonic()
        while self.killed.total() < times or self.begun() < LEAST:
            victim = next((one for one in self._living if one.is_over), None)
            if victim is None:
                time.sleep(LOOK)
                continue
            self._kill(victim)
            self._living.remove(victim)
            self._living.append(self._start(victim.role))
            if self.setting.engine.dialect.name == "postgresql" and self.chance.random() < BROKEN_CONNECTIONS:
                self._end_connection()
            if self.killed.total() % 100 == 0:
                tell(f"{time.monotonic() - began:5.0f} s: {self.killed.total()} killed")

    def finish(self) -> None:
        """Let the consumers that live finish what is left; a few more come, as some may be of a kind that rests."""
        for one in [one for one in self._living if one.role != "consumer"]:
            self._kill(one, counts=False)
            self._living.remove(one)
        self._living += [self._start("consumer", kind) for kind in ("ahead", "one by one")]
        with self.setting.open() as database:
            for queue in queues(database, timedelta(seconds=1)).values():
                queue.resume()
        deadline = time.monotonic() + PATIENCE
        while self._left() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.stop()

    def stop(self) -> None:
        """End all processes."""
        for one in self._living:
            one.process.kill()
            one.process.join()
        self._living.clear()

    def verdict(self) -> Verdict:
        """Read all that there is to judge by."""
        return Verdict(self.ledger.lines(), self._rows(), self._turns())

    def _start(self, role: str, kind: str | None = None) -> Living:
        setting = self._setting()
        ours, theirs = self.context.Pipe(duplex=False)
        kind = self.chance.choice(KINDS) if kind is None else kind
        target: Callable[..., None] = {"producer": produce, "consumer": consume, "operator": operate}[role]
        arguments = (setting, kind) if role == "consumer" else (setting,)
        # No daemon, for it may have children.
        process = self.context.Process(target=_be, args=(self.log, theirs, target, *arguments))
        process.start()
        theirs.close()
        return Living(process, role, kind, ours, self.chance.uniform(0, MOST_WORK))

    def _kill(self, victim: Living, counts: bool = True) -> None:
        victim.process.kill()
        victim.process.join()
        victim.ready.close()
        if victim.process.exitcode != -signal.SIGKILL:
            raise AssertionError(f"a {victim.role} ({victim.kind}) ended by itself: {self.log.read_text()[-3_000:]}")
        if counts:
            self.killed[victim.kind if victim.role == "consumer" else victim.role] += 1

    def _end_connection(self) -> None:
        """Let PostgreSQL end one of the connections, one in a transaction if there is one."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name = %s ORDER BY (state = 'idle'), random()",
                [APPLICATION],
            ).fetchall()
            if found:
                connection.execute("SELECT pg_terminate_backend(%s)", [found[0][0]])
                self.broken += 1

    def _setting(self) -> Setting:
        self._number += 1
        return Setting(self.url, self.settings, self.seed, self._number)

    def begun(self) -> int:
        """How many turns were begun: if hardly any was, little is shown."""
        return int(self._read(f"SELECT count(*) FROM {self.ledger.table.name} WHERE what = 'begun'")[0][0])

    def _left(self) -> int:
        names = ", ".join(f"'{name}'" for name in WORKED)
        return int(
            self._read(f"SELECT count(*) FROM {self._message} WHERE queue IN ({names}) AND status IN ('new', 'error')")[
                0
            ][0]
        )

    @property
    def _message(self) -> str:
        return f"{self.setting.prefix}message"

    def _read(self, query: str) -> list[Any]:
        with self.setting.engine.connect() as connection:
            return list(connection.execute(text(query)).all())

    def _rows(self) -> list[Row]:
        quote = self.setting.engine.dialect.identifier_preparer.quote
        found = self._read(
            f"SELECT id, queue, status, payload, headers, {quote('group')}, leased_by FROM {self._message}"
        )
        rows = []
        with self.setting.open() as database:
            for id, queue, status, payload, headers, group, leased_by in found:
                why = ""
                if queue in WORKED and status != "dead":
                    why = "; ".join(reason.text for reason in database.queue(queue).why(id))
                rows.append(Row(id, _word(queue), status, _json(payload), _json(headers), _word(group), leased_by, why))
        return rows

    def _turns(self) -> list[Turn]:
        columns = "id, token, queue, outcome, attempts, worker, finished_at"
        found = self._read(f"SELECT {columns} FROM {self.setting.prefix}history")
        return [Turn(id, token, _word(queue), *more, str(at)) for id, token, queue, *more, at in found]


def _be(log: Path, ready: Any, target: Callable[..., None], *arguments: Any) -> None:
    """Work until killed; begin again when the database cannot be reached, as under a supervisor."""
    with log.open("ab") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.environ["PGAPPNAME"] = APPLICATION
    threading.Thread(target=_end_with_the_test, daemon=True).start()
    while True:
        try:
            target(*arguments, lambda: ready.send(None))
        except StoreUnavailable:
            time.sleep(LOOK)


def _end_with_the_test() -> None:
    """End this process when the test that started it is gone, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _word(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _json(value: Any) -> Any:
    if value is None:
        return {}
    return json.loads(value) if isinstance(value, str | bytes) else value
