"""The tasks of the shop; `duerow worker examples.orders.tasks:tasks` runs them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

import duerow
from duerow import exponential, limited

db = duerow.connect(os.environ.get("SHOP_URL", "sqlite:///shop.db"), migrate=True)
tasks = duerow.Tasks(db, results=timedelta(days=1), retry=limited(5, exponential(first=timedelta(seconds=1))))
tasks.configure("mail", dead_letter="mail-dead")


@dataclass
class Line:
    """An article in an order, and its price."""

    article: str
    price: Decimal


@dataclass
class Order:
    """A customer's order."""

    number: int
    customer: str
    lines: list[Line]


@tasks.task(key="invoice-{order.number}")
def make_invoice(order: Order) -> Decimal:
    """Add up an order. If the task is pushed twice for an order, it waits in the queue only once."""
    total = Decimal(0)
    for place, line in enumerate(order.lines):
        if (attempt := duerow.current()) is not None:
            attempt.progress(place / len(order.lines), line.article)
        total += line.price
    return total


@tasks.task(queue="mail", group="{customer}")
async def send_mail(customer: str, text: str) -> None:
    """Send an email. Emails to the same customer go out one at a time, in the order in which they were pushed."""
    print(f"to {customer}: {text}")


@tasks.callback
def report(outcomes: list[duerow.TaskOutcome]) -> None:
    """Report the total of a batch of invoices when all of its calls have finished."""
    made = [Decimal(one.value) for one in outcomes if one.status == "done"]
    send_mail.push("the boss", f"{len(made)} of {len(outcomes)} invoices, {sum(made)} in all")


@tasks.task(key="stock", debounce=timedelta(seconds=30))
def count_stock(reason: str) -> None:
    """Count the stock, half a minute after the last change."""
    print(f"counted: {reason}")
