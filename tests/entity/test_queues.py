"""An entity queue: rows are lent and settled, and whoever changes a row's state ends the turn of its holder."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pymysql
import pytest
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from duerow import Bury, Commit, Move, Release, Retry, Rollback, fixed, limited
from duerow.aio.entity import EntityQueue as AwaitedEntityQueue
from duerow.entity import EntityQueue, QueueState, queue_state
from duerow.errors import ConfigurationError, Conflict, LeaseLost, NotSupported, StoreUnavailable
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.faces import AwaitedFace, Face, another
from duerow.testing.faults import fail_at, watch
from tests.entity.faces import engine_of_face, queue_of_face
from tests.entity.models import Bill, Billing, Document, Letter, Mail
from tests.servers.fixtures import ON_MYSQL

ENDINGS: dict[str, Callable[[Any, Any], object]] = {
    "commit": lambda queue, mine: queue.commit(mine),
    "rollback": lambda queue, mine: queue.rollback(mine, delay=minutes(1), error="failed"),
    "bury": lambda queue, mine: queue.bury(mine, "no use"),
    "release": lambda queue, mine: queue.release(mine),
    "extend": lambda queue, mine: queue.extend(mine, minutes(1)),
    "itself": lambda queue, mine: mine.commit(),
}


def schedule(engine: Engine, id: int) -> None:
    with Session(engine) as session, session.begin():
        row = session.get(Mail, id)
        assert row is not None
        row.sending.schedule()


def plain_sql(engine: Engine, sql: str, **values: Any) -> None:
    with engine.begin() as connection:
        connection.execute(text(sql), values)


LOSSES: dict[str, Callable[[Any, Any, MovableClock, Engine], object]] = {
    "taken by another": lambda queue, mine, clock, engine: (clock.advance(hours(1)), queue.reserve()),
    "scheduled": lambda queue, mine, clock, engine: schedule(engine, mine.message.id),
    "committed": lambda queue, mine, clock, engine: queue.commit(mine),
    "rolled back": lambda queue, mine, clock, engine: queue.rollback(mine, delay=minutes(1)),
    "buried": lambda queue, mine, clock, engine: queue.bury(mine, "no use"),
    "released and lent again": lambda queue, mine, clock, engine: (queue.release_many([mine]), queue.reserve()),
    "deleted": lambda queue, mine, clock, engine: plain_sql(engine, "DELETE FROM mail"),
    "given another due time by plain SQL": lambda queue, mine, clock, engine: plain_sql(
        engine, "UPDATE mail SET sending_due_at = sending_first_due_at"
    ),
    "stopped by plain SQL": lambda queue, mine, clock, engine: plain_sql(
        engine, "UPDATE mail SET sending_due_at = NULL"
    ),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_row_that_is_no_longer_ours_is_not_changed(
    open_queue: Any, add: Any, look: Any, clock: MovableClock, engine: Engine, loss: str
) -> None:
    queue = open_queue()
    (id,) = add("hello")
    mine = queue.reserve(lease=minutes(1))
    LOSSES[loss](queue, mine, clock, engine)
    before = look(id)
    for settle in ENDINGS.values():
        with pytest.raises(LeaseLost, match=f"message {id} is no longer yours"):
            settle(queue, mine)
    after = look(id)
    assert (before is None) == (after is None)
    if before is not None:
        assert after.sending.__composite_values__() == before.sending.__composite_values__()


def test_a_turn_ends_as_it_was_told_however_late_and_the_row_says_so(
    open_queue: Any, add: Any, look: Any, clock: MovableClock
) -> None:
    queue = open_queue(retry=limited(2, fixed(minutes(5))))
    ids = add(*range(5))
    done, failed, dead, back, moved = queue.reserve_many(5, lease=seconds(1))
    clock.advance(hours(1000))
    ends = [(moved, Move("elsewhere")), (back, Release()), (dead, Bury("no use")), (done, Commit())]
    (refused,) = queue.settle([*ends, (failed, Rollback(minutes(1), "no line"))])
    assert refused.receipt == moved.receipt
    assert isinstance(refused.error, NotSupported)
    queue.commit(moved)
    states = [look(id).sending for id in ids]
    assert [state.status for state in states] == ["done", "error", "dead", "new", "done"]
    assert [state.attempts for state in states] == [1, 1, 1, 0, 1]
    assert [state.finished_at for state in states] == [clock.now(), None, clock.now(), None, clock.now()]
    assert [state.due_at is None for state in states] == [True, False, True, False, True]
    assert states[1].failure.message == "no line"
    assert states[1].due_at == clock.now() + minutes(1)


def test_states_of_a_row_are_queues_of_their_own(open_queue: Any, add: Any, look: Any, engine: Engine) -> None:
    sending, billing = open_queue(), open_queue(Mail.billing)
    (id,) = add("hello")
    assert (sending.name, billing.name) == ("mail.sending", "mail.billing")
    assert billing.reserve() is None
    mine = sending.reserve()
    with Session(engine) as session, session.begin():
        row = session.get_one(Mail, id)
        row.billing.schedule(mine.message.due_at)
    theirs = billing.reserve()
    with pytest.raises(ConfigurationError, match=r"reserved from queue 'mail\.billing'"):
        sending.commit(theirs)
    sending.commit(mine)
    assert (look(id).sending.status, look(id).billing.leased_by) == ("done", theirs.message.leased_by)


def test_a_row_revived_by_plain_sql_is_handed_out_whatever_it_was(
    open_queue: Any, add: Any, look: Any, clock: MovableClock, engine: Engine
) -> None:
    queue = open_queue(retry=limited(1, fixed(seconds(0))))
    dead, done, leased = add("dead", "done", "leased")
    first, second, _ = queue.reserve_many(3)
    queue.rollback(first, error="no line")
    queue.commit(second)
    plain_sql(engine, "UPDATE mail SET sending_due_at = sending_first_due_at")
    clock.advance(seconds(1))
    again = queue.reserve_many(3)
    assert [(one.message.id, one.attempt, one.message.status) for one in again] == [
        (dead, 2, "error"),
        (done, 2, "new"),
        (leased, 2, "new"),
    ]
    assert look(leased).sending.failure is None
    assert look(done).sending.finished_at is None


def test_what_is_done_is_kept_or_deleted_or_given_to_a_function_in_the_same_transaction(
    open_queue: Any, add: Any, look: Any, face: Face
) -> None:
    fails = [True]

    def bill(row: Any, session: Any) -> None:
        row.billing.schedule()
        if fails.pop():
            raise ValueError("no price")

    async def bill_later(row: Any, session: Any) -> None:
        bill(row, session)

    (id,) = add("hello")
    function = bill_later if isinstance(face, AwaitedFace) else bill
    queue = open_queue(on_done=function)
    mine = queue.reserve()
    with pytest.raises(ValueError, match="no price"):
        queue.commit(mine)
    assert (look(id).sending.status, look(id).billing.due_at) == ("new", None)
    fails.append(False)
    queue.commit(mine)
    assert look(id).sending.status == "done"
    assert look(id).billing.due_at is not None
    (gone,) = add("bye")
    deleting = open_queue(on_done="delete")
    deleting.commit(deleting.reserve())
    assert look(gone) is None


def fail(row: Any) -> None:
    row.payload = "changed"
    raise ValueError("no line")


def test_a_block_gives_the_row_and_its_session_and_ends_the_turn(open_queue: Any, add: Any, look: Any) -> None:
    queue = open_queue(retry=limited(2, fixed(seconds(0))))
    (id,) = add("hello")
    with pytest.raises(ValueError, match="no line"), queue.reserving() as lent:
        fail(lent[0])
    assert (look(id).payload, look(id).sending.status) == ("hello", "error")
    with queue.reserving() as lent:
        lent[0].payload = "changed"
    assert (look(id).payload, look(id).sending.status) == ("changed", "done")
    with queue.reserving() as lent:
        assert lent is None
    (other,) = add("later")
    with queue.reserving():
        raise Retry(minutes(3))
    assert look(other).sending.failure.type == "Retry"


def test_consumers_that_race_get_each_row_once(
    open_queue: Any, add: Any, face: Face, url: str, clock: MovableClock
) -> None:
    ids = add(*range(120))

    def drain(size: int) -> list[int]:
        mine: list[int] = []
        with another(face) as own, engine_of_face(own, url) as engine:
            queue = queue_of_face(own, Mail.sending, engine, clock, {})
            while batch := queue.reserve_many(size):
                mine += [one.message.id for one in batch]
                assert queue.commit_many(batch) == []
        return mine

    with ThreadPoolExecutor(3) as threads:
        taken = [id for mine in threads.map(drain, (1, 3, 7)) for id in mine]
    assert sorted(taken) == ids


def test_leases_go_on_beside_a_row_that_its_own_handler_has_locked(
    open_queue: Any, add: Any, look: Any, clock: MovableClock, engine: Engine
) -> None:
    if engine.dialect.name == "sqlite":  # there a transaction that writes has the whole file for itself
        return
    queue = open_queue()
    locked, free, lost = add("locked", "free", "lost")
    mine = queue.reserve_many(3, lease=minutes(1))
    queue.release(mine[2])
    clock.advance(seconds(30))
    with Session(engine) as session, session.begin():
        session.get_one(Mail, locked, with_for_update=True)
        assert [one.receipt.id for one in queue.extend_many(mine)] == [lost]
        assert queue.extend(mine[0]).until == mine[0].until
    assert look(free).sending.leased_until == clock.now() + minutes(1)
    assert queue.commit_many(mine[:2]) == []


class Odd(DeclarativeBase):
    """Models that cannot be queues."""


class Keyed(Odd):
    """By bytes."""

    __tablename__ = "keyed"
    name: Mapped[bytes] = mapped_column(primary_key=True)
    sending: Mapped[QueueState] = queue_state("sending")


def test_what_cannot_be_a_queue_is_refused_with_what_to_do() -> None:
    blocking, awaited = create_engine("sqlite://"), create_async_engine("sqlite+aiosqlite://")
    with pytest.raises(ConfigurationError, match=r"Keyed\.sending: the column name of the primary key is LargeBinary"):
        EntityQueue(Keyed.sending, blocking)
    for heir in (Letter, Bill):
        with pytest.raises(ConfigurationError, match=r"declared in Document, .*: use Document\.sending, "):
            EntityQueue(heir.sending, blocking)
    for joined in (Document.sending, Letter.posting, Bill.collecting):
        with pytest.raises(ConfigurationError, match=r"kept in several joined tables; give a function"):
            EntityQueue(joined, blocking, on_done="delete")
    with pytest.raises(ConfigurationError, match=r"as in SmsMessage\.sending"):
        EntityQueue(Billing.key, blocking)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"for an AsyncEngine use duerow\.aio\.entity"):
        EntityQueue(Mail.sending, awaited)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"for an Engine use duerow\.entity"):
        AwaitedEntityQueue(Mail.sending, blocking)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="on_done must be"):
        EntityQueue(Mail.sending, blocking, on_done="archive")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="cannot be called 'Two Words'"):
        queue_state("Two Words")


def test_a_settlement_that_broke_is_written_again_or_its_outcome_is_unknown(
    engine: Engine, add: Any, look: Any, clock: MovableClock
) -> None:
    for point, certain in (("settle: before", True), ("settle: committed", False)):
        (id,) = add("hello")
        queue: EntityQueue[Mail] = EntityQueue(Mail.sending, engine, clock=clock)
        mine = queue.reserve()
        assert mine is not None
        watch(queue.worker_queue.database, fail_at(point, StoreUnavailable("gone", outcome="unknown")))
        queue.worker_queue._store = queue.worker_queue.database.store
        if certain:
            queue.commit(mine)
        else:
            with pytest.raises(StoreUnavailable, match=f"while messages {id} of queue 'mail.sending'") as told:
                queue.commit(mine)
            assert told.value.outcome == "unknown"
        assert look(id).sending.status == "done"


class Deadlock:
    """Has the database choose another transaction, as often as said, when one is about to change rows."""

    def __init__(self, engine: Any, times: int) -> None:
        self.engine, self.times, self.met = getattr(engine, "sync_engine", engine), times, 0

    def __enter__(self) -> Deadlock:
        event.listen(self.engine, "before_cursor_execute", self.meet)
        return self

    def __exit__(self, *_: object) -> None:
        event.remove(self.engine, "before_cursor_execute", self.meet)

    def meet(self, connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if re.search(r"\bUPDATE\b.+\bSET\b", statement, re.DOTALL) and self.met < self.times:
            self.met += 1
            deadlock = psycopg.errors.DeadlockDetected() if connection.dialect.name == "postgresql" else _chosen()
            raise OperationalError(statement, {}, deadlock)


def _chosen() -> Exception:
    return pymysql.err.OperationalError(1213, "Deadlock found when trying to get lock; try restarting transaction")


@pytest.mark.parametrize("store", ["postgresql", "mariadb", *ON_MYSQL], indirect=True)  # SQLite knows no deadlock
def test_a_deadlock_of_a_transaction_of_ours_reaches_nobody(
    open_queue: Any, add: Any, look: Any, own_engine: Any, face: Any
) -> None:
    done = []

    async def note_later(row: Any, session: Any) -> None:
        done.append(row.id)

    def note(row: Any, session: Any) -> None:
        done.append(row.id)

    (id,) = add("hello")
    queue = open_queue(on_done=note_later if isinstance(face, AwaitedFace) else note)
    with Deadlock(own_engine, times=3) as deadlock:
        assert queue.requeue(Mail.id == id).count == 1
    assert deadlock.met == 3
    mine = queue.reserve()
    with Deadlock(own_engine, times=3) as deadlock:
        queue.commit(mine)
    assert (deadlock.met, done) == (3, [id])
    assert look(id).sending.status == "done"
    with Deadlock(own_engine, times=100), pytest.raises(Conflict):
        queue.requeue(Mail.id == id)
    assert look(id).sending.status == "done"
