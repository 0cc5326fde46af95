"""How a worker settles decided turns: its plan is carried out here by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest

import duerow
from duerow.errors import LeaseLost, StoreUnavailable
from duerow.plan import run
from duerow.reservation import Receipt
from duerow.retry import DEFAULT, RetryPolicy
from duerow.settlement import Commit, Rollback, Settlement
from duerow.store import Refused
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Ended
from duerow.worker.run import MOST_AT_ONCE, Options, Run, Until
from duerow.worker.settler import Freed, Settle, Settler, WriteCounts


def a_run(
    batch: int, concurrency: int = 1, until: Until = None, retries: Mapping[str, RetryPolicy] | None = None
) -> Run:
    options = Options(
        batch=batch,
        concurrency=concurrency,
        lease=timedelta(minutes=1),
        retry=DEFAULT,
        timeout=None,
        poll=None,
        grace=timedelta(seconds=1),
        name="anna",
    )
    return Run("mail", options, until, retries)


def decided(worker_run: Run, count: int) -> None:
    """Have so many messages in hand whose turns are decided."""
    with duerow.connect("memory://") as database:
        queue = database.queue("mail")
        queue.push_many(duerow.Draft(number) for number in range(count))
        for attempt in worker_run.in_flight.take_in(queue.reserve_many(count), 0.0):
            worker_run.in_flight.end(attempt, Commit())


@pytest.mark.parametrize(
    ("batch", "concurrency", "count", "parts"),
    [
        (10_000, 1, 2_500, [MOST_AT_ONCE, MOST_AT_ONCE, 500]),
        (10, 5_000, 1_200, [MOST_AT_ONCE, 200]),
        (10, 1, 25, [10, 10, 5]),
        (1, 50, 3, [1, 1, 1]),
    ],
)
def test_a_large_batch_is_settled_in_parts_of_bounded_size(
    batch: int, concurrency: int, count: int, parts: list[int]
) -> None:
    worker_run = a_run(batch, concurrency)
    decided(worker_run, count)
    worker_run.closing = True
    settled: list[list[Any]] = []

    def answer(step: Any) -> Any:
        if isinstance(step, Settle):
            settled.append(list(step.pairs))
            return []
        assert isinstance(step, (Freed, WriteCounts))
        return None

    run(Settler(worker_run).serve(), answer)
    assert [len(part) for part in settled] == parts
    assert [reservation.message.payload for part in settled for reservation, _ in part] == list(range(count))
    assert not worker_run.in_flight.held


# What wakes a sleeping fetcher.


def freed(
    *settlements: Settlement, group: str | None = None, sleeps_for: float = 60.0, until: Until = None, held: int = 0
) -> bool:
    """Return whether a fetcher that sleeps for so many seconds is woken when these turns have ended."""
    worker_run = a_run(10, until=until)
    ended = in_hand(worker_run, len(settlements), group)
    in_hand(worker_run, held)
    worker_run.sleeps_until = sleeps_for and monotonic() + sleeps_for
    pairs = zip(ended, settlements, strict=True)
    return Settler(worker_run).settled([Ended(attempt, settlement) for attempt, settlement in pairs]).wake


def in_hand(worker_run: Run, count: int, group: str | None = None) -> list[Attempt]:
    """Return attempts at so many messages of one group."""
    with duerow.connect("memory://") as database:
        attempts: list[Attempt] = []
        for number in range(count):
            queue = database.queue(f"mail-{number}")
            queue.push(number, group=group)
            attempts += worker_run.in_flight.take_in(queue.reserve_many(1), 0.0)
        return attempts


def test_the_end_of_a_message_without_a_group_wakes_nobody() -> None:
    assert not freed(Commit())


def test_the_end_of_a_message_of_a_group_wakes_the_fetcher_for_the_next_of_the_group() -> None:
    assert freed(Commit(), group="g")


def test_a_fetcher_that_does_not_sleep_is_not_woken() -> None:
    assert not freed(Commit(), group="g", sleeps_for=0.0)


def test_the_last_message_in_hand_wakes_the_fetcher_of_a_run_that_ends_by_itself() -> None:
    assert freed(Commit(), until="idle")
    assert not freed(Commit(), until="idle", held=1)


def test_a_message_that_is_due_again_before_the_sleep_ends_wakes_the_fetcher() -> None:
    assert freed(Rollback(timedelta(seconds=1)))
    assert freed(Rollback(timedelta(hours=2)), Rollback(timedelta(seconds=1)))
    assert not freed(Rollback(timedelta(hours=2)))


# Turns that cannot be settled.


def settle(worker_run: Run, count: int, answer: Callable[[list[Any]], Any]) -> list[list[object]]:
    """Settle commits of so many messages; return the payloads of each settlement that the database was asked for."""
    asked: list[list[object]] = []

    def answered(step: Any) -> Any:
        if not isinstance(step, Settle):
            return None
        pairs = list(step.pairs)
        asked.append([reservation.message.payload for reservation, _ in pairs])
        return answer(pairs)

    run(Settler(worker_run).settle([Ended(one, Commit()) for one in in_hand(worker_run, count)]), answered)
    return asked


def test_of_a_batch_that_fails_each_half_is_settled_apart_until_the_turn_at_fault_stands_alone() -> None:
    def answer(pairs: list[Any]) -> list[Any]:
        commits = [reservation.message.payload for reservation, how in pairs if isinstance(how, Commit)]
        if 2 in commits:
            raise ValueError("no such value")
        return []

    worker_run = a_run(10)
    assert settle(worker_run, 4, answer) == [[0, 1, 2, 3], [0, 1], [2, 3], [2], [3], [2]]
    assert not worker_run.in_flight.held


def test_a_turn_that_cannot_even_be_settled_as_failed_ends_the_run() -> None:
    def answer(pairs: list[Any]) -> list[Any]:
        raise ValueError("no such value")

    with pytest.raises(ValueError, match="no such value"):
        settle(a_run(10), 1, answer)


def test_a_turn_whose_failure_may_have_been_settled_or_not_ends_no_run() -> None:
    def answer(pairs: list[Any]) -> list[Any]:
        if any(isinstance(how, Commit) for _, how in pairs):
            raise ValueError("no such value")
        raise StoreUnavailable("no answer", "unknown")

    worker_run = a_run(10)
    settle(worker_run, 1, answer)
    assert not worker_run.in_flight.held


def test_only_turns_that_were_settled_as_failed_count_as_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(pairs: list[Any]) -> list[Any]:
        if any(isinstance(how, Commit) for _, how in pairs):
            raise ValueError("no such value")
        lost = [one for one, _ in pairs if one.message.payload == 1]
        return [Refused(one.receipt, LeaseLost(one.message.id)) for one in lost]

    worker_run = a_run(10)
    ended: list[object] = []
    monkeypatch.setattr(worker_run.journal, "settled", lambda batch: ended.extend(batch))
    settle(worker_run, 2, answer)
    assert [(one.attempt.message.payload, type(one.settlement)) for one in ended] == [(0, Rollback)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("count", "samples", "each"), [(1, 1, 1), (100, 100, 1), (101, 51, 2), (250, 84, 3)])
def test_of_a_large_batch_evenly_spread_handling_times_count_for_their_neighbors(
    monkeypatch: pytest.MonkeyPatch, count: int, samples: int, each: int
) -> None:
    worker_run = a_run(1_000)
    attempts = in_hand(worker_run, 1) * count
    attempts[0].seconds = 0.5
    noted: list[tuple[int, int]] = []
    monkeypatch.setattr(worker_run.metrics, "handled", lambda queue, times, each: noted.append((len(times), each)))
    Settler(worker_run).settled([Ended(attempt, Commit()) for attempt in attempts])
    assert noted == [(samples, each)]


def test_turns_of_two_queues_are_settled_queue_by_queue() -> None:
    worker_run = a_run(10, retries={"mail-0": DEFAULT, "mail-1": DEFAULT})
    for attempt in in_hand(worker_run, 2):
        worker_run.in_flight.end(attempt, Commit())
    worker_run.closing = True
    asked: list[list[str]] = []

    def answer(step: Any) -> Any:
        if isinstance(step, Settle):
            asked.append([reservation.message.queue for reservation, _ in step.pairs])
            return []
        return None

    run(Settler(worker_run).serve(), answer)
    assert asked == [["mail-0"], ["mail-1"]]


# Turns that end in their handler's transaction.


def find_out(worker_run: Run, answer: list[Refused] | Exception) -> tuple[list[Any], Freed]:
    """Find out about a commit whose answer was lost; return what was settled, and what the fetcher is told."""
    [attempt] = in_hand(worker_run, 1)
    steps: list[Any] = []

    def answered(step: Any) -> Any:
        steps.append(list(step.pairs) if isinstance(step, Settle) else step)
        if isinstance(step, Settle) and isinstance(answer, Exception):
            raise answer
        refused = [Refused(attempt.reservation.receipt, one.error) for one in answer] if answer else []  # type: ignore[union-attr]
        return refused if isinstance(step, Settle) else None

    run(Settler(worker_run).find_out(attempt, StoreUnavailable("no answer", "unknown")), answered)
    return steps[0], steps[-1]


def test_a_turn_whose_commit_was_undone_ends_as_a_failed_attempt_with_that_error() -> None:
    worker_run = a_run(1)
    [(_, settlement)], told = find_out(worker_run, [])
    assert isinstance(settlement, Rollback)
    assert "no answer" in str(settlement.error)
    assert isinstance(told, Freed)
    assert not worker_run.in_flight.held


def test_a_turn_that_may_have_been_committed_is_let_go() -> None:
    worker_run = a_run(1)
    lost = Refused(Receipt(1, 1), LeaseLost(1))
    assert isinstance(find_out(worker_run, [lost])[1], Freed)
    assert not worker_run.in_flight.held


def test_an_error_that_is_no_outage_ends_the_run_while_it_finds_out() -> None:
    with pytest.raises(ValueError, match="no such value"):
        find_out(a_run(1), ValueError("no such value"))


def test_a_turn_that_its_handlers_transaction_commits_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    worker_run = a_run(1)
    [attempt] = in_hand(worker_run, 1)
    counted: list[object] = []
    monkeypatch.setattr(worker_run.metrics, "ended", lambda *given: counted.append(given))
    Settler(worker_run).committed(attempt, Commit())
    assert counted == [("mail-0", 1, [(attempt.reservation, Commit())])]
