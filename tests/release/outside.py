# pyright: strict
"""A module of a user's, for type checkers: it uses what duerow shows, and knows nothing of how it is made."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import assert_type

import duerow
from duerow import aio
from duerow.errors import DuplicateKey, StoreUnavailable


@dataclass
class Order:
    """A payload."""

    item: str
    amount: int


def pushed(url: str) -> int:
    """Push with every option that people use first."""
    with duerow.connect(url, migrate=True) as db:
        orders = db.queue("orders", payload=Order, lease=timedelta(minutes=5), retry=duerow.exponential())
        assert_type(orders, duerow.Queue[Order])
        one = orders.push(Order("lamp", 40), key="order-1", due=datetime.now(UTC))
        assert_type(one, duerow.Pushed)
        orders.push_many([duerow.Draft(Order("yacht", 90_000), priority=2, headers={"by": "web"})])
        message = orders.pop()
        if message is not None:
            assert_type(message.payload, Order)
            assert_type(message.attempts, int)
        with orders.reserving() as held:
            if held is not None:
                print(held.payload.item)
        try:
            orders.push(Order("lamp", 40), key="order-1", on_duplicate="reject")
        except DuplicateKey as error:
            print(error)
        except StoreUnavailable as error:
            print(error.outcome)
        assert_type(one.id, int)
        return orders.count(status="dead")


def handled(message: duerow.Message[Order]) -> None:
    """Handle a message, or say how its turn ends."""
    if message.payload.amount < 0:
        raise duerow.Bury("an amount below nothing")
    if message.payload.amount == 0:
        raise duerow.Retry(timedelta(minutes=1))


def worked(orders: duerow.Queue[Order]) -> None:
    """Run a worker."""
    worker = duerow.Worker(orders, handled, concurrency=8, timeout=timedelta(seconds=30))
    worker.run(until="empty")


def check(message: duerow.Message[Order]) -> Order:
    """Pass a message on."""
    return message.payload


def route(message: duerow.Message[Order]) -> tuple[str, Order]:
    """Say where a message goes."""
    return ("large" if message.payload.amount > 1000 else "small"), message.payload


def piped(db: duerow.Database) -> None:
    """Run a pipeline."""
    stations = [
        duerow.Relay("check", check, to="route"),
        duerow.Switch("route", route, to={"small": "ship", "large": "approval"}),
        duerow.Sink("ship", handled),
    ]
    duerow.Pipeline("orders", stations, outputs=["approval"]).run(db, until="idle")


async def awaited(url: str) -> list[str]:
    """Do the same with the awaited face."""

    async def send(message: duerow.Message[Order]) -> None:
        await asyncio.sleep(0)
        print(message.payload.item)

    async with await aio.connect(url) as db:
        orders = db.queue("orders", payload=Order)
        assert_type(orders, aio.Queue[Order])
        await orders.push(Order("lamp", 40))
        message = await orders.pop()
        if message is not None:
            assert_type(message.payload, Order)
        await aio.Worker(orders, send).run(until="empty")
        await db.schedule("nightly", queue="orders", payload=Order("report", 1), cron="0 3 * * *", zone="Europe/Zagreb")
        return [queue for queue in await db.queues()]


tasks = duerow.Tasks(queue="shop", results=timedelta(hours=1))


@tasks.task
def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


@tasks.task(queue="mail", key="order-{number}", retry=duerow.limited(3, duerow.exponential()))
async def ship(number: int, order: Order | None = None) -> str:
    """Ship, on an event loop."""
    await asyncio.sleep(0)
    return f"order {number}: {order}"


@tasks.callback
def report(outcomes: list[duerow.TaskOutcome]) -> None:
    """Be told the outcomes of a batch."""
    for outcome in outcomes:
        assert_type(outcome.error, duerow.Failure | None)


def called(db: duerow.Database) -> None:
    """Call tasks now, and later."""
    tasks.use(db)
    assert_type(add(1, b=2), int)
    handle = add.push(1)
    assert_type(handle, duerow.TaskHandle[int])
    assert_type(add.push(1).result(), int)
    assert_type(add.after(timedelta(minutes=1)).push(1, b=3).result(timeout=timedelta(seconds=5)), int)
    assert_type(add.options(priority=1).at(datetime.now(UTC)).push(a=1).cancel(), bool)
    assert_type(ship.push(7, Order("lamp", 40)).result(), str)
    assert_type([one.id for one in add.push_many([add.draft(1), add.draft(2)])], list[int])
    batch = tasks.push_batch([add.draft(1), ship.draft(8)], then=report)
    assert_type(batch, duerow.TaskBatch)
    assert_type(handle.state().attempts, int)
    progress = handle.progress()
    if progress is not None:
        assert_type(progress.fraction, float | None)
    tasks.worker(concurrency=4).run(until="idle")
    with tasks.trial(run=True) as pushed:
        add.push(1)
        assert_type(len(pushed.calls), int)
    add.push("one")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    add.push(1, c=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


awaited_tasks = aio.Tasks(results=timedelta(hours=1))


@awaited_tasks.task
async def subtract(a: int, b: int) -> int:
    """Subtract."""
    await asyncio.sleep(0)
    return a - b


@awaited_tasks.task(name="half")
def halve(number: int) -> float:
    """Halve, in a thread."""
    return number / 2


async def awaits(db: aio.Database) -> None:
    """Do the same with the awaited face."""
    awaited_tasks.use(db)
    assert_type(await subtract(3, 1), int)
    assert_type(halve(3), float)
    handle = await subtract.push(3, b=1)
    assert_type(handle, aio.TaskHandle[int])
    assert_type(await handle.result(), int)
    assert_type(await (await halve.within(None).push(3)).result(), float)
    assert_type(await handle.cancel(), bool)
    await awaited_tasks.worker().run(until="idle")
