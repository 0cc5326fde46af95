"""Take some orders, and work until everything is done: `python -m examples.orders`."""

from __future__ import annotations

from decimal import Decimal

from examples.orders.tasks import Line, Order, make_invoice, report, send_mail, tasks

ORDERS = [
    Order(1, "ann@example.org", [Line("tea", Decimal("4.50")), Line("cup", Decimal("12.00"))]),
    Order(2, "ben@example.org", [Line("lamp", Decimal("59.90"))]),
]


def main() -> None:
    """Push the calls, run a worker until nothing is due, and print the results."""
    for order in ORDERS:
        send_mail.push(order.customer, f"we have your order {order.number}")
    batch = tasks.push_batch([make_invoice.draft(order) for order in ORDERS], report)
    tasks.worker(concurrency=2).run(until="idle")
    for order, handle in zip(ORDERS, batch.handles, strict=True):
        print(f"order {order.number}: {handle.result()}")


if __name__ == "__main__":
    main()
