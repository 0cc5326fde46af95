"""What `within=` refuses, and the business row that shares a message's fate. Taken in by each SQL store."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, func, select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import NullPool

import duerow
from duerow import Queue, aio
from duerow.errors import ConfigurationError, SchemaOutdated, StoreRefused, StoreUnavailable
from duerow.testing.conformance.fixtures import Place

DRIVERS = {
    "sqlite": ("sqlite+pysqlite", "sqlite+aiosqlite"),
    "postgresql": ("postgresql+psycopg", "postgresql+asyncpg"),
    "mysql": ("mysql+pymysql", "mysql+asyncmy"),
    "mssql": ("mssql+pyodbc", "mssql+aioodbc"),
}


def urls(place: Place) -> tuple[str, str]:
    """The blocking and the awaited URL of the test's database."""
    family, _, rest = place.url.partition("://")
    blocking, awaited = DRIVERS[family]
    return f"{blocking}://{rest}", f"{awaited}://{rest}"


class Base(DeclarativeBase):
    """The application's own tables."""


class Order(Base):
    """A business row."""

    __tablename__ = "application_order"
    id: Mapped[int] = mapped_column(primary_key=True)
    total: Mapped[int]


@pytest.fixture
def engine(place: Place) -> Iterator[Engine]:
    """The application's engine, with its own tables."""
    engine = create_engine(urls(place)[0], poolclass=NullPool)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    yield engine
    Base.metadata.drop_all(engine)
    engine.dispose()


def orders(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(Order)) or 0


def order_and_push(session: Session, queue: Queue) -> None:
    order = Order(total=7)
    session.add(order)
    session.flush()
    queue.push({"order": order.id}, key=f"order-{order.id}", within=session)


def test_a_business_row_and_its_message_are_committed_together(place: Place, engine: Engine) -> None:
    with duerow.connect(place.url, **place.settings) as database, Session(engine) as session:
        queue = database.queue("mail")
        with session.begin():
            order_and_push(session, queue)
            assert queue.count() == 0
        assert (orders(engine), queue.count()) == (1, 1)


def test_a_business_row_and_its_message_are_rolled_back_together(place: Place, engine: Engine) -> None:
    with duerow.connect(place.url, **place.settings) as database, Session(engine) as session:
        queue = database.queue("mail")
        with session.begin() as transaction:
            order_and_push(session, queue)
            transaction.rollback()
        assert (orders(engine), queue.count()) == (0, 0)


def test_a_savepoint_that_is_rolled_back_takes_its_message_along(place: Place, engine: Engine) -> None:
    with duerow.connect(place.url, **place.settings) as database, Session(engine) as session:
        queue = database.queue("mail")
        with session.begin():
            order_and_push(session, queue)
            savepoint = session.begin_nested()
            order_and_push(session, queue)
            savepoint.rollback()
            queue.push("last", within=session)
        assert (orders(engine), queue.count()) == (1, 2)


def test_a_message_and_the_business_row_of_its_effect_are_settled_together(place: Place, engine: Engine) -> None:
    with duerow.connect(place.url, **place.settings) as database, Session(engine) as session:
        queue = database.queue("mail")
        queue.push(5)
        with session.begin() as transaction:
            assert queue.pop(within=session) is not None
            session.add(Order(total=5))
            session.flush()
            transaction.rollback()
        with session.begin():
            message = queue.pop(within=session)
            assert message is not None
            session.add(Order(total=message.payload))
        assert (orders(engine), queue.count()) == (1, 0)


def test_a_handle_may_be_opened_on_the_applications_engine(place: Place, engine: Engine) -> None:
    with duerow.connect(engine, **place.settings) as database, engine.begin() as connection:
        database.queue("mail").push("hello", within=connection)
    with duerow.connect(engine, **place.settings) as database:
        assert database.queue("mail").count() == 1
    assert orders(engine) == 0  # the engine is the application's own, and still open


@pytest.mark.parametrize("begun", [False, True], ids=["not begun", "begun in name only"])
def test_a_connection_that_commits_each_statement_is_refused(place: Place, engine: Engine, begun: bool) -> None:
    alone = engine.execution_options(isolation_level="AUTOCOMMIT")
    with duerow.connect(place.url, **place.settings) as database:
        queue = database.queue("mail")
        with alone.connect() as connection, Session(alone) as session:
            if begun:
                connection.begin()
                session.begin()
            for within in (connection, session):
                with pytest.raises(ConfigurationError, match="within= needs an open transaction"):
                    queue.push("hello", within=within)
        assert queue.count() == 0


def test_a_closed_connection_is_refused(place: Place, engine: Engine) -> None:
    closed = engine.connect()
    closed.close()
    with engine.connect() as open_one:
        own_of_driver: Any = open_one.connection.driver_connection
        open_one.connection.detach()
        own_of_driver.close()
    with duerow.connect(place.url, **place.settings) as database:
        queue = database.queue("mail")
        with pytest.raises(ConfigurationError, match=r"within= cannot be used, .*This Connection is closed"):
            queue.push("hello", within=closed)
        with pytest.raises((ConfigurationError, StoreUnavailable), match="closed"):
            queue.push("hello", within=own_of_driver)
        assert queue.count() == 0


def test_a_closed_connection_is_refused_by_the_async_face(place: Place) -> None:
    async def refuse() -> None:
        own = create_async_engine(urls(place)[1], poolclass=NullPool)
        async with own.connect() as closed:
            pass
        async with await aio.connect(place.url, **place.settings) as database:
            with pytest.raises(ConfigurationError, match=r"within= cannot be used, .* closed"):
                await database.queue("mail").push("hello", within=closed)
            assert await database.queue("mail").count() == 0
        await own.dispose()

    asyncio.run(refuse())


def test_an_awaited_connection_that_commits_each_statement_is_refused(place: Place) -> None:
    async def refuse() -> None:
        own = create_async_engine(urls(place)[1], poolclass=NullPool, isolation_level="AUTOCOMMIT")
        async with await aio.connect(place.url, **place.settings) as database:
            queue = database.queue("mail")
            async with own.connect() as connection, AsyncSession(own) as session:
                await connection.begin()
                for within in (connection, session):
                    with pytest.raises(ConfigurationError, match="within= needs an open transaction"):
                        await queue.push("hello", within=within)
            assert await queue.count() == 0
        await own.dispose()

    asyncio.run(refuse())


def test_a_transaction_begun_by_hand_is_joined_whatever_the_mode(place: Place, engine: Engine) -> None:
    with duerow.connect(place.url, **place.settings) as database:
        queue = database.queue("mail")
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for ending, left in (("ROLLBACK", 0), ("COMMIT", 1)):
                connection.exec_driver_sql("BEGIN")
                queue.push("hello", within=connection)
                connection.exec_driver_sql(ending)
                assert queue.count() == left


def test_a_connection_of_another_face_is_refused(place: Place, engine: Engine) -> None:
    async def refuse() -> None:
        own = create_async_engine(urls(place)[1], poolclass=NullPool)
        async with await aio.connect(place.url, **place.settings) as database:
            with engine.begin() as blocking, pytest.raises(ConfigurationError, match="async face"):
                await database.queue("mail").push("hello", within=blocking)
            async with own.begin() as awaited:
                with (
                    duerow.connect(place.url, **place.settings) as other,
                    pytest.raises(ConfigurationError, match="blocking face"),
                ):
                    other.queue("mail").push("hello", within=awaited)
            assert await database.queue("mail").count() == 0
        await own.dispose()

    asyncio.run(refuse())


def test_a_connection_to_another_database_is_refused_when_its_tables_are_not_there(
    place: Place, engine: Engine
) -> None:
    with duerow.connect(place.url, **{**place.settings, "prefix": "nowhere_"}, migrate=True) as database:
        queue = database.queue("mail")
        with engine.begin() as connection:
            connection.exec_driver_sql(f"DROP TABLE {tables(place)}")
        with engine.connect() as connection, pytest.raises((SchemaOutdated, StoreRefused)):
            queue.push("hello", within=connection)
        with duerow.connect(place.url, **place.settings) as untouched:
            assert untouched.queue("mail").count() == 0


def tables(place: Place) -> str:
    schema = place.settings.get("schema")
    return f"{schema}.nowhere_message" if schema else "nowhere_message"


def test_a_connection_of_another_family_is_refused(place: Place, postgresql_url: str) -> None:
    theirs = "sqlite://" if place.url.startswith("postgresql") else postgresql_url.replace("://", "+psycopg://", 1)
    engine = create_engine(theirs, poolclass=NullPool)
    with duerow.connect(place.url, **place.settings) as database:
        queue = database.queue("mail")
        with engine.begin() as connection:
            for handle in (connection, connection.connection.driver_connection):
                with pytest.raises(ConfigurationError, match="of that database and face"):
                    queue.push("hello", within=handle)
        assert queue.count() == 0
    engine.dispose()
