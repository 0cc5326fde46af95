"""Messages that wait for a session to commit."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, scoped_session, sessionmaker

import duerow
import duerow.aio
from duerow.contrib.sqlalchemy import push_at_commit
from duerow.errors import ConfigurationError


class Base(DeclarativeBase): ...


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    item: Mapped[str]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/shop.db"
    address = request.getfixturevalue("empty_postgresql")
    return f"postgresql+psycopg://{address.partition('://')[2]}"


@pytest.fixture
def engine(url: str) -> Any:
    engine = create_engine(url)
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def mail(engine: Engine) -> Any:
    with duerow.connect(engine, migrate=True) as database:
        yield database.queue("mail")


def items(queue: Any) -> list[Any]:
    return [message.payload for message in queue.find()]


def test_a_message_is_pushed_with_what_the_flush_made_known(engine: Engine, mail: Any) -> None:
    with Session(engine) as session:
        order = Order(item="lamp")
        session.add(order)
        push_at_commit(session, mail, lambda: {"order": order.id}, key="k")
        push_at_commit(session, mail, {"order": None})
        assert mail.count() == 0
        session.commit()
        assert items(mail) == [{"order": 1}, {"order": None}]
        session.commit()
        push_at_commit(session, mail, "next")  # in the next transaction, which has nothing else to do
        session.commit()
    assert items(mail)[2:] == ["next"]


def test_messages_of_one_commit_are_one_push(engine: Engine, mail: Any) -> None:
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    with Session(engine) as session, session.begin():
        for number in range(50):
            push_at_commit(session, mail, number)
    assert items(mail) == list(range(50))
    assert len([one for one in statements if "INSERT INTO duerow_message" in one]) <= 1


def test_what_is_rolled_back_is_dropped(engine: Engine, mail: Any) -> None:
    with Session(engine) as session:
        push_at_commit(session, mail, "undone")
        session.rollback()
        push_at_commit(session, mail, "undone")
        session.close()
        session.commit()
        push_at_commit(session, mail, "kept")
        with session.begin_nested():
            push_at_commit(session, mail, "kept too")
        assert mail.count() == 0  # only a savepoint has ended
        savepoint = session.begin_nested()
        push_at_commit(session, mail, "undone")
        with session.begin_nested():
            push_at_commit(session, mail, "undone too")
        savepoint.rollback()
        session.commit()
    assert items(mail) == ["kept", "kept too"]


def test_a_payload_may_ask_for_further_messages(engine: Engine, mail: Any) -> None:
    def first() -> str:
        push_at_commit(session, mail, "second")
        return "first"

    with Session(engine) as session, session.begin():
        push_at_commit(session, mail, first)
    assert items(mail) == ["first", "second"]


def test_a_payload_that_cannot_be_made_leaves_nothing_behind(engine: Engine, mail: Any) -> None:
    with Session(engine) as session:
        session.add(Order(item="lamp"))
        push_at_commit(session, mail, lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            session.commit()
        session.rollback()
        session.commit()
        assert (mail.count(), session.query(Order).count()) == (0, 0)


def test_a_scoped_session_is_that_of_its_thread(engine: Engine, mail: Any) -> None:
    scoped = scoped_session(sessionmaker(engine))
    push_at_commit(scoped, mail, 1)
    scoped.commit()
    scoped.remove()
    assert items(mail) == [1]


async def test_an_awaited_session_pushes_into_a_queue_of_its_face(url: str, engine: Engine) -> None:
    awaited = create_async_engine(make_url(url.replace("sqlite:", "sqlite+aiosqlite:")))
    async with await duerow.aio.connect(awaited, migrate=True) as database:
        mail = database.queue("mail")
        async with AsyncSession(awaited) as session, session.begin():
            order = Order(item="lamp")
            session.add(order)
            push_at_commit(session, mail, lambda: {"order": order.id})
        async with AsyncSession(awaited) as session:
            push_at_commit(session, mail, "undone")
            await session.rollback()
        assert [message.payload for message in await mail.find()] == [{"order": 1}]
    await awaited.dispose()


def test_a_task_is_called_with_what_the_flush_made_known(engine: Engine, mail: Any) -> None:
    tasks = duerow.Tasks(mail.database)

    @tasks.task(key="order-{order}")
    def confirm(order: int, loudly: bool = False) -> None: ...

    with Session(engine) as session, session.begin():
        order = Order(item="lamp")
        session.add(order)
        push_at_commit(session, confirm, lambda: {"order": order.id}, priority=5)
        push_at_commit(session, confirm.after(timedelta(0)), {"order": 17, "loudly": True}, key="k")
    pushed = sorted((one.key, json.loads(one.payload), one.priority) for one in mail.database.queue("tasks").find())
    assert pushed == [("k", {"order": 17, "loudly": True}, 0), ("order-1", {"order": 1}, 5)]


def test_arguments_that_a_task_does_not_take_are_refused_at_once(engine: Engine, mail: Any) -> None:
    tasks = duerow.Tasks(mail.database)

    @tasks.task
    def confirm(order: int) -> None: ...

    with Session(engine) as session:
        with pytest.raises(ConfigurationError, match="unexpected keyword argument"):
            push_at_commit(session, confirm, {"order": 1, "colour": 2})
        with pytest.raises(duerow.DuerowError, match="Expected `int`"):
            push_at_commit(session, confirm, {"order": "one"})
        with pytest.raises(ConfigurationError, match="by name, not 17"):
            push_at_commit(session, confirm, 17)
        with pytest.raises(TypeError, match="colour"):
            push_at_commit(session, confirm, {"order": 1}, colour="red")
        session.commit()
    assert mail.database.queues() == []


async def test_an_awaited_session_calls_a_task_of_its_face(url: str, engine: Engine) -> None:
    tasks = duerow.aio.Tasks()

    @tasks.task
    async def confirm(order: int) -> None: ...

    awaited = create_async_engine(make_url(url.replace("sqlite:", "sqlite+aiosqlite:")))
    async with await duerow.aio.connect(awaited, migrate=True) as database:
        tasks.use(database)
        async with AsyncSession(awaited) as session, session.begin():
            order = Order(item="lamp")
            session.add(order)
            push_at_commit(session, confirm, lambda: {"order": order.id})
        assert [message.payload for message in await database.queue("tasks").find()] == ['{"order":1}']
    await awaited.dispose()
    with Session(engine) as session, pytest.raises(ConfigurationError, match="belong to duerow, not"):
        push_at_commit(session, confirm, {"order": 1})


def test_what_cannot_be_is_refused_at_once(engine: Engine, mail: Any) -> None:
    with Session(engine) as session, duerow.connect("memory://") as other:
        with pytest.raises(ConfigurationError, match="takes an SQLAlchemy session"):
            push_at_commit(engine, mail, 1)
        with pytest.raises(TypeError, match="colour"):
            push_at_commit(session, mail, 1, colour="red")
        with pytest.raises(ConfigurationError, match=r"must belong to duerow, not"):
            push_at_commit(session, "mail", 1)
        push_at_commit(session, other.queue("mail"), 1)
        with pytest.raises(duerow.DuerowError):
            session.commit()
