"""What a type checker knows of queues with a declared payload."""

from pathlib import Path

import mypy.api

from tests.docs.pages import ROOT

CACHE = ROOT / ".mypy_cache" / "program"
"""What mypy knows of duerow's files from the last time, as on the machine of somebody who uses it."""

PROGRAM = """
from dataclasses import dataclass
from typing import TypedDict

import duerow
from duerow import aio

@dataclass
class Order:
    id: int

class Parcel(TypedDict):
    weight: float

db = duerow.connect("memory://")
orders = db.queue("orders", payload=Order, upgrades={"Old": lambda plain: Order(plain["n"])})
reveal_type(orders)
orders.push(Order(1))
orders.push_many([duerow.Draft(Order(1), key="a")])
message = orders.pop()
if message:
    reveal_type(message.payload)
reservation = orders.reserve()
if reservation:
    reveal_type(reservation.message.payload)
reveal_type(db.queue("parcels", payload=Parcel))

plain = db.queue("plain")
reveal_type(plain)
plain.push_many([duerow.Draft("x"), duerow.Draft(1)])

def any_queue(queue: duerow.Queue) -> None: ...
any_queue(orders)
any_queue(plain)
def send(message: duerow.Message) -> None: ...
duerow.Worker(orders, send)

async def awaited(db: aio.Database) -> None:
    orders = db.queue("orders", payload=Order)
    async with orders.reserving() as message:
        reveal_type(message)
    reveal_type(await orders.pop_many(3))

orders.push({"id": 1})
orders.push_many([duerow.Draft("x")])
"""

REVEALED = [
    "duerow.sync.queue.Queue[program.Order]",
    "program.Order",
    "program.Order",
    "duerow.sync.queue.Queue[TypedDict(program.Parcel, {'weight': float})]",
    "duerow.sync.queue.Queue[Any]",
    "duerow.message.Message[program.Order] | None",
    "list[duerow.message.Message[program.Order]]",
]


def test_a_type_checker_knows_the_declared_type_and_reports_any_other(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    options = ["--strict", "--config-file=", "--follow-imports=silent", f"--cache-dir={CACHE}"]
    report, trouble, _ = mypy.api.run([*options, str(program)])
    assert trouble == ""
    lines = [line.partition(": ")[2] for line in report.splitlines()]
    assert [line.split('"')[1] for line in lines if line.startswith("note: Revealed")] == REVEALED
    assert [line for line in lines if line.startswith("error")] == [
        'error: Argument 1 to "push" of "Queue" has incompatible type "dict[str, int]"; expected "Order"  [arg-type]',
        'error: Argument 1 to "Draft" has incompatible type "str"; expected "Order"  [arg-type]',
    ]
