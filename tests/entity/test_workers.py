"""A worker over rows: the handler is given the row and its session, and the row's turn ends as it should."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from inspect import isawaitable
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, delete, text, update
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session, object_session

import duerow
from duerow import Bury, Commit, Draft, Worker, aio, fixed, limited
from duerow.aio.entity import EntityQueue as AwaitedEntityQueue
from duerow.entity import EntityQueue
from duerow.errors import ConfigurationError
from duerow.queue.limits import RunLimits
from duerow.testing.faces import AwaitedFace, Face
from duerow.testing.worker_harness import eventually
from duerow.worker import maintenance
from tests.entity.models import Mail
from tests.entity.modes import MODES, of_each

LATER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("mode", MODES)
def test_a_row_ends_as_its_handler_says_and_stays_as_its_handler_set_it(
    work: Any, add: Any, look: Any, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    done, failing, given_up, again, deleted, pushing = add(*"dfbasp")
    seen: list[tuple[int, int]] = []

    async def handle(row: Mail, session: Any) -> Any:
        seen.append((row.id, row.sending.attempts))
        if row.id == failing:
            raise ValueError("no line")
        if row.id == given_up:
            return Bury("no such number")
        if row.id == pushing:
            return Commit(then=(Draft(1, queue="other"),))
        row.payload = "sent"
        if row.id == again:
            row.sending.schedule(LATER)
        if row.id == deleted:
            object_session(row).delete(row)  # type: ignore[union-attr]
        return None

    caplog.set_level(logging.INFO, "duerow.worker")
    work(of_each(handle, mode), **MODES[mode])
    assert sorted(seen) == sorted(
        [(done, 1), (failing, 1), (failing, 2), (given_up, 1), (again, 1), (deleted, 1), (pushing, 1), (pushing, 2)]
    )
    assert look(deleted) is None
    found = {id: look(id) for id in (done, failing, given_up, again, pushing)}
    assert {id: (row.sending.status, row.sending.attempts) for id, row in found.items()} == {
        done: ("done", 1),
        failing: ("dead", 2),
        given_up: ("dead", 1),
        again: ("new", 0),
        pushing: ("dead", 2),
    }
    assert (found[done].payload, found[failing].payload, found[again].payload) == ("sent", "f", "sent")
    assert found[again].sending.due_at == LATER
    assert found[failing].sending.failure.message == "ValueError: no line"
    assert "settling it cannot push messages" in found[pushing].sending.failure.message
    assert not [line for line in caplog.messages if "lease lost" in line]


async def done(work: Any) -> Any:
    """Return what a session's method returns, on either face."""
    return await work if isawaitable(work) else work


@pytest.mark.parametrize("mode", MODES)
def test_what_a_handler_does_to_its_own_row_stands_and_what_it_has_undone_does_not(
    work: Any, add: Any, look: Any, mode: str
) -> None:
    by_sql, deleted, undone, begun_anew = ids = add(*"sdur")
    seen: list[int] = []
    here = Mail.__table__.c

    async def handle(row: Mail, session: Any) -> None:
        id = row.id
        seen.append(id)
        row.payload = "handled"
        await done(session.flush())
        if id == by_sql:
            await done(session.execute(update(Mail.__table__).where(here.id == id).values(sending_due_at=LATER)))
        if id == deleted:
            await done(session.execute(delete(Mail.__table__).where(here.id == id)))
        if id == undone:
            savepoint = await done(session.begin_nested())
            row.sending.schedule(LATER)
            await done(session.flush())
            await done(savepoint.rollback())
        if id == begun_anew:
            row.sending.stop()
            row.sending.schedule(LATER)

    work(of_each(handle, mode), **MODES[mode])
    assert sorted(seen) == ids
    rows = {id: look(id) for id in ids}
    assert rows.pop(deleted) is None
    assert {row.payload for row in rows.values()} == {"handled"}
    assert {id: (row.sending.status, row.sending.due_at) for id, row in rows.items()} == {
        by_sql: ("new", LATER),
        undone: ("done", None),
        begun_anew: ("new", LATER),
    }


@pytest.mark.parametrize("mode", MODES)
def test_a_row_that_is_done_shows_no_error_of_an_attempt_that_failed_before(
    work: Any, add: Any, look: Any, open_queue: Any, mode: str
) -> None:
    well, badly = add("well", "badly")
    tries: list[int] = []

    async def handle(row: Mail, session: Any) -> None:
        tries.append(row.id)
        if row.id == badly or tries.count(row.id) == 1:
            raise ValueError("no line")

    work(of_each(handle, mode), retry=limited(2, fixed(timedelta(0))), **MODES[mode])
    assert (look(well).sending.status, look(well).sending.attempts, look(well).sending.failure) == ("done", 2, None)
    assert (look(badly).sending.status, look(badly).sending.failure.message) == ("dead", "ValueError: no line")
    # What an operator asks for who looks for what failed.
    assert [row.id for row in open_queue().find(Mail.sending.last_error.is_not(None))] == [badly]


@pytest.mark.parametrize("mode", MODES)
def test_what_somebody_else_changed_or_deleted_after_the_claim_is_left_alone(
    work: Any, add: Any, look: Any, engine: Engine, mode: str
) -> None:
    first, changed, deleted = add("first", "changed", "deleted")
    seen: list[int] = []

    def meddle() -> None:
        with engine.begin() as connection:
            connection.execute(text("UPDATE mail SET sending_due_at = NULL WHERE id = :id"), {"id": changed})
            connection.execute(text("DELETE FROM mail WHERE id = :id"), {"id": deleted})

    async def handle(row: Any, session: Any) -> None:
        rows = row if isinstance(row, list) else [row]
        seen.extend(one.id for one in rows)

    def fetched(record: logging.LogRecord) -> bool:
        if record.getMessage().startswith("fetched"):
            meddle()  # the rows are claimed, and no handler has begun
        return True

    log = logging.getLogger("duerow.worker")
    level = log.level
    log.setLevel(logging.INFO)
    log.addFilter(fetched)
    try:
        work(handle, **{**MODES[mode], "concurrency": 1})
    finally:
        log.removeFilter(fetched)
        log.setLevel(level)
    assert seen == [first]
    assert look(first).sending.status == "done"
    state = look(changed).sending
    assert (state.status, state.due_at) == ("new", None)


def test_a_failed_attempt_undoes_what_its_handler_wrote_and_a_transaction_holds_both(
    work: Any, add: Any, look: Any
) -> None:
    (id,) = add("written")
    attempts: list[int] = []

    async def handle(row: Mail, session: Any) -> None:
        attempts.append(row.sending.attempts)
        row.payload = f"attempt {len(attempts)}"
        row.billing.schedule(LATER)
        object_session(row).flush() if not hasattr(session, "sync_session") else None  # type: ignore[union-attr]
        if len(attempts) == 1:
            raise ValueError("too late")

    work(handle, transactional=True)
    row = look(id)
    assert (attempts, row.payload, row.sending.status) == ([1, 2], "attempt 2", "done")
    assert (row.billing.due_at, row.billing.token) == (LATER, 1)


def test_of_two_singletons_one_is_active_and_the_other_takes_over(
    add: Any, face: Face, engine: Engine, store: str
) -> None:
    if isinstance(face, AwaitedFace):  # who may work is decided by the same plans
        return
    (first,) = add("first")
    with duerow.connect(engine, migrate=True, prefix=f"permits{first}_") as db:
        queue: EntityQueue[Mail] = EntityQueue(Mail.sending, engine, permits=db)
        active: list[str] = []

        def handle(row: Mail, session: Any) -> None:
            active.append(str(row.sending.leased_by).rpartition(":")[2].partition("/")[0])

        poll = timedelta(seconds=0.05)
        workers = {name: Worker(queue, handle, singleton=True, name=name, poll=poll) for name in ("a", "b")}
        threads = {name: threading.Thread(target=worker.run, daemon=True) for name, worker in workers.items()}
        for thread in threads.values():
            thread.start()
        eventually(lambda: active)
        workers[active[0]].stop()
        threads[active[0]].join(60)
        add("second")
        eventually(lambda: len(active) == 2)
        assert set(active) == {"a", "b"}
        workers[active[1]].stop()
        threads[active[1]].join(60)


def test_a_worker_of_rows_follows_the_limits_that_an_operator_sets(
    add: Any, face: Face, engine: Engine, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(face, AwaitedFace):  # limits are read by the same plans
        return
    monkeypatch.setattr(maintenance, "SETTLED_IN", 0.0)
    with duerow.connect(engine, migrate=True, prefix=f"limits{uuid.uuid4().hex[:8]}_") as db:
        queue: EntityQueue[Mail] = EntityQueue(Mail.sending, engine, permits=db)
        assert queue.limit(rate=(2, timedelta(hours=1))) == queue.limits() == db.queue("mail.sending").limits()
        seen: list[int] = []

        def handle(row: Mail, session: Any) -> None:
            seen.append(row.id)

        worker = Worker(queue, handle, poll=timedelta(seconds=0.05))
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        eventually(lambda: worker._run is not None and worker._run.limits.rate == 2)
        ids = add(*"abcde")
        eventually(lambda: len(queue.find(status="done")) == 2)
        worker.stop()
        thread.join(60)
        assert len(seen) == 2
        assert len(queue.find()) == len(ids)
        assert queue.limit() == RunLimits() == queue.limits()


def test_rows_have_limits_only_with_a_database_that_keeps_them(engine: Engine, face: Face) -> None:
    if isinstance(face, AwaitedFace):
        return
    queue: EntityQueue[Mail] = EntityQueue(Mail.sending, engine)
    assert queue.limits() == RunLimits()
    with pytest.raises(ConfigurationError, match=r"no table for limits.*permits=duerow\.connect"):
        queue.limit(concurrency=2)
    with pytest.raises(ConfigurationError, match="concurrency must be a number of handlers"):
        queue.limit(concurrency=0)


def test_a_worker_of_rows_takes_no_processes_and_only_queues_of_its_face(engine: Engine, face: Face) -> None:
    if isinstance(face, AwaitedFace):
        return
    queue: EntityQueue[Mail] = EntityQueue(Mail.sending, engine)
    with pytest.raises(ConfigurationError, match="processes= cannot be used with mail"):
        Worker(queue, print, processes=2)
    with pytest.raises(ConfigurationError, match=r"'mail\.sending'> holds rows .* takes only one such queue"):
        Worker([queue], print)  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match=r"permits=duerow\.connect"):
        Worker(queue, print, singleton=True)
    with pytest.raises(ConfigurationError, match=r"duerow\.aio"):
        aio.Worker(queue, print)


async def test_after_a_worker_the_users_engine_goes_on_in_its_own_loop(
    add: Any, engine: Engine, store: str, caplog: pytest.LogCaptureFixture
) -> None:
    if store == "sqlite":  # its connections are of no loop
        return
    add(*range(3))
    driver = {"postgresql": "postgresql+asyncpg", "mssql": "mssql+aioodbc"}.get(store, "mysql+asyncmy")
    own = create_async_engine(engine.url.set(drivername=driver))
    queue: AwaitedEntityQueue[Mail] = AwaitedEntityQueue(Mail.sending, own)

    async def handle(rows: list[Mail], session: Any) -> None:
        for row in rows:
            row.payload = "sent"

    for _ in range(2):
        await aio.Worker(queue, handle, whole_batch=True).run(until="idle")
        assert await queue.count(status="done") == 3
    await own.dispose()
    assert not [line for line in caplog.messages if "Exception" in line]


@pytest.fixture
def within_driver(engine: Engine) -> Iterator[Engine]:
    """An engine of another blocking driver, where there is one."""
    other = engine
    if engine.dialect.name == "postgresql":
        other = create_engine(engine.url.set(drivername="postgresql+psycopg2"))
    yield other
    if other is not engine:
        other.dispose()


def test_a_turn_ends_in_the_callers_session_or_not_at_all(
    within_driver: Engine, add: Any, look: Any, face: Face
) -> None:
    if isinstance(face, AwaitedFace):  # an AsyncSession cannot be used from here; the statements are the same
        return
    (id,) = add("hello")
    queue: EntityQueue[Mail] = EntityQueue(Mail.sending, within_driver, on_done=lambda row, session: row.billing.stop())
    reservation = queue.reserve()
    assert reservation is not None
    for end in ("rollback", "commit"):
        with Session(within_driver) as session:
            row = queue.load(session, reservation)
            assert row is not None
            row.payload = "sent"
            queue.commit(reservation, within=session)
            getattr(session, end)()
        expected = ("hello", "new") if end == "rollback" else ("sent", "done")
        assert (look(id).payload, look(id).sending.status) == expected
    with Session(within_driver) as session:
        assert queue.load(session, reservation) is None


def test_what_a_handler_wrote_when_its_time_was_up_does_not_last(
    add: Any, look: Any, engine: Engine, face: Face
) -> None:
    if isinstance(face, AwaitedFace):  # there the handler is cancelled, and nothing is committed after it
        return
    (id,) = add("hello")
    ended = threading.Event()

    def handle(row: Mail, session: Any) -> None:
        row.payload = "too late"
        attempt = duerow.current()
        assert attempt is not None
        assert attempt.wait(60)

    def seen_off(message: Any, call_next: Callable[[Any], Any]) -> Any:
        try:
            return call_next(message)
        finally:
            ended.set()

    queue: EntityQueue[Mail] = EntityQueue(Mail.sending, engine, retry=limited(1, fixed(timedelta(0))))
    Worker(queue, handle, timeout=timedelta(seconds=0.1), middleware=[seen_off]).run(until="idle")
    assert ended.wait(60)
    assert (look(id).payload, look(id).sending.status) == ("hello", "dead")
    assert look(id).sending.failure.type == "TimedOut"


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_were_in_hand_when_their_worker_died_are_handled_one_by_one(
    work: Any, add: Any, open_queue: Any, look: Any, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    ids = add(*"abc")
    assert len(open_queue().reserve_many(3, lease=timedelta(milliseconds=1))) == 3
    seen: list[int] = []

    async def handle(row: Mail, session: Any) -> None:
        seen.append(row.id)

    caplog.set_level(logging.INFO, "duerow.worker")
    work(of_each(handle, mode), **MODES[mode])
    assert sorted(seen) == sorted(ids)
    assert {look(id).sending.status for id in ids} == {"done"}
    apart = [line for line in caplog.messages if "each is handled alone" in line]
    assert [line.partition(" of ")[0] for line in apart] == ["1", "1", "1"]
