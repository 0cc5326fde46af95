"""How many messages a worker holds, and how long it sleeps."""

from __future__ import annotations

from itertools import pairwise

import pytest

from duerow.worker.outage import Backoff
from duerow.worker.prefetch import Interval, Prefetch

MINUTE = 60.0


def learned(prefetch: Prefetch, seconds: float) -> Prefetch:
    for _ in range(200):
        prefetch.note(seconds)
    return prefetch


def test_nothing_is_claimed_ahead_before_the_handler_is_known() -> None:
    prefetch = Prefetch(batch=100, concurrency=4, lease=MINUTE)
    assert prefetch.room(0) == 4
    assert prefetch.room(4) == 0


def test_fast_handlers_have_a_batch_to_work_on_while_others_are_fetched_and_settled() -> None:
    prefetch = learned(Prefetch(batch=1_000, concurrency=1, lease=MINUTE), 0.000_01)
    assert prefetch.room(0) == 1_000
    assert prefetch.room(1_000) == 1_000
    assert prefetch.room(2_000) == 1_000
    assert prefetch.room(2_999) == 0


def test_claims_are_worth_their_while_unless_a_handler_has_nothing_to_do() -> None:
    prefetch = learned(Prefetch(batch=100, concurrency=4, lease=MINUTE), 0.000_01)
    assert prefetch.room(250) == 0
    assert prefetch.room(204) == 100
    assert prefetch.room(3) == 100


def test_a_worker_holds_no_more_than_its_handlers_begin_within_a_moment_since_a_claim_counts_an_attempt() -> None:
    quick = learned(Prefetch(batch=100, concurrency=4, lease=MINUTE), 0.01)
    assert quick.most == 4 + 20
    slow = learned(Prefetch(batch=100, concurrency=4, lease=MINUTE), 0.5)
    assert slow.most == 4


def test_where_claims_take_long_handlers_have_work_for_the_next_few_of_them() -> None:
    prefetch = learned(Prefetch(batch=100, concurrency=4, lease=MINUTE), 0.01)
    for _ in range(100):
        prefetch.note_claim(0.05)
    assert 4 + 79 <= prefetch.most <= 4 + 80
    for _ in range(100):
        prefetch.note_claim(30.0)
    assert prefetch.most == 4 + 300  # no more than a second's work, and three batches
    assert learned(prefetch, 0.5).most == 4 + 8
    for _ in range(100):
        prefetch.note_claim(0.001)
    assert prefetch.most == 4


def test_a_careful_worker_claims_what_a_handler_begins_at_once_and_nothing_ahead() -> None:
    prefetch = learned(Prefetch(batch=100, concurrency=4, lease=MINUTE), 0.001)
    prefetch.careful = True
    assert (prefetch.room(0), prefetch.room(3), prefetch.room(4)) == (1, 1, 0)
    in_batches = learned(Prefetch(batch=100, concurrency=400, lease=MINUTE, width=100), 0.001)
    in_batches.careful = True
    assert (in_batches.room(0), in_batches.room(300), in_batches.room(400)) == (100, 100, 0)


@pytest.mark.parametrize("seconds", [0.001, 0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("lease", [0.3, 5.0, MINUTE])
def test_what_waits_can_be_run_within_its_lease(seconds: float, lease: float) -> None:
    prefetch = learned(Prefetch(batch=1_000, concurrency=3, lease=lease), seconds)
    waiting = prefetch.most - 3
    assert waiting * seconds / 3 <= lease


def test_messages_that_waited_long_make_a_worker_hold_fewer_until_it_is_fast_again() -> None:
    prefetch = learned(Prefetch(batch=100, concurrency=1, lease=MINUTE), 0.001)
    prefetch.stall(20)
    assert prefetch.most == 1
    assert learned(prefetch, 0.001).most > 20


def test_a_handler_that_takes_no_time_at_all_divides_nothing_by_zero() -> None:
    assert learned(Prefetch(batch=10, concurrency=1, lease=MINUTE), 0.0).most == 31


def test_sleeps_double_up_to_the_longest_and_begin_anew() -> None:
    interval = Interval()
    sleeps = [interval.next(5.0) for _ in range(20)]
    assert 0.0075 <= sleeps[0] <= 0.0125
    assert all(2 * 0.6 <= later / earlier <= 2 * 1.7 for earlier, later in pairwise(sleeps[:8]))
    assert max(sleeps) <= 5.0
    assert min(sleeps[-5:]) >= 3.75
    interval.reset()
    assert interval.next(5.0) <= 0.0125


def test_what_fails_is_left_alone_for_longer_and_longer_up_to_a_limit() -> None:
    backoff = Backoff(most=2.0)
    assert not backoff.failing
    waits = [backoff.next() for _ in range(100)]
    assert waits[0] <= 0.1
    assert all(1.0 <= wait <= 2.0 for wait in waits[6:])
    assert backoff.failing
    backoff.reset()
    assert not backoff.failing
    assert backoff.next() <= 0.1


@pytest.mark.parametrize(("batch", "ahead"), [(1, 0), (2, 6), (10, 30)])
def test_three_batches_are_claimed_ahead_but_of_single_messages_none(batch: int, ahead: int) -> None:
    assert learned(Prefetch(batch, concurrency=4, lease=MINUTE), 0.000_01).most == 4 + ahead


def test_of_a_short_lease_a_third_is_claimed_ahead_however_long_claims_take() -> None:
    prefetch = learned(Prefetch(batch=1_000, concurrency=1, lease=0.315), 0.01)
    prefetch.note_claim(30.0)
    assert prefetch.most == 1 + 10


def test_one_slow_handler_and_one_slow_claim_change_little() -> None:
    prefetch = learned(Prefetch(batch=100, concurrency=4, lease=MINUTE), 0.01)
    prefetch.note(0.11)
    assert prefetch.most == 4 + 13  # as for 15 ms
    for _ in range(100):
        prefetch.note_claim(0.001)
    prefetch.note_claim(0.151)
    assert prefetch.most == 4 + 33  # claims of 31 ms, four of which take 124 ms


def test_a_worker_that_may_only_begin_messages_at_once_claims_none_ahead_until_it_may_again() -> None:
    prefetch = learned(Prefetch(batch=100, concurrency=4, lease=MINUTE), 0.000_01)
    prefetch.restrict(2, restricted=True)
    assert (prefetch.most, prefetch.at_once) == (2, 2)
    prefetch.allow(3)
    assert prefetch.most == 3
    prefetch.restrict(4, restricted=False)
    assert prefetch.most == 4 + 300
    prefetch.allow(0)
    assert (prefetch.most, prefetch.room(0)) == (0, 0)
    prefetch.allow(5)
    assert prefetch.most == 5 + 300


def test_a_claim_is_worth_its_while_for_a_third_of_what_is_held_ahead() -> None:
    prefetch = learned(Prefetch(batch=100, concurrency=4, lease=MINUTE), 0.01)
    assert prefetch.most == 4 + 20
    assert (prefetch.room(18), prefetch.room(19)) == (6, 0)
    few = learned(Prefetch(batch=100, concurrency=4, lease=MINUTE), 0.1)
    assert few.most == 4 + 2
    assert (few.room(4), few.room(5), few.room(6)) == (2, 1, 0)
