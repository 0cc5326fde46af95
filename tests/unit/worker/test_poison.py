"""Messages that were in hand when a worker died: how many start together, and what waits for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

import duerow
from duerow import Release, Reservation
from duerow.errors import LeaseLost
from duerow.message import Failure
from duerow.plan import run
from duerow.retry import fixed, limited
from duerow.worker import poison
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Slot
from duerow.worker.poison import APART, Isolation, begin_with
from duerow.worker.run import Options, Run
from duerow.worker.settler import RoomWanted, Settle
from duerow.worker.supervisor import TurnsEnded

LEASE = timedelta(minutes=1)
DIED = "LeaseEnded"


def a_run(concurrency: int = 2, limit: int | None = 5, whole_batch: bool = False) -> Run:
    policy = fixed(LEASE) if limit is None else limited(limit, fixed(LEASE))
    options = Options(
        batch=10,
        concurrency=concurrency,
        lease=LEASE,
        retry=policy,
        timeout=None,
        poll=None,
        grace=timedelta(seconds=1),
        name="anna",
        whole_batch=whole_batch,
    )
    return Run("mail", options, None)


def reserved(*attempts: int, error: str | None = None) -> list[Reservation]:
    """Return reservations at these attempts, whose last error has this type."""
    with duerow.connect("memory://") as database:
        queue = database.queue("mail")
        queue.push_many(duerow.Draft(number) for number in range(len(attempts)))
        held = queue.reserve_many(len(attempts))
    why = None if error is None else Failure(error, "it died")
    return [
        replace(one, message=replace(one.message, attempts=attempt, last_error=why))
        for one, attempt in zip(held, attempts, strict=True)
    ]


def taken(worker_run: Run, reservations: Sequence[Reservation]) -> list[Attempt]:
    return worker_run.in_flight.take_in(reservations, 0.0)


def admitted(worker_run: Run, attempts: Sequence[Attempt], answer: Callable[[Any], Any] | None = None) -> list[Attempt]:
    """Return which of the claimed messages may start."""
    return [*run(Isolation(worker_run).admit(attempts), answer or (lambda step: None))]


def given_back(worker_run: Run) -> list[Attempt]:
    """Return the attempts that were decided, all of which are released."""
    ended = worker_run.in_flight.take_ended(100)
    assert all(one.settlement == Release() for one in ended)
    return [one.attempt for one in ended]


@pytest.mark.parametrize(
    ("attempts", "limit", "together"),
    [
        ([1] * 40, 5, 32),
        ([2] * 40, 5, 32 // APART),
        ([3] * 40, 5, 1),
        ([5] * 40, 5, 1),
        ([1] * 40, 1, 1),
        ([4] * 40, None, 1),
        ([1, 1, 2, 1], 5, 2),
    ],
)
def test_suspects_start_with_fewer_others_at_each_attempt_and_alone_at_the_last(
    attempts: list[int], limit: int | None, together: int
) -> None:
    suspects = reserved(*attempts, error=DIED)
    begun, back = begin_with(suspects, 32, limit)
    assert [*begun] == suspects[:together]
    assert [*back] == suspects[together:]


def test_where_no_message_is_suspect_all_start() -> None:
    claimed = reserved(1, 2, 3)
    assert begin_with(claimed, 32, 5) == (claimed, ())
    assert begin_with(failed := reserved(2, error="ValueError"), 32, 5) == (failed, ())


def test_what_is_no_suspect_is_given_back_while_suspects_start() -> None:
    suspects, others = reserved(1, 1, error=DIED), reserved(1, 1, 1)[2:]
    begun, back = begin_with([*suspects, *others], 32, 5)
    assert ([*begun], [*back]) == (suspects, others)


def test_a_claim_without_suspects_starts_as_it_is() -> None:
    worker_run = a_run()
    attempts = taken(worker_run, reserved(1, 4))
    assert admitted(worker_run, attempts) == attempts
    assert not worker_run.in_flight.prefetch.careful


def test_of_messages_claimed_for_their_last_attempt_only_those_start_that_can_begin_at_once() -> None:
    worker_run = a_run(concurrency=2)
    attempts = taken(worker_run, reserved(5, 1, 1))
    assert admitted(worker_run, attempts) == attempts[:2]
    assert given_back(worker_run) == attempts[2:]
    assert worker_run.in_flight.prefetch.careful


def test_a_busy_handler_and_a_waiting_message_take_the_places_of_last_attempts_but_one_always_starts() -> None:
    worker_run = a_run(concurrency=4)
    busy, waiting, *attempts = taken(worker_run, reserved(1, 1, 5, 5, 5))
    slot = Slot()
    slot.begin(busy)
    worker_run.slots.add(slot)
    worker_run.slots.add(Slot())
    worker_run.in_flight.waiting.append(waiting)
    assert admitted(worker_run, attempts) == attempts[:2]
    worker_run.in_flight.waiting.extend(attempts[:2])
    [last] = taken(worker_run, reserved(5))
    assert admitted(worker_run, [last]) == [last]


def test_without_a_limit_no_attempt_is_the_last() -> None:
    worker_run = a_run(concurrency=1, limit=None)
    attempts = taken(worker_run, reserved(90, 90))
    assert admitted(worker_run, attempts) == attempts
    assert not worker_run.in_flight.prefetch.careful


def test_suspects_wait_until_nothing_else_is_in_hand_and_everything_that_waits_is_given_back() -> None:
    worker_run = a_run()
    running, waiting = taken(worker_run, reserved(1, 1))
    worker_run.in_flight.waiting.append(waiting)
    suspects = taken(worker_run, reserved(2, 2, error=DIED))
    others = taken(worker_run, reserved(1))
    asked: list[type] = []

    def answer(step: Any) -> None:
        asked.append(type(step))
        if isinstance(step, TurnsEnded):
            assert given_back(worker_run) == [suspects[1], *others, waiting]
            worker_run.in_flight.let_go([suspects[1], *others, waiting])
        if isinstance(step, RoomWanted):
            assert 0 < step.seconds <= LEASE.total_seconds()
            worker_run.in_flight.let_go([running])

    assert admitted(worker_run, [*suspects, *others], answer) == suspects[:1]
    assert asked == [TurnsEnded, RoomWanted]
    assert worker_run.in_flight.apart == {suspects[0]}
    assert worker_run.in_flight.prefetch.careful


def test_a_suspect_whose_lease_is_lost_while_it_waits_does_not_start() -> None:
    worker_run = a_run()
    [running] = taken(worker_run, reserved(1))
    [suspect] = taken(worker_run, reserved(2, error=DIED))

    def answer(step: Any) -> None:
        suspect.tell(LeaseLost(1))
        worker_run.in_flight.let_go([running])

    assert admitted(worker_run, [suspect], answer) == []
    assert not worker_run.in_flight.held


def test_suspects_are_put_off_by_a_lease_if_a_handler_outlasts_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [100.0]
    monkeypatch.setattr(poison, "monotonic", lambda: seconds[0])
    worker_run = a_run()
    taken(worker_run, reserved(1))
    [suspect] = taken(worker_run, reserved(2, error=DIED))
    until = suspect.reservation.until

    def answer(step: Any) -> None:
        seconds[0] += LEASE.total_seconds()

    assert admitted(worker_run, [suspect], answer) == []
    assert given_back(worker_run) == [suspect]
    assert suspect.message.due_at == until + LEASE


def test_suspects_are_released_at_once_if_the_run_ends_while_they_wait() -> None:
    worker_run = a_run()
    taken(worker_run, reserved(1))
    [suspect] = taken(worker_run, reserved(2, error=DIED))
    settled: list[Any] = []

    def answer(step: Any) -> None:
        worker_run.over = True
        if isinstance(step, Settle):
            settled.extend(step.pairs)

    assert admitted(worker_run, [suspect], answer) == []
    assert settled == [(suspect.reservation, Release())]
    assert suspect not in worker_run.in_flight.held


@pytest.mark.parametrize(("whole_batch", "apart"), [(True, True), (False, False)])
def test_a_batch_whose_process_died_is_suspect_but_not_a_message_whose_process_died_alone(
    whole_batch: bool, apart: bool
) -> None:
    worker_run = a_run(whole_batch=whole_batch)
    attempts = taken(worker_run, reserved(2, error="HandlerDied"))
    assert admitted(worker_run, attempts) == attempts
    assert bool(worker_run.in_flight.apart) == apart
