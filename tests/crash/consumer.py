"""What the processes of the crash tests do: they push numbers, or bring them from `work` to `done`, until they end.

How a number comes to `done` depends on what is left when it is divided by five, so that every way to end a turn is
under way when a process is killed:

    0  committed, with a follower pushed to `done` in the same transaction
    1  moved to `done`
    2  first failed, then committed as above
    3  first given back, then moved
    4  moved, in one settlement with others

Whatever happens, each number must come to `done` exactly once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import duerow
from duerow import Commit, Draft, Move, Release, Reservation, Rollback
from duerow.settlement import Settlement
from duerow.testing.faults import kill_at, watch

LEASE = timedelta(milliseconds=300)
WORK, DONE = "work", "done"


@dataclass(frozen=True)
class Job:
    """What one process is to do.

    Attributes:
        url, settings: the database.
        point, nth: where it kills itself; "" nowhere.
        batch: how many messages it takes at once.
    """

    url: str
    settings: dict[str, Any] = field(default_factory=dict)
    point: str = ""
    nth: int = 1
    batch: int = 7

    def open(self, **more: Any) -> duerow.Database:
        """Connect, with the fault if there is one."""
        database = duerow.connect(self.url, **self.settings, **more)
        if self.point:
            watch(database, kill_at(self.point, self.nth))
        return database


def consume(job: Job) -> None:
    """Bring what is due from `work` to `done` until nothing is left there."""
    with job.open() as database:
        work = database.queue(WORK, lease=LEASE, retry=duerow.fixed(timedelta(0)))
        while work.count():
            reservations = work.reserve_many(job.batch)
            work.settle([(one, ending(one)) for one in reservations])


def consume_in_one_go(job: Job, done: Path) -> None:
    """Write the numbers in `work` to a file, and commit them in the call that reserves the next ones."""
    with job.open() as database, done.open("a") as file:
        work = database.queue(WORK, lease=LEASE, retry=duerow.fixed(timedelta(0)))
        batch = work.reserve_many(job.batch)
        while batch:
            file.writelines(f"{one.message.payload}\n" for one in batch)
            file.flush()
            _, batch = work.settle_and_reserve([(one, Commit()) for one in batch], job.batch)


def ending(reservation: Reservation) -> Settlement:
    """How this turn of a number is to end."""
    number = reservation.message.payload
    follower = Commit(then=(Draft(number, key=f"n-{number}", queue=DONE),))
    again = reservation.message.status == "error" or reservation.message.token > 1
    ways: Sequence[Settlement] = (
        follower,
        Move(DONE),
        follower if again else Rollback(timedelta(0), "no line"),
        Move(DONE) if again else Release(),
        Move(DONE),
    )
    return ways[number % 5]


def produce(job: Job, numbers: Sequence[int]) -> None:
    """Push numbers that were not pushed yet, ten in a transaction; their keys tell which were."""
    with job.open() as database:
        work = database.queue(WORK)
        for start in range(0, len(numbers), 10):
            batch = numbers[start : start + 10]
            work.push_many([Draft(number, key=f"n-{number}") for number in batch])
