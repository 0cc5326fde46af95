"""Rows of the application's own table as a queue: producers insert them, and workers of every kind handle them.

A handler that gets a row records this in the ledger. The transaction that ends a row also writes a line, because the
queue calls `on_done` in it. Transactional handlers write their lines in the same transaction.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy.orm import Session

import duerow
from duerow import Retry, aio
from duerow.entity import EntityQueue
from duerow.errors import LeaseLost
from duerow.testing.torture.environment import LEASES, OUT_OF_LUCK, Setting
from duerow.testing.torture.handler import Failed, caught, take_a_moment
from duerow.testing.torture.ledger import Ledger, Line
from duerow.testing.torture.own_table import item
from duerow.testing.torture.pipelines import name_of

AHEAD: Final = "rows, ahead"

WORKERS: Final[dict[str, dict[str, Any]]] = {
    AHEAD: {"batch": 5, "concurrency": 2},
    "rows, transactional": {"batch": 5, "concurrency": 2, "transactional": True},
    "rows, whole batches": {"batch": 5, "whole_batch": True},
    "awaited rows": {"batch": 5, "concurrency": 2},
    "awaited rows, transactional": {"batch": 5, "concurrency": 2, "transactional": True},
}
"""The arguments of workers, by the name of their kind."""

BY_HAND: Final = "rows by hand"
KINDS: Final = (*WORKERS, BY_HAND)
"""The kinds of consumers of rows."""

TABLE: Final = "item"
"""The name of the queue in lines about rows."""

ENOUGH: Final = 60
"""The number of waiting rows from which producers insert no more."""

IDLE: Final = 0.02
POLL: Final = timedelta(milliseconds=100)
RETRY: Final = duerow.fixed(timedelta(milliseconds=50))
"""The retry policy, which never gives up a row."""


def work(setting: Setting, kind: str, ready: Callable[[], None]) -> None:
    """Handle rows until killed, as a consumer of this kind."""
    lease = timedelta(milliseconds=setting.chance.choice(LEASES))
    worker = RowWorker(setting)
    if kind.startswith("awaited"):
        asyncio.run(worker.run_async(lease, WORKERS[kind], ready))
        return
    queue: EntityQueue[Any] = EntityQueue(
        item(setting.prefix).working, setting.access.engine, lease=lease, retry=RETRY, on_done=worker.end
    )
    setting.record_rows(queue)
    ready()
    if kind == BY_HAND:
        RowsByHand(setting, queue, worker).go_on()
    terms = WORKERS[kind]
    handle = worker.handle_in_transaction if terms.get("transactional") else worker.handle
    duerow.Worker(queue, worker.handle_all if terms.get("whole_batch") else handle, poll=POLL, **terms).run()


class RowWorker:
    """The handlers of a consumer.

    Args:
        setting: the settings of the process.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting, self.chance, self.ledger = setting, setting.chance, Ledger(setting)

    def handle(self, row: Any, session: Session) -> Any:
        """Handle a row at least once: what this writes may be committed even if the turn does not end."""
        self.begin([row])
        row.handled += 1
        return self.think()

    def handle_all(self, rows: Sequence[Any], session: Session) -> list[Any]:
        """Handle a whole batch."""
        self.begin(rows)
        for row in rows:
            row.handled += 1
        return [caught(self.think) for _ in rows]

    def handle_in_transaction(self, row: Any, session: Session) -> Any:
        """Handle a row in the transaction that ends its turn."""
        self.ledger.write(*self.effect(row), within=session.connection())
        row.handled += 1
        return self.think()

    async def handle_async(self, row: Any, session: Any) -> Any:
        """See `handle`."""
        await asyncio.to_thread(self.begin, [row])
        row.handled += 1
        return self.think()

    async def handle_in_transaction_async(self, row: Any, session: Any) -> Any:
        """See `handle_in_transaction`."""
        await self.ledger.awrite(*self.effect(row), within=await session.connection())
        row.handled += 1
        return self.think()

    def end(self, row: Any, session: Session) -> None:
        """Write that a row is done, in the transaction that marks it as done."""
        self.ledger.write(self._line("row ended", row), within=session.connection())

    async def end_async(self, row: Any, session: Any) -> None:
        """See `end`."""
        await self.ledger.awrite(self._line("row ended", row), within=await session.connection())

    def begin(self, rows: Sequence[Any]) -> None:
        """Write that a handler got these rows."""
        self.ledger.write(*(self._line("row begun", row) for row in rows))

    def effect(self, row: Any) -> list[Line]:
        """Return the lines of a handler that works in the transaction that ends the turn."""
        return [self._line("row begun", row), self._line("row effect", row)]

    def think(self) -> Any:
        """Take a moment; fail, or ask for another attempt, now and then."""
        take_a_moment(self.chance)
        draw = self.chance.random()
        if draw < 0.10:
            raise Failed("this attempt")
        return Retry(PAUSE, counts=False) if draw < 0.15 else None

    async def run_async(self, lease: timedelta, terms: dict[str, Any], ready: Callable[[], None]) -> None:
        """Run an async worker."""
        from duerow.aio.entity import EntityQueue as AwaitedQueue

        engine = self.setting.access.awaited_engine()
        state = item(self.setting.prefix).working
        queue = AwaitedQueue(state, engine, lease=lease, retry=RETRY, on_done=self.end_async)
        self.setting.record_rows(queue)
        handle = self.handle_in_transaction_async if terms.get("transactional") else self.handle_async
        ready()
        try:
            await aio.Worker(queue, handle, poll=POLL, **terms).run()
        finally:
            await engine.dispose()

    def _line(self, what: str, row: Any) -> Line:
        return Line(what, None, TABLE, token=row.working.token, note=row.record)


PAUSE: Final = timedelta(milliseconds=20)


class RowsByHand:
    """Reserves rows and ends their turns by hand.

    Args:
        setting: the settings of the process.
        queue: the queue of rows.
        worker: writes lines about the rows.
    """

    def __init__(self, setting: Setting, queue: EntityQueue[Any], worker: RowWorker) -> None:
        self.chance, self.queue, self.worker = setting.chance, queue, worker
        self.ways: dict[Callable[[Sequence[Any]], None], int] = {
            self.commit: 3,
            self.commit_with_a_row: 3,
            self.give_back: 1,
            self.come_late: 1,
        }

    def go_on(self) -> None:
        """Reserve and settle again and again."""
        ways, weights = list(self.ways), list(self.ways.values())
        while True:
            lent: Sequence[Any] = []
            with suppress(*OUT_OF_LUCK):
                lent = self.queue.reserve_many(self.chance.choice((1, 3)))
                if lent:
                    self.chance.choices(ways, weights)[0](lent)
            if not lent:
                time.sleep(IDLE)

    def commit(self, lent: Sequence[Any]) -> None:
        """Handle each row, and end its turn afterward."""
        for one in lent:
            with self.queue.session() as session:
                row = self.queue.load(session, one)
                if row is None:
                    continue
                session.commit()
                self.worker.begin([row])
                row.handled += 1
                session.commit()
            with suppress(LeaseLost):
                if self.chance.random() < 0.3:
                    one = one.extend(PAUSE * 20)
                one.commit()

    def commit_with_a_row(self, lent: Sequence[Any]) -> None:
        """Handle each row in the transaction that ends its turn."""
        for one in lent:
            with suppress(LeaseLost), self.queue.session() as session:
                row = self.queue.load(session, one)
                if row is None:
                    continue
                session.commit()  # SQLite locks at the first write, so the row that was read before would be stale
                self.worker.ledger.write(*self.worker.effect(row), within=session.connection())
                row.handled += 1
                self.queue.commit(one, within=session)
                session.commit()

    def give_back(self, lent: Sequence[Any]) -> None:
        """Give the rows back, so that none is done."""
        for one in lent:
            with suppress(LeaseLost):
                if self.chance.random() < 0.5:
                    one.release()
                else:
                    one.rollback(error="by hand")

    def come_late(self, lent: Sequence[Any]) -> None:
        """Settle after the leases have ended."""
        until = max(one.until for one in lent)
        time.sleep(max(0.0, (until - datetime.now(UTC)).total_seconds()) + self.chance.uniform(0, 0.1))
        self.commit(lent)


class RowInserter:
    """Inserts rows that are due, as part of a producer.

    Args:
        setting: the settings of the process.
        ledger: the producer's ledger.
    """

    def __init__(self, setting: Setting, ledger: Ledger) -> None:
        self.setting, self.ledger, self.chance = setting, ledger, setting.chance
        self.ways: dict[Callable[[], None], int] = {self.insert_rows: 3}

    def insert_rows(self) -> None:
        """Insert some rows, with a line of the ledger for each, all or none; sometimes roll back."""
        if self.setting.access.waiting_items() >= ENOUGH:
            return
        act, model = self.ledger.new_act(within=True), item(self.setting.prefix)
        rows = [model(record=name_of(act, n)) for n in range(self.chance.choice((1, 1, 3)))]
        with self.ledger.transaction(act, TABLE) as opened:
            self.ledger.write(*(Line("inserted", act, TABLE, note=row.record) for row in rows), within=opened)
            with Session(opened) as session:
                for row in rows:
                    row.working.schedule(self._due())
                session.add_all(rows)
                session.flush()

    def _due(self) -> datetime | None:
        """Return when a row is due; usually None, which means now, by the clock of the database."""
        delay = self.chance.choice((0, 0, 0, 100))
        return datetime.now(UTC) + timedelta(milliseconds=delay) if delay else None
