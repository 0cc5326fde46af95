"""A wide table of a user's own as a queue: by hand as plain SQL, and by duerow's entity queue.

The table has 40 columns of the user's and rows of 2 kB. By hand a claim, the reading of the rows and the end of their
turns are the statements that a careful engineer would write on the same columns: as many, in the same transactions.

One by one there are two of these engineers. What duerow promises is that the handler is given the row as an object of
its model, in a session; so the one that the bar is about writes the same with SQLAlchemy's ORM. The other one reads
tuples with the bare driver. Both know the server as a user's engine does. All hand each whole row to a function that
does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, LiteralString

import psycopg
from sqlalchemy import Engine, Text, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from bench.processes import Prepared
from duerow import Worker
from duerow.entity import EntityQueue, QueueState, queue_state

FILLERS = 38
FILLER = "f" * 50
AHEAD = 100
"""Rows that are claimed together where each ends in a transaction of its own."""

TOGETHER = 1_000


class Base(DeclarativeBase):
    """The user's tables."""


class Item(Base):
    """A wide row."""

    __tablename__ = "bench_item"
    __table_args__: Any = ()
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    working: Mapped[QueueState] = queue_state("working")


for place in range(FILLERS):
    setattr(Item, f"filler_{place}", mapped_column(Text))

CLAIM: LiteralString = """
UPDATE bench_item
   SET working_due_at = statement_timestamp() + interval '60 s', working_place_at = working_due_at,
       working_leased_until = statement_timestamp() + interval '60 s', working_leased_by = 'by hand',
       working_token = working_token + 1, working_attempts = working_attempts + 1,
       working_last_attempt_at = statement_timestamp()
 WHERE id = ANY (ARRAY (SELECT id FROM bench_item WHERE working_due_at <= statement_timestamp()
                        ORDER BY working_due_at, id LIMIT %s FOR NO KEY UPDATE SKIP LOCKED))
RETURNING id, working_token"""

READ: LiteralString = "SELECT * FROM bench_item WHERE id = ANY (%s)"
LOCK: LiteralString = "SELECT * FROM bench_item WHERE id = %s FOR NO KEY UPDATE"

DONE: LiteralString = """
UPDATE bench_item AS item
   SET working_status = 'done', working_due_at = NULL, working_token = working_token + 1, working_leased_by = NULL,
       working_leased_until = NULL, working_finished_at = statement_timestamp()
  FROM unnest(%b::bigint[], %b::bigint[]) AS receipt (id, token)
 WHERE item.id = receipt.id AND item.working_token = receipt.token AND item.working_due_at = item.working_leased_until
RETURNING item.id"""


def prepare_table(url: str) -> None:
    """Make the table."""
    engine = create_engine(_named(url))
    Base.metadata.create_all(engine)
    engine.dispose()


def fill(url: str, pending: int, finished: int = 0) -> list[int]:
    """Start anew with so many rows that are due behind so many that are done; return the ids of the former."""
    fillers = ", ".join(f"filler_{place}" for place in range(FILLERS))
    state = "working_status, working_due_at, working_first_due_at, working_attempts, working_token"
    insert = f"INSERT INTO bench_item (name, {fillers}, {state}) SELECT 'name', {', '.join([repr(FILLER)] * FILLERS)}, "
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(b"TRUNCATE bench_item")
        done = f"{insert}'done', NULL, statement_timestamp(), 1, 2 FROM generate_series(1, {finished})"
        connection.execute(done.encode())
        due = f"{insert}'new', statement_timestamp(), statement_timestamp(), 0, 0 FROM generate_series(1, {pending})"
        ids = [row[0] for row in connection.execute(f"{due} RETURNING id".encode())]
        connection.execute(b"VACUUM ANALYZE bench_item")
        connection.execute(b"CHECKPOINT")
    return ids


def left(url: str) -> int:
    """Return how many rows still have a due time."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM bench_item WHERE working_due_at IS NOT NULL").fetchone()
        return int(row[0]) if row else 0


def by_hand_together(url: str) -> Prepared[list[int]]:
    """By hand in batches: claim, read, mark as done."""
    cursor = _cursor(url)

    def run() -> list[int]:
        seen: list[int] = []
        while claimed := cursor.execute(CLAIM, (TOGETHER,), prepare=True).fetchall():
            for row in cursor.execute(READ, ([id for id, _ in claimed],), prepare=True).fetchall():
                _handle(row)
            seen += _ended(cursor, claimed)
        return seen

    return run


def objects_singly(url: str) -> Prepared[list[int]]:
    """By hand with the ORM, each row loaded, handled and marked as done in a transaction of its own."""
    engine = create_engine(_named(url))

    def run() -> list[int]:
        seen: list[int] = []
        while claimed := _claimed(engine):
            for id, token in claimed:
                with Session(engine) as session, session.begin():
                    _handle(session.get(Item, id, with_for_update={"key_share": True, "of": Item}))
                    done = session.connection().exec_driver_sql(DONE.replace("%b", "%s"), ([id], [token]))
                    seen += done.scalars()
        return seen

    return run


def objects_apart(url: str) -> Prepared[list[int]]:
    """By hand with the ORM, each row loaded and handled in a session of its own, and marked as done after it."""
    engine = create_engine(_named(url))

    def run() -> list[int]:
        seen: list[int] = []
        while claimed := _claimed(engine):
            for id, token in claimed:
                with Session(engine, expire_on_commit=False) as session:
                    row = session.get(Item, id)
                    session.commit()
                    _handle(row)
                    session.commit()
                with engine.begin() as connection:
                    seen += connection.exec_driver_sql(DONE.replace("%b", "%s"), ([id], [token])).scalars()
        return seen

    return run


def _claimed(engine: Engine) -> list[tuple[int, int]]:
    with engine.begin() as connection:
        return [(id, token) for id, token in connection.exec_driver_sql(CLAIM, (AHEAD,))]


def tuples_singly(url: str) -> Prepared[list[int]]:
    """By hand with the driver, each row read, handled and marked as done in a transaction of its own."""
    cursor = _cursor(url)

    def run() -> list[int]:
        seen: list[int] = []
        while claimed := cursor.execute(CLAIM, (AHEAD,), prepare=True).fetchall():
            for one in claimed:
                with cursor.connection.transaction():
                    _handle(cursor.execute(LOCK, one[:1], prepare=True).fetchone())
                    seen += _ended(cursor, [one])
        return seen

    return run


def ours_together(url: str) -> Prepared[list[int]]:
    """Duerow's worker, whole batches."""
    seen: list[int] = []

    def handle(rows: list[Item], session: Any) -> None:
        for row in rows:
            _handle(row)
            seen.append(row.id)

    worker = Worker(_queue(url), handle, whole_batch=True, batch=TOGETHER)
    return lambda: _worked(worker, seen)


def ours_singly(url: str) -> Prepared[list[int]]:
    """Duerow's worker, transactional: what the handler writes and the end of the turn are one transaction."""
    seen: list[int] = []

    def handle(row: Item, session: Any) -> None:
        _handle(row)
        seen.append(row.id)

    worker = Worker(_queue(url), handle, transactional=True, batch=AHEAD)
    return lambda: _worked(worker, seen)


def ours_apart(url: str) -> Prepared[list[int]]:
    """Duerow's worker, at least once: each row in a session of its own, and its turn ended when that is over."""
    seen: list[int] = []

    def handle(row: Item, session: Any) -> None:
        _handle(row)
        seen.append(row.id)

    worker = Worker(_queue(url), handle, batch=AHEAD)
    return lambda: _worked(worker, seen)


def claim_and_settle(url: str) -> Prepared[list[int]]:
    """Duerow's claims and settlements alone, a hundred rows at a time, without reading the rows."""
    queue = _queue(url)

    def run() -> list[int]:
        seen: list[int] = []
        while lent := queue.reserve_many(AHEAD):
            if refused := queue.commit_many(lent):
                raise AssertionError(f"{len(refused)} rows were refused")
            seen += [one.message.id for one in lent]
        return seen

    return run


def _queue(url: str) -> EntityQueue[Item]:
    queue: EntityQueue[Item] = EntityQueue(Item.working, create_engine(_named(url)))
    queue.check()
    return queue


def _worked(worker: Worker, seen: list[int]) -> list[int]:
    worker.run(until="idle")
    return seen


def _cursor(url: str) -> psycopg.Cursor[Any]:
    connection = psycopg.connect(url, autocommit=True)
    for plan in ("seqscan", "hashjoin", "mergejoin"):
        connection.execute(f"SET enable_{plan} = off".encode())
    return connection.cursor(binary=True)


def _ended(cursor: psycopg.Cursor[Any], claimed: Sequence[Sequence[int]]) -> Iterable[int]:
    receipts = ([row[0] for row in claimed], [row[1] for row in claimed])
    return [row[0] for row in cursor.execute(DONE, receipts, prepare=True)]


def _handle(row: object) -> None:
    """What a handler that does nothing costs."""


def _named(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://")
