"""Concurrent consumers never get the same message, and do not block one another."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from duerow import Commit, Draft, Move, Queue, Release, Reservation, Rollback, fixed
from duerow.errors import DuplicateKey, LeaseLost
from duerow.message import OnDuplicate
from duerow.settlement import Settlement
from duerow.testing.clock import MovableClock, minutes, seconds
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import payloads
from duerow.testing.faces import Face, another

T = TypeVar("T")

Race = Callable[[Queue], T]


def race(face: Face, place: Place, clock: MovableClock, runners: Sequence[Race[T]]) -> list[T]:
    """Start all at once, each in a thread with its own handle (and event loop); return the results."""
    start = threading.Barrier(len(runners), timeout=60)

    def run(runner: Race[T]) -> T:
        with another(face) as mine, mine.connect(place.url, clock=clock, **place.settings) as db:
            start.wait()
            return runner(db.queue("mail", retry=fixed(seconds(0))))

    with ThreadPoolExecutor(len(runners)) as threads:
        return list(threads.map(run, runners))


def test_consumers_that_race_get_each_message_once(
    queue: Queue, face: Face, place: Place, clock: MovableClock, scale: int
) -> None:
    pushed = [one.id for one in queue.push_many([Draft(number) for number in range(60 * scale)])]

    def drain(size: int) -> Race[list[int]]:
        def consume(queue: Queue) -> list[int]:
            mine: list[int] = []
            while batch := queue.reserve_many(size):
                mine += [one.message.id for one in batch]
                assert queue.commit_many(batch) == []
            return mine

        return consume

    taken = [id for mine in race(face, place, clock, [drain(size) for size in (1, 3, 7, 20)]) for id in mine]
    assert sorted(taken) == pushed
    assert queue.count() == 0


def test_pops_and_reserves_that_race_share_no_message(
    queue: Queue, face: Face, place: Place, clock: MovableClock, scale: int
) -> None:
    pushed = [one.id for one in queue.push_many([Draft(number) for number in range(60 * scale)])]

    def pop(queue: Queue) -> list[int]:
        mine: list[int] = []
        while batch := queue.pop_many(3):
            mine += [message.id for message in batch]
        return mine

    def reserve(queue: Queue) -> list[int]:
        mine: list[int] = []
        while batch := queue.reserve_many(3):
            mine += [one.message.id for one in batch]
        return mine

    results = race(face, place, clock, [pop, reserve, pop, reserve])
    taken = sorted(id for mine in results for id in mine)
    assert len(taken) == len(set(taken))
    left = {message.id for message in queue.find(limit=200) if message.leased_by is None}
    assert sorted(taken + sorted(left)) == pushed


@pytest.mark.parametrize("mode", ["ignore", "replace", "earliest"])
def test_producers_that_race_for_the_same_keys_make_one_message_of_each(
    queue: Queue, face: Face, place: Place, clock: MovableClock, mode: OnDuplicate
) -> None:
    keys = [f"k-{number}" for number in range(60)]

    def push(order: Sequence[str], sign: str) -> Race[list[tuple[str, int, str]]]:
        def produce(queue: Queue) -> list[tuple[str, int, str]]:
            answers: list[tuple[str, int, str]] = []
            for start in range(0, len(order), 20):
                batch = order[start : start + 20]
                pushed = queue.push_many([Draft(sign, key=key) for key in batch], on_duplicate=mode)
                answers += [(key, one.id, one.outcome) for key, one in zip(batch, pushed, strict=True)]
            return answers

        return produce

    orders = [keys, keys[::-1], keys[30:] + keys[:30], keys]
    results = race(face, place, clock, [push(order, str(number)) for number, order in enumerate(orders)])
    answers = [answer for mine in results for answer in mine]
    created = Counter(key for key, _, outcome in answers if outcome == "created")
    assert created == dict.fromkeys(keys, 1)
    assert {key: {id for other, id, _ in answers if other == key} for key in keys} == {
        message.key: {message.id} for message in queue.find(limit=200)
    }


def test_of_batches_that_race_and_reject_each_is_written_whole_or_not_at_all(
    queue: Queue, face: Face, place: Place, clock: MovableClock
) -> None:
    def push(sign: int) -> Race[list[tuple[int, int]]]:
        def produce(queue: Queue) -> list[tuple[int, int]]:
            won = []
            for turn in range(15):
                keys = [f"{turn}-{number}" for number in range(5)]
                drafts = [Draft([sign, turn], key=key) for key in (keys if sign % 2 else reversed(keys))]
                with contextlib.suppress(DuplicateKey):
                    queue.push_many(drafts, on_duplicate="reject")
                    won.append((sign, turn))
            return won

        return produce

    winners = [won for mine in race(face, place, clock, [push(sign) for sign in range(3)]) for won in mine]
    assert sorted(turn for _, turn in winners) == list(range(15))
    assert Counter(tuple(payload) for payload in payloads(queue)) == dict.fromkeys(winners, 5)


def test_of_two_who_move_to_one_key_at_once_one_is_refused(
    queue: Queue, face: Face, place: Place, clock: MovableClock
) -> None:
    queue.push_many([Draft(number) for number in range(20)])

    def move(queue: Queue) -> tuple[list[int], list[int]]:
        reservations: list[Reservation] = []
        while len(reservations) < 10:
            reservations += queue.reserve_many(1)
        settled = [(one, Move("billing", key=f"k-{number}")) for number, one in enumerate(reservations)]
        refused = [queue.settle([turn]) for turn in settled]
        won = [number for number, errors in enumerate(refused) if not errors]
        lost = [number for number, errors in enumerate(refused) if errors]
        assert all(isinstance(errors[0].error, DuplicateKey) for errors in refused if errors)
        return won, lost

    (won, lost), (won_too, lost_too) = race(face, place, clock, [move, move])
    assert sorted(won + won_too) == list(range(10))
    assert sorted(lost + lost_too) == list(range(10))


def test_consumers_that_share_every_message_settle_each_turn_once(
    queue: Queue, face: Face, place: Place, clock: MovableClock
) -> None:
    """Leases of no use: whoever reserves last may settle, all others are refused, whatever they try."""
    queue.push_many([Draft(number) for number in range(10)])

    def consume(queue: Queue) -> list[int]:
        done = []
        for turn in range(30):
            clock.advance(seconds(1))
            for one in queue.reserve_many(5, lease=seconds(1)):
                ending = Commit() if turn % 3 == 0 else Release() if turn % 3 == 1 else Rollback(seconds(0))
                [*refused] = queue.settle([(one, ending)])
                assert all(isinstance(refusal.error, LeaseLost) for refusal in refused)
                if not refused and isinstance(ending, Commit):
                    done.append(one.message.payload)
        return done

    results = race(face, place, clock, [consume, consume, consume])
    done = [payload for mine in results for payload in mine]
    clock.advance(minutes(10))
    done += [message.payload for message in queue.pop_many(10)]
    assert sorted(done) == list(range(10))


def test_pushes_replaces_claims_and_settlements_of_many_go_on_beside_each_other(
    queue: Queue, face: Face, place: Place, clock: MovableClock, scale: int
) -> None:
    keys = [f"k-{number}" for number in range(20)]

    def replace(queue: Queue) -> int:
        for turn in range(6 * scale):
            queue.push_many([Draft(turn, key=key) for key in keys[:: 1 if turn % 2 else -1]], on_duplicate="replace")
        return 0

    def consume(queue: Queue) -> int:
        refused = 0
        for turn in range(6 * scale):
            batch = queue.reserve_many(10)
            settled = queue.commit_many(batch[::-1]) if turn % 2 else queue.rollback_many(batch, delay=seconds(0))
            assert all(isinstance(one.error, LeaseLost) for one in settled)
            refused += len(settled)
        return refused

    race(face, place, clock, [replace, consume, replace, consume])
    assert len({message.key for message in queue.find(limit=200)}) == queue.count()


def test_producers_and_consumers_of_groups_that_race_keep_the_order_of_each_and_leave_nobody_waiting(
    queue: Queue, face: Face, place: Place, clock: MovableClock, scale: int
) -> None:
    """Each producer fills groups of its own, so that their order is known; consumers commit, give back and fail."""
    each, producers = 6 * scale, 2
    endings: dict[str, Settlement] = {"commit": Commit(), "release": Release(), "fail": Rollback(seconds(0))}
    done: dict[str, list[int]] = {}
    holding: set[str] = set()
    finished = threading.Barrier(producers, timeout=120)
    over = threading.Event()

    def produce(name: str) -> Race[None]:
        def push(queue: Queue) -> None:
            for number in range(0, each, 3):
                groups = [f"{name}{number % 2}", f"{name}x"]
                for group in groups:
                    queue.push(number, group=group, priority=number % 3)
                queue.push_many([Draft(number + step, group=group) for step in (1, 2) for group in groups])
            finished.wait()
            over.set()

        return push

    def consume(turns: Sequence[str]) -> Race[None]:
        def drain(queue: Queue) -> None:
            turn = 0
            while (batch := queue.reserve_many(3)) or not over.is_set() or queue.count():
                for one in batch:
                    group = str(one.message.group)
                    assert group not in holding, f"two of {group} at once"
                    holding.add(group)
                    turn += 1
                    ending = turns[turn % len(turns)]
                    if ending == "commit":
                        done.setdefault(group, []).append(one.message.payload)
                    holding.remove(group)
                    assert queue.settle([(one, endings[ending])]) == []

        return drain

    runners: list[Race[None]] = [produce("a"), produce("b")]
    runners += [consume(["commit"]), consume(["commit", "release", "fail"]), consume(["fail", "commit"])]
    race(face, place, clock, runners)
    for group, numbers in done.items():
        assert numbers == sorted(numbers), f"{group} out of order: {numbers}"
    assert sum(len(numbers) for numbers in done.values()) == producers * 2 * each
