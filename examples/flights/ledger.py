"""The demo's own tables, in the same database as its queues: what they say is written in one transaction with them."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    insert,
    make_url,
    select,
)

from duerow.errors import ConfigurationError

TABLES: Final = MetaData()

PROGRESS: Final = Table(
    "demo_progress",
    TABLES,
    Column("name", String(20), primary_key=True),
    Column("done", Integer, nullable=False),
)
"""How far a part of the demo has come: one row, PUSHED, changed in the transaction that pushes flights."""

PUSHED: Final = "pushed"

FLIGHT: Final = Table(
    "demo_flight",
    TABLES,
    Column("message_id", BigInteger, primary_key=True, autoincrement=False),
    Column("line", Integer, nullable=False),
    Column("outcome", String(20), nullable=False),
    Column("problem", String(200)),
    Column("airline", String(2)),
    Column("origin", String(3)),
    Column("dest", String(3)),
    Column("month", Integer),
    Column("day", Integer),
    Column("hour", Integer),
    Column("departed_late", Integer),
    Column("arrived_late", Integer),
    Column("wind_mph", Float),
    Column("rain_inches", Float),
    Column("visibility_miles", Float),
    Column("plane_built", Integer),
    Column("seats", Integer),
)
"""A flight that reached an end of the pipeline: written in the transaction that takes it from there. Delays are
minutes. `outcome` is landed, late, cancelled or malformed."""

VISIT: Final = Table(
    "demo_visit",
    TABLES,
    Column("message_id", BigInteger, primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True),
    Column("queue", String(100), nullable=False),
    Column("entered", BigInteger, nullable=False),
    Column("taken", BigInteger, nullable=False),
    Column("left", BigInteger, nullable=False),
    Column("attempt", Integer, nullable=False),
)
"""A flight's stay in one queue, at which place of its way, and when it entered it, was taken for the last time and left
it, in microseconds since 1970."""

SMS: Final = Table(
    "demo_sms",
    TABLES,
    Column("sms_id", BigInteger, primary_key=True, autoincrement=False),
    Column("flight_id", BigInteger, nullable=False),
    Column("number", String(20), nullable=False),
)
"""A text message that was pushed for a flight: written in the transaction that pushes it."""

CALL: Final = Table(
    "demo_call",
    TABLES,
    Column("sms_id", BigInteger, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True),
    Column("answer", String(20), nullable=False),
    Column("entered", BigInteger, nullable=False),
    Column("taken", BigInteger, nullable=False),
    Column("seconds", Float, nullable=False),
)
"""The gateway's own book: each call that it answered, and how. `answer` is accepted, repeated, busy, unreachable or
refused; `entered` and `taken` are microseconds since 1970."""


def open_engine(url: str) -> Engine:
    """Return an engine for the demo's tables, as an application would have one for its own.

    Raises:
        ConfigurationError: the demo does not run on such a database.
    """
    family = url.partition(":")[0].partition("+")[0]
    if family == "sqlite":
        return _sqlite(create_engine(url, connect_args={"timeout": 60}))
    if family == "postgresql":
        return create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    raise ConfigurationError(
        f"the demo runs on SQLite and PostgreSQL; {url!r:.80} is no URL of these, such as sqlite:///build/demo.db"
    )


def prepare(engine: Engine) -> None:
    """Create the tables that are missing."""
    TABLES.create_all(engine)
    with engine.begin() as connection:
        if connection.scalar(select(PROGRESS.c.name).where(PROGRESS.c.name == PUSHED)) is None:
            connection.execute(insert(PROGRESS).values(name=PUSHED, done=0))


def _sqlite(engine: Engine) -> Engine:
    """Let each transaction be a writer from its beginning: one that reads first could not always turn into one."""

    @event.listens_for(engine, "connect")
    def leave_transactions_to_us(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
