"""A consumer or producer that is killed loses no message and doubles none, wherever it is at that moment."""

import multiprocessing
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import duerow
from duerow.testing.clock import MovableClock
from duerow.testing.conformance.fixtures import Place
from tests.crash.conftest import Start
from tests.crash.consumer import DONE, WORK, Job, consume, consume_in_one_go, ending, produce

NUMBERS = range(60)

# Where a consumer is killed; each is reached for certain.
CONSUMING = [
    "reserve: before",
    "reserve: step 1",
    "reserve: done",
    "reserve: committed",
    "settle: before",
    "settle: step 1",
    "settle: step 2",
    "settle: step 3",
    "settle: step 4",
    "settle: done",
    "settle: committed",
]
HOLDERS = 3
"""How many are killed that hold a lease, and others with them; twice as many in the long tests."""

SOME, MOST = 500, 9_000
"""Messages pushed at a time, and those at most in which so many holders must have been met."""

PRODUCING = ["push: before", "push: step 1", "push: step 2", "push: done", "push: committed"]


def tomorrow() -> MovableClock:
    """A time at which every lease has ended."""
    return MovableClock(datetime.now(UTC) + timedelta(days=1))


def push(place: Place, numbers: Sequence[int] = NUMBERS) -> list[int]:
    """Push the numbers; return the ids."""
    with duerow.connect(place.url, **place.settings) as database:
        drafts = [duerow.Draft(number, key=f"n-{number}") for number in numbers]
        return [one.id for one in database.queue(WORK).push_many(drafts)]


def drain(place: Place) -> None:
    """Bring the rest to its end, when all leases of the dead have ended."""
    later = Job(place.url, place.settings)
    with later.open(clock=tomorrow()) as database:
        work = database.queue(WORK, retry=duerow.fixed(timedelta(0)))
        while reservations := work.reserve_many(50):
            assert work.settle([(one, ending(one)) for one in reservations]) == []
        assert work.find() == []


def check(place: Place, ids: list[int], numbers: Sequence[int] = NUMBERS) -> None:
    """Every number is done once; those that were moved still have their id, the others have a new one."""
    with duerow.connect(place.url, **place.settings) as database:
        assert database.queues() == [DONE]
        done = database.queue(DONE).find(limit=10_000)
    assert sorted(message.payload for message in done) == list(numbers)
    by_number = {message.payload: message.id for message in done}
    moved = [number for number in numbers if number % 5 in (1, 3, 4)]
    assert [by_number[number] for number in moved] == [ids[number] for number in moved]
    assert len({message.id for message in done}) == len(numbers)
    assert not {by_number[number] for number in numbers if number not in moved} & set(ids)


@pytest.mark.parametrize("point", CONSUMING)
def test_a_consumer_killed_at_this_point_loses_and_doubles_nothing(
    place: Place,
    start: Start,
    count_killed: Callable[[int], None],
    which: Callable[[int, int], tuple[int, ...]],
    point: str,
) -> None:
    ids = push(place)
    killed = 0
    for nth in which(1, 3):
        process = start(consume, Job(place.url, place.settings, point, nth))
        process.join()
        assert process.exitcode == -signal.SIGKILL, f"{point} was not reached"
        killed += 1
    count_killed(killed)
    drain(place)
    check(place, ids)


@pytest.mark.parametrize("place_in_it", ["before", "step 1", "done", "committed"])
def test_a_consumer_killed_while_it_settles_and_reserves_in_one_go_loses_and_doubles_nothing(
    place: Place, start: Start, count_killed: Callable[[int], None], place_in_it: str, tmp_path: Path
) -> None:
    push(place)
    batch = 7
    for nth in (1, 3):
        job = Job(place.url, place.settings, f"settle_and_reserve: {place_in_it}", nth, batch)
        process = start(consume_in_one_go, job, tmp_path / "done")
        process.join()
        assert process.exitcode == -signal.SIGKILL, f"{job.point} was not reached"
    count_killed(2)
    wrote = Counter((tmp_path / "done").read_text().splitlines())
    with Job(place.url, place.settings).open(clock=tomorrow()) as database:
        left = {str(message.payload) for message in database.queue(WORK).find(limit=1_000)}
        assert wrote.keys() | left == set(map(str, NUMBERS))
        assert max(wrote.values()) <= 2, "a message was handed out again after it was committed"
        assert len(wrote.keys() & left) in (0, batch, 2 * batch), "a batch was settled in part"
        assert len(database.queue(WORK).pop_many(1_000)) == len(left)


@pytest.mark.parametrize("point", PRODUCING)
def test_a_producer_killed_at_this_point_has_pushed_each_batch_whole_or_not_at_all(
    place: Place, start: Start, count_killed: Callable[[int], None], point: str
) -> None:
    process = start(produce, Job(place.url, place.settings, point, 3), NUMBERS)
    process.join()
    assert process.exitcode == -signal.SIGKILL, f"{point} was not reached"
    count_killed(1)
    with duerow.connect(place.url, **place.settings) as database:
        pushed = [message.payload for message in database.queue(WORK).find(limit=1000)]
    assert pushed == list(NUMBERS[: 30 if point == "push: committed" else 20])
    again = start(produce, Job(place.url, place.settings), NUMBERS)
    again.join()
    assert again.exitcode == 0
    with duerow.connect(place.url, **place.settings) as database:
        assert [message.payload for message in database.queue(WORK).find(limit=1000)] == list(NUMBERS)


def holds_a_lease(database: duerow.Database, consumer: multiprocessing.Process) -> bool:
    """Whether a message is lent to this process now."""
    return bool(database.queue(WORK).find(f"leased_by like '%:{consumer.pid}:%'", limit=1))


def test_consumers_killed_at_any_moment_lose_and_double_nothing(
    place: Place, start: Start, count_killed: Callable[..., None], scale: int
) -> None:
    numbers = [*range(SOME)]
    ids = push(place, numbers)
    killed = holders = 0
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    workers = [start(consume, Job(place.url, place.settings, batch=3)) for _ in range(3)]
    with duerow.connect(place.url, **place.settings) as database:
        while holders < HOLDERS * scale:
            assert killed < 40, f"of {killed} that were killed {holders} held a lease, so little was shown"
            victim = workers.pop(0)
            while not holds_a_lease(database, victim):  # it has not begun yet
                if not victim.is_alive():  # the others were faster, and left nothing
                    more = range(len(numbers), len(numbers) + SOME)
                    assert len(numbers) < MOST, f"{killed} were killed while {len(numbers)} messages were handled"
                    ids += push(place, more)
                    numbers += more
                    victim = start(consume, Job(place.url, place.settings, batch=3))
            time.sleep(chance.uniform(0, 0.02))
            victim.kill()
            victim.join()
            killed += victim.exitcode == -signal.SIGKILL
            holders += holds_a_lease(database, victim)
            workers.append(start(consume, Job(place.url, place.settings, batch=3)))
    for worker in workers:
        worker.kill()
        worker.join()
        killed += worker.exitcode == -signal.SIGKILL
    count_killed(killed, holders)
    drain(place)
    check(place, ids, numbers)


def test_processes_that_work_side_by_side_lose_and_double_nothing(place: Place, start: Start) -> None:
    job = Job(place.url, place.settings, batch=5)
    producers = [start(produce, job, NUMBERS[half::2]) for half in (0, 1)]
    consumers = [start(consume, job) for _ in range(3)]
    for process in producers:
        process.join()
        assert process.exitcode == 0
    consumers += [start(consume, job) for _ in range(2)]
    for process in consumers:
        process.join()
        assert process.exitcode == 0
    with duerow.connect(place.url, **place.settings) as database:
        assert database.queues() == [DONE]
        assert sorted(message.payload for message in database.queue(DONE).find(limit=1000)) == list(NUMBERS)
