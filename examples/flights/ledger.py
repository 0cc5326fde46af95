"""The demo's own tables. They are in the same database as its queues, so that one transaction can change both."""

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
"""The progress of the demo: one row, PUSHED, which changes in the transaction that pushes flights."""

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
"""The flights that have reached an output of the pipeline. Each row is written in the transaction that takes the flight
from that output. Delays are in minutes. `outcome` is landed, late, cancelled or malformed."""

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
"""The stays of flights in queues. `place` is the position of the stay on the flight's path. `entered`, `taken` (for the
last time) and `left` are microseconds since 1970."""

SMS: Final = Table(
    "demo_sms",
    TABLES,
    Column("sms_id", BigInteger, primary_key=True, autoincrement=False),
    Column("flight_id", BigInteger, nullable=False),
    Column("number", String(20), nullable=False),
)
"""The text messages. Each row is written in the transaction that pushes the text message for a flight."""

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
"""The gateway's own record of the calls that it answered. `answer` is accepted, repeated, busy, unreachable or refused;
`entered` and `taken` are microseconds since 1970."""


def open_engine(url: str) -> Engine:
    """Return an engine for the demo's tables, like the engine that an application uses for its own tables.

    Raises:
        ConfigurationError: the demo does not run on this kind of database.
    """
    family = url.partition(":")[0].partition("+")[0]
    if family == "sqlite":
        return _sqlite(create_engine(url, connect_args={"timeout": 60}))
    if family == "postgresql":
        return create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    raise ConfigurationError(
        f"the demo runs on SQLite and PostgreSQL; {url!r:.80} is not a URL for either, such as sqlite:///build/demo.db"
    )


def prepare(engine: Engine) -> None:
    """Create any missing tables."""
    TABLES.create_all(engine)
    with engine.begin() as connection:
        if connection.scalar(select(PROGRESS.c.name).where(PROGRESS.c.name == PUSHED)) is None:
            connection.execute(insert(PROGRESS).values(name=PUSHED, done=0))


def _sqlite(engine: Engine) -> Engine:
    """Make every transaction a writer from the start: one that reads first cannot always become a writer later."""

    @event.listens_for(engine, "connect")
    def leave_transactions_to_us(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
