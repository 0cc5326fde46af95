"""A shop whose queues and pipeline are alive: what the dashboard is tried on, and drawn from for the documentation."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import String, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

import duerow
from duerow import Draft, Drop, Fork, Pipeline, Relay, Sink, Switch, fixed, limited
from duerow.entity import EntityQueue, QueueState, queue_state
from duerow.message import Message
from duerow.queue import histogram
from duerow.store import Counted, Totals

DAY = timedelta(days=1)
NAMES = ("Ana", "Bruno", "Clara", "Davor", "Elif", "Femi", "Greta", "Hugo", "Ines", "Jonas")
CITIES = ("Zagreb", "Lisbon", "Ghent", "Turku", "Graz", "Bergen", "Porto", "Ljubljana")
ITEMS = ("lamp", "kettle", "chair", "desk", "shelf", "radio", "clock", "mirror")


def check(message: Message) -> Any:
    if message.payload["amount"] == 13:
        raise ValueError(f"no item {message.payload['item']!r} in stock")
    return message.payload if message.payload["amount"] > 0 else Drop


def price(message: Message) -> tuple[str, Any]:
    return ("large" if message.payload["amount"] > 900 else "small"), {**message.payload, "priced": True}


def pack(message: Message) -> dict[str, Any]:
    return {"ship": message.payload, "invoice": {"order": message.payload["order"], "total": message.payload["amount"]}}


def ship(message: Message) -> None:
    time.sleep(0.002)


def invoice(message: Message) -> None:
    time.sleep(0.25)


def pipeline(slow: bool = True) -> Pipeline:
    kept: dict[str, Any] = {"history": DAY}
    terms = {"retry": limited(2, fixed(timedelta(0))), **kept}
    stations = [
        Relay("orders.check", check, to="orders.price", **terms),
        Switch("orders.price", price, to={"small": "orders.pack", "large": "orders.approval"}, **kept),
        Fork("orders.pack", fork_to(pack), to=["orders.ship", "orders.invoice"], **kept),
        Sink("orders.ship", ship, **kept),
        Sink("orders.invoice", invoice if slow else ship, **kept),
    ]
    return Pipeline("orders", stations, outputs=["orders.approval"])


class fork_to:
    """Names the queues that a fork sends to."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, message: Message) -> dict[str, Any]:
        return {f"orders.{name}": payload for name, payload in self.function(message).items()}


def order(number: int) -> dict[str, Any]:
    chance = random.Random(number)
    return {
        "order": 10_000 + number,
        "item": chance.choice(ITEMS),
        "amount": 13 if number % 41 == 7 else chance.choice((20, 45, 80, 120, 340, 960)),
        "customer": {"name": chance.choice(NAMES), "city": chance.choice(CITIES), "id": chance.randint(1, 400)},
    }


def fill(db: duerow.Database, orders: int = 30) -> None:
    """Push what the queues begin with, and declare what there is."""
    entry = db.queue("orders.check", history=DAY, indexed={"order": int, "customer.city": str})
    entry.declare()
    for name in ("orders.price", "orders.pack", "orders.ship", "orders.invoice"):
        db.queue(name, history=DAY).declare()
    db.declare_pipeline(pipeline())
    entry.push_many([Draft(order(number), key=f"order-{number}") for number in range(orders)])
    mail = db.queue(
        "emails", dead_letter="emails-dead", history=DAY, retry=limited(1, fixed(timedelta(0))), indexed={"to": str}
    )
    mail.declare()
    mail.push_many(
        [
            Draft(
                {"to": f"{NAMES[number % 10].lower()}@example.org", "template": "welcome", "locale": "hr"},
                key=f"welcome-{number}",
                headers={"source": "shop"},
            )
            for number in range(24)
        ]
    )
    for reservation in mail.reserve_many(9):
        bounced = reservation.message.id % 3
        reservation.rollback(
            error=ConnectionRefusedError("mail.example.org:25 refused the connection")
            if bounced
            else TimeoutError("no answer within 30 s")
        )
    hooks = db.queue("webhooks", retry=limited(3, fixed(timedelta(hours=1))))
    hooks.declare()
    hooks.push_many([Draft({"url": f"https://example.org/hook/{n}", "event": "order.paid"}) for n in range(14)])
    for reservation in hooks.reserve_many(5):
        reservation.bury(_raised(reservation.message.id))
    for reservation in hooks.reserve_many(3):
        reservation.rollback(error=_raised(reservation.message.id), delay=timedelta(minutes=20))
    db.queue("thumbnails").push_many(
        [Draft({"image": f"lamp-{n}.jpg", "size": 480}, group=f"album-{n % 3}") for n in range(12)]
    )
    db.queue("thumbnails").reserve_many(2, lease=timedelta(minutes=9))
    sms = db.queue("sms")
    sms.push_many([Draft({"to": f"+385 91 555 01{n:02}", "text": "Your order is on its way."}) for n in range(18)])
    sms.pause()
    db.queue("reports").push_many(
        [Draft({"report": "stock", "day": n}, delay=timedelta(hours=3 + n)) for n in range(7)]
    )
    db.queue("exports").push(b"\x89PNG\r\n\x1a\n" + bytes(range(64)), key="logo")
    db.schedule(
        "nightly-report", cron="0 3 * * MON-FRI", zone="Europe/Zagreb", queue="reports", payload={"report": "sales"}
    )
    db.schedule(
        "heartbeat", every=timedelta(minutes=5), queue="sms", payload={"to": "+385 91 555 0100", "text": "alive"}
    )
    db.schedule("newsletter", daily=["08:30", "17:00"], zone="Asia/Tokyo", queue="emails", payload={"template": "news"})


class Base(DeclarativeBase):
    pass


class Invoice(Base):
    """A table of the shop's own, whose rows wait to be sent."""

    __tablename__ = "invoice"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str] = mapped_column(String(50))
    amount: Mapped[int]
    sending: Mapped[QueueState] = queue_state("sending")


def invoices(file: Path) -> str:
    """Make the table with some rows, the first of which is dead; return its URL for the awaited face."""
    engine = create_engine(f"sqlite:///{file}")
    Base.metadata.create_all(engine)
    queue = EntityQueue(Invoice.sending, engine)
    with queue.session() as session:
        for number in range(9):
            invoice = Invoice(customer=NAMES[number], amount=20 + 15 * number)
            session.add(invoice)
            invoice.sending.schedule()
            session.flush()
        session.commit()
    first, *others = queue.reserve_many(4)
    queue.bury(first, ValueError("no address"))
    for reservation in others[:2]:
        queue.rollback(reservation, error=TimeoutError("no answer within 30 s"), delay=timedelta(minutes=4))
    engine.dispose()
    return f"sqlite+aiosqlite:///{file}"


def _raised(number: int) -> Exception:
    try:
        _call(number)
    except Exception as error:
        return error
    raise AssertionError


def _call(number: int) -> None:
    try:
        raise TimeoutError("the read operation timed out")
    except TimeoutError as error:
        if number % 2:
            raise ConnectionError(f"example.org did not take hook {number}") from error
        raise


def past_hour(db: duerow.Database) -> None:
    """Write what processes would have counted in the last hour, so that charts have something to show."""
    chance = random.Random(7)
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    busy = {
        "orders.check": 90,
        "orders.price": 88,
        "orders.pack": 80,
        "orders.ship": 80,
        "orders.invoice": 42,
        "emails": 34,
        "webhooks": 16,
        "thumbnails": 55,
    }
    rows = []
    for place, (queue, rate) in enumerate(busy.items()):
        for ago in range(1, 60):
            wave = 1 + 0.55 * math.sin((ago + 9 * place) / 9) + chance.uniform(-0.18, 0.18)
            number = max(0, int(rate * wave))
            failed = int(number * (0.3 if queue == "webhooks" else 0.02) * chance.random())
            moved = number if queue in ("orders.check", "orders.price") else 0
            totals = Totals(done=number - moved, failed=failed, dead=failed // 6, moved=moved)
            slow = 8.0 if queue == "orders.invoice" and ago < 20 else 1.0
            waiting: dict[int, int] = {}
            handling: dict[int, int] = {}
            for _ in range(min(60, number)):
                bucket = histogram.bucket_of(slow * 0.03 * chance.lognormvariate(0, 1.1))
                waiting[bucket] = waiting.get(bucket, 0) + 1
                bucket = histogram.bucket_of(
                    (0.25 if queue == "orders.invoice" else 0.012) * chance.lognormvariate(0, 0.6)
                )
                handling[bucket] = handling.get(bucket, 0) + 1
            minute = now - timedelta(minutes=ago)
            rows.append(Counted(queue, minute, totals, histogram.written(waiting), histogram.written(handling)))
    db.run(lambda: db.store.counters.note_counts("shop:1:-/past", rows))


@contextmanager
def working(url: str, every: float = 0.15, slow: bool = True) -> Iterator[None]:
    """Run the pipeline in threads, and push an order now and then."""
    stop = threading.Event()
    with duerow.connect(url) as db:
        worker = pipeline(slow).worker(db)
        running = threading.Thread(target=lambda: worker.run(None, signals=False), daemon=True)
        pushing = threading.Thread(target=_push, args=(db, stop, every), daemon=True)
        running.start()
        pushing.start()
        try:
            yield
        finally:
            stop.set()
            pushing.join()
            worker.stop()
            running.join()


def _push(db: duerow.Database, stop: threading.Event, every: float) -> None:
    number = 1_000
    queue = db.queue("orders.check", history=DAY)
    while not stop.wait(every):
        with suppress(duerow.DuerowError):
            queue.push(order(number), key=f"order-{number}")
        number += 1
