"""When a slot claims in the step that settles: the plans of a worker are carried out here by hand."""

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
from duerow.worker.attempt import Attempt
from duerow.worker.fetcher import Fetcher
from duerow.worker.in_flight import Ended
from duerow.worker.run import Options, Run
from duerow.worker.settler import Settle, SettleAndReserve, Settler


def a_run(in_one_go: bool = True, **more: Any) -> Run:
    options: dict[str, Any] = {
        "batch": 1,
        "concurrency": 1,
        "lease": timedelta(minutes=1),
        "retry": DEFAULT,
        "timeout": None,
        "poll": None,
        "grace": timedelta(seconds=1),
        "name": "anna",
    }
    return Run("mail", Options(**options | more), None, in_one_go=in_one_go)


def reserved(count: int) -> Sequence[BareReservation]:
    with duerow.connect("memory://") as database:
        queue = database.queue("mail")
        queue.push_many(duerow.Draft(number) for number in range(count))
        return queue.reserve_many(count)


def done(worker_run: Run) -> list[Ended]:
    """Have a message in hand whose turn is to be committed."""
    return [Ended(one, Commit()) for one in worker_run.in_flight.take_in(reserved(1), 0.0)]


def settle(
    worker_run: Run, batch: Sequence[Ended], answer: Callable[[Any], Any]
) -> tuple[list[Any], Sequence[Attempt], Fetcher]:
    """Return the steps that asked the database, what the slot handles next, and the fetcher."""
    asked: list[Any] = []
    fetcher = Fetcher(worker_run)

    def answered(step: Any) -> Any:
        if isinstance(step, Settle | SettleAndReserve):
            asked.append((type(step), list(step.pairs)))
            return answer(step)
        return None

    attempts = run(fetcher.settle_and_claim(Settler(worker_run), batch), answered)
    return asked, attempts, fetcher


def test_a_lone_slot_claims_the_next_message_in_the_step_that_settles() -> None:
    worker_run = a_run()
    batch, more = done(worker_run), reserved(1)
    asked, attempts, _ = settle(worker_run, batch, lambda step: ([], more))
    assert [kind for kind, _ in asked] == [SettleAndReserve]
    assert [one.reservation for one in attempts] == more
    assert worker_run.in_flight.held == set(attempts)


@pytest.mark.parametrize("why", ["the store", "batch", "threads", "rate", "limits", "over", "apart"])
def test_it_only_settles_if_something_else_decides_about_claims(why: str) -> None:
    changed: dict[str, Any] = {
        "batch": {"batch": 10},
        "threads": {"concurrency": 2},
        "rate": {"rate": (1, timedelta(seconds=1))},
    }
    worker_run = a_run(why != "the store", **changed.get(why, {}))
    batch = done(worker_run)
    worker_run.over = why == "over"
    if why == "limits":
        worker_run.limits = RunLimits(concurrency=1)
    if why == "apart":
        worker_run.in_flight.apart.add(done(worker_run)[0].attempt)
    asked, attempts, _ = settle(worker_run, batch, lambda step: [])
    assert [kind for kind, _ in asked] == [Settle]
    assert attempts == []


@pytest.mark.parametrize("error", [StoreUnavailable("away"), StoreRefused("a row")], ids=["unavailable", "refused"])
def test_after_an_error_the_turn_is_settled_alone_and_has_not_failed(error: Exception) -> None:
    worker_run = a_run()

    def answer(step: Any) -> Any:
        if isinstance(step, SettleAndReserve):
            raise error
        return []

    asked, attempts, _ = settle(worker_run, done(worker_run), answer)
    assert [kind for kind, _ in asked] == [SettleAndReserve, Settle]
    assert [type(settlement) for _, settlement in asked[1][1]] == [Commit]
    assert attempts == []
    assert not worker_run.in_flight.held


def test_a_turn_that_is_refused_is_lost_and_the_claim_still_counts() -> None:
    worker_run = a_run()
    batch, more = done(worker_run), reserved(1)
    lost = batch[0].attempt.reservation.receipt
    _, attempts, _ = settle(worker_run, batch, lambda step: ([Refused(lost, LeaseLost(lost.id))], more))
    assert isinstance(batch[0].attempt.error, LeaseLost)
    assert [one.reservation for one in attempts] == more


def test_what_is_claimed_while_the_run_ends_is_given_back_at_once() -> None:
    worker_run = a_run()
    more = reserved(1)

    def answer(step: Any) -> Any:
        worker_run.over = True
        return ([], more) if isinstance(step, SettleAndReserve) else []

    asked, attempts, _ = settle(worker_run, done(worker_run), answer)
    assert attempts == []
    assert asked[1] == (Settle, [(more[0], Release())])


def test_what_cannot_be_given_back_because_the_database_is_away_is_left_to_its_lease() -> None:
    worker_run = a_run()
    more = reserved(1)

    def answer(step: Any) -> Any:
        if isinstance(step, Settle):
            raise StoreUnavailable("away")
        worker_run.over = True
        return [], more

    asked, attempts, _ = settle(worker_run, done(worker_run), answer)
    assert [kind for kind, _ in asked] == [SettleAndReserve, Settle]
    assert attempts == []


@pytest.mark.parametrize(("found", "looked"), [([], True), (None, False)])
def test_a_claim_that_found_nothing_is_not_made_again_before_the_fetcher_asks_when_to_wake(
    found: Any, looked: bool
) -> None:
    worker_run = a_run()
    _, _, fetcher = settle(worker_run, done(worker_run), lambda step: ([], found))
    steps: list[str] = []

    def answered(step: Any) -> Any:
        steps.append(type(step).__name__)
        worker_run.over = True
        return []

    run(fetcher.next(1), answered)
    assert steps[0] == ("Listen" if looked else "Reserve")
