"""A consumer of a pipeline that is killed, wherever it is, loses no part of a set, and no set is merged twice."""

import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import duerow
from duerow import Draft, Join, Message, Pipeline, Split
from duerow.testing.clock import MovableClock
from duerow.testing.conformance.fixtures import Place
from duerow.testing.pipeline_steps import carry
from tests.crash.conftest import Start
from tests.crash.consumer import LEASE, Job

ORDERS, LINES = range(24), 3

POINTS = [
    *((f"settle: step {step}", 1 + 3 * (step % 2)) for step in range(1, 11)),
    *((f"settle: {place}", nth) for place in ("before", "done", "committed") for nth in (1, 4)),
    ("reserve: committed", 2),
]


def lines(message: Message) -> list[list[int]]:
    """The lines of an order."""
    return [[message.payload, line] for line in range(LINES)]


def order(message: Message) -> int:
    """Which order a line is of."""
    return int(message.payload[0])


def whole(parts: list[Message]) -> list[list[int]]:
    """All lines of an order."""
    return sorted(part.payload for part in parts)


def orders() -> Pipeline:
    """Orders are split into lines, and put together again."""
    join = Join("line", whole, by=order, count=LINES, to="whole", within=timedelta(days=30), lease=LEASE)
    return Pipeline("orders", [Split("order", lines, to="line", lease=LEASE), join], outputs=["whole"])


def work(job: Job) -> None:
    """Carry orders through the pipeline until nothing is due."""
    with job.open() as database:
        carry(database, orders(), job.batch)


def test_a_killed_consumer_leaves_each_set_to_be_merged_once(
    place: Place, start: Start, count_killed: Callable[[int], None]
) -> None:
    with duerow.connect(place.url, **place.settings) as database:
        database.queue("order").push_many([Draft(number) for number in ORDERS])
    killed = 0
    for point, nth in POINTS:
        process = start(work, Job(place.url, place.settings, point, nth, batch=2))
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        killed += process.exitcode == -signal.SIGKILL
    count_killed(killed)
    tomorrow = MovableClock(datetime.now(UTC) + timedelta(days=1))
    with duerow.connect(place.url, clock=tomorrow, **place.settings) as database:
        assert carry(database, orders()) == []
        assert database.queues() == ["whole"]
        merged = [message.payload for message in database.queue("whole").find(limit=1000)]
    assert sorted(merged) == [[[number, line] for line in range(LINES)] for number in ORDERS]
    assert killed >= 10
