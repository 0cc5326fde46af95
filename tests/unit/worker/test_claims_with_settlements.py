"""When a worker claims in the step that settles: its plans are carried out here by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow.errors import LeaseLost, StoreRefused, StoreUnavailable
from duerow.plan import run
from duerow.queue.limits import RunLimits
from duerow.reservation import BareReservation
from duerow.retry import DEFAULT
from duerow.settlement import Commit, Release
from duerow.store import Refused
from duerow.worker.fetcher import Fetcher, HandOut, Reserve
from duerow.worker.in_flight import Ended
from duerow.worker.run import Options, Run
from duerow.worker.settler import RoomWanted, Settle, SettleAndReserve, Settler


def a_run(batch: int = 10, can: bool = True, concurrency: int = 1, **more: Any) -> Run:
    """Return a run that handles ten messages ahead, whose last claim got all that it asked for."""
    options: dict[str, Any] = {"lease": timedelta(minutes=1), "retry": DEFAULT, "timeout": None, "poll": None}
    named = Options(batch=batch, concurrency=concurrency, grace=timedelta(seconds=1), name="anna", **options, **more)
    worker_run = Run("mail", named, None, settles_and_reserves=can)
    worker_run.in_flight.prefetch.note(0.0)  # handlers take no time
    worker_run.in_flight.plenty = True
    return worker_run


def reserved(count: int) -> Sequence[BareReservation]:
    with duerow.connect("memory://") as database:
        queue = database.queue("mail")
        queue.push_many(duerow.Draft(number) for number in range(count))
        return queue.reserve_many(count)


def in_hand(worker_run: Run, count: int) -> list[Ended]:
    """Have so many messages in hand; return that their turns are to be committed."""
    return [Ended(one, Commit()) for one in worker_run.in_flight.take_in(reserved(count), 0.0)]


def settle(worker_run: Run, batch: Sequence[Ended], answer: Callable[[Any], Any], claims: bool = True) -> list[str]:
    """Settle a batch; return the names of the steps that ask the database."""
    asked: list[str] = []

    def answered(step: Any) -> Any:
        if isinstance(step, Settle | SettleAndReserve):
            asked.append(type(step).__name__)
            list(step.pairs)
            return answer(step)
        return None

    run(Settler(worker_run).settle(batch, claims), answered)
    return asked


def nothing(step: Any) -> Any:
    return [] if isinstance(step, Settle) else ([], [])


def test_a_settlement_claims_as_many_messages_as_there_will_be_room_for() -> None:
    worker_run = a_run()
    batch, more = in_hand(worker_run, 8), reserved(10)
    limits: list[int] = []

    def answer(step: Any) -> Any:
        limits.append(step.limit)
        return [], more

    assert settle(worker_run, batch, answer) == ["SettleAndReserve"]
    assert limits == [10]
    assert [one.reservation for one in worker_run.in_flight.claimed] == more
    assert worker_run.in_flight.held == set(worker_run.in_flight.claimed)
    assert worker_run.in_flight.wanted()  # so that the fetcher is told


@pytest.mark.parametrize(
    "why", ["cannot", "few left", "over", "limited", "rate", "another claims", "not asked to", "apart"]
)
def test_it_only_settles_if_a_claim_would_be_wrong_or_pointless(why: str) -> None:
    worker_run = a_run(can=why != "cannot", rate=(1, timedelta(seconds=1)) if why == "rate" else None)
    batch = in_hand(worker_run, 2)
    worker_run.in_flight.plenty = why != "few left"
    worker_run.over = why == "over"
    if why == "limited":
        worker_run.limits = RunLimits(concurrency=1)
    if why == "apart":
        worker_run.in_flight.apart.add(in_hand(worker_run, 1)[0].attempt)
    if why == "another claims":
        worker_run.in_flight.claiming.acquire()
    assert settle(worker_run, batch, nothing, claims=why != "not asked to") == ["Settle"]
    assert worker_run.in_flight.claiming.locked() == (why == "another claims")


@pytest.mark.parametrize("error", [StoreUnavailable("away"), StoreRefused("a row")], ids=["unavailable", "refused"])
def test_after_an_error_it_settles_alone(error: Exception) -> None:
    worker_run = a_run()
    batch = in_hand(worker_run, 2)

    def answer(step: Any) -> Any:
        if isinstance(step, SettleAndReserve):
            raise error
        return []

    asked = settle(worker_run, batch, answer)
    assert asked[0] == "SettleAndReserve"
    assert set(asked[1:]) == {"Settle"}
    assert not worker_run.in_flight.held
    assert not worker_run.in_flight.claiming.locked()


def test_a_turn_that_is_refused_is_lost_and_the_claim_still_counts() -> None:
    worker_run = a_run()
    batch, more = in_hand(worker_run, 2), reserved(3)
    lost = batch[0].attempt.reservation.receipt
    assert settle(worker_run, batch, lambda step: ([Refused(lost, LeaseLost(lost.id))], more)) == ["SettleAndReserve"]
    assert isinstance(batch[0].attempt.error, LeaseLost)
    assert [one.reservation for one in worker_run.in_flight.claimed] == more


def test_what_is_claimed_while_the_run_ends_is_given_back() -> None:
    worker_run = a_run()
    batch, more = in_hand(worker_run, 2), reserved(3)

    def answer(step: Any) -> Any:
        worker_run.over = True
        return [], more

    settle(worker_run, batch, answer)
    assert not worker_run.in_flight.claimed
    assert [(one.attempt.reservation, one.settlement) for one in worker_run.in_flight.ended] == [
        (one, Release()) for one in more
    ]


def test_a_claim_that_finds_nothing_leaves_the_next_look_to_the_fetcher() -> None:
    worker_run = a_run()
    assert settle(worker_run, in_hand(worker_run, 2), nothing) == ["SettleAndReserve"]
    assert (worker_run.in_flight.plenty, worker_run.in_flight.looked) == (False, True)


def fetch(worker_run: Run, answer: Callable[[Any], Any]) -> list[str]:
    """Return the names of the fetcher's steps, up to the first for which it waits or claims again."""
    steps: list[str] = []

    def answered(step: Any) -> Any:
        steps.append(type(step).__name__)
        if isinstance(step, RoomWanted | Reserve):
            worker_run.over = True
        return answer(step)

    run(Fetcher(worker_run).fetch(), answered)
    return steps


def test_the_fetcher_hands_out_what_a_settlement_claimed() -> None:
    worker_run = a_run()
    claimed = [one.attempt for one in in_hand(worker_run, 20)]
    worker_run.in_flight.claimed.extend(claimed)
    counts: list[int] = []

    def answer(step: Any) -> Any:
        if isinstance(step, HandOut):
            counts.append(step.count)

    assert fetch(worker_run, answer) == ["HandOut", "RoomWanted"]
    assert counts == [20]
    assert list(worker_run.in_flight.waiting) == claimed


def test_while_messages_wait_for_handlers_the_fetcher_leaves_claims_to_settlements() -> None:
    worker_run = a_run()
    waiting = [one.attempt for one in in_hand(worker_run, 15)]
    worker_run.in_flight.waiting.extend(waiting)
    assert fetch(worker_run, lambda step: []) == ["RoomWanted"]
    worker_run.over = False
    worker_run.in_flight.waiting.clear()
    assert fetch(worker_run, lambda step: [])[0] == "Reserve"


def test_the_fetcher_claims_if_there_are_fewer_messages_than_handlers() -> None:
    worker_run = a_run(batch=1, concurrency=2)
    waiting = [one.attempt for one in in_hand(worker_run, 1)]
    worker_run.in_flight.waiting.extend(waiting)  # nobody settles before this one has ended
    assert fetch(worker_run, lambda step: [])[0] == "Reserve"


def test_the_fetcher_waits_while_a_settlement_claims() -> None:
    worker_run = a_run()
    worker_run.in_flight.claiming.acquire()
    assert fetch(worker_run, lambda step: []) == ["RoomWanted"]
