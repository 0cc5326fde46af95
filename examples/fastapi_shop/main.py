"""The application."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duerow import Message
from duerow.aio import Queue
from duerow.contrib.sqlalchemy import push_at_commit
from duerow.contrib.starlette import StarletteQueues

engine = create_async_engine(os.environ.get("SHOP_URL", "sqlite+aiosqlite:///shop.sqlite3"))
sessions = async_sessionmaker(engine, expire_on_commit=False)
queues = StarletteQueues(engine, migrate=True)
mail = queues.queue("mail")


class Base(DeclarativeBase): ...


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    item: Mapped[str]
    confirmed: Mapped[bool] = mapped_column(default=False)


@mail.handler(concurrency=4)
async def confirm(message: Message) -> None:
    """Confirm an order; a real shop would also send an email here."""
    async with sessions.begin() as session:
        order = await session.get_one(Order, message.payload["order"])
        order.confirmed = True


@asynccontextmanager
async def tables(app: FastAPI) -> AsyncIterator[None]:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    yield
    await engine.dispose()


app = FastAPI(lifespan=queues.lifespan_with(tables))
app.mount("/queues", queues.dashboard())  # without authenticate=, it answers only requests from this machine


async def session() -> AsyncIterator[AsyncSession]:
    """Open a session for a request, and commit it if the request succeeds."""
    async with sessions.begin() as opened:
        yield opened


@app.post("/orders")
async def take(item: str, session: Annotated[AsyncSession, Depends(session)]) -> dict[str, str]:
    order = Order(item=item)
    session.add(order)
    push_at_commit(session, mail, lambda: {"order": order.id})
    return {"took": item}


@app.get("/orders/open")
async def waiting(queue: Annotated[Queue[Any], Depends(mail)]) -> int:
    return await queue.count()
