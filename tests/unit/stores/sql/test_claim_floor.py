"""Where claims start, and when they look below that."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from duerow.stores.sql import claim_floor as module
from duerow.stores.sql.claim_floor import BEHIND, LOOK_BEHIND, LOOK_BELOW, LOOK_LATEST, LOOK_SHARE, ClaimFloors
from duerow.testing.clock import MovableClock

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def monotonic(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of the process, to be moved."""
    seconds = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: seconds[0])
    return seconds


@pytest.fixture
def floors(monotonic: list[float]) -> ClaimFloors:
    floors = ClaimFloors(kept=True)
    floors.claimed("mail", floors.start("mail"), oldest=NOON, newest=NOON + SECOND)
    return floors


def test_the_first_claim_starts_at_the_head() -> None:
    assert ClaimFloors(kept=True).start("mail").due_at is None


def test_a_database_without_dead_entries_has_no_floor() -> None:
    floors = ClaimFloors(kept=False)
    assert floors.start("mail").due_at is None


def test_the_floor_does_not_pass_the_oldest_row_that_was_due(floors: ClaimFloors) -> None:
    assert floors.start("mail").due_at == NOON


def test_the_floor_stays_behind_the_newest_row_lent(floors: ClaimFloors, monotonic: list[float]) -> None:
    newest = NOON + 2 * SECOND
    floors.claimed("mail", floors.start("mail"), oldest=newest, newest=newest)
    monotonic[0] += LOOK_BEHIND
    assert floors.start("mail").due_at == newest - BEHIND


def test_claims_right_after_another_start_at_the_oldest_row_that_it_saw(
    floors: ClaimFloors, monotonic: list[float]
) -> None:
    for seconds in (2, 3, 4):
        oldest = NOON + seconds * SECOND
        floors.claimed("mail", floors.start("mail"), oldest=oldest, newest=oldest + SECOND)
        assert floors.start("mail").due_at == oldest
    monotonic[0] += LOOK_BEHIND
    assert floors.start("mail").due_at == NOON + 2 * SECOND


@pytest.mark.parametrize(
    ("first", "second", "pause"),
    [
        (0.0, 0.0, LOOK_BEHIND),
        (0.005, 0.005, 0.005 / LOOK_SHARE),
        (0.005, 0.001, 0.001 / LOOK_SHARE),
        (0.0, 0.005, LOOK_BEHIND),
        (1.0, 1.0, LOOK_BELOW),
    ],
)
def test_after_two_claims_that_took_longer_because_they_started_behind_the_next_one_does_later(
    first: float, second: float, pause: float, monotonic: list[float]
) -> None:
    floors = ClaimFloors(kept=True)
    claim(floors, monotonic, 0.0)
    floors._floors["mail"].below.at = float("inf")
    for took in (first, second):
        monotonic[0] += LOOK_BELOW
        assert not floors.start("mail").near
        claim(floors, monotonic, took)
    monotonic[0] += pause - 0.001
    assert floors.start("mail").near
    monotonic[0] += 0.002
    assert not floors.start("mail").near


def test_an_own_write_between_the_floor_and_the_last_claim_is_looked_for_at_once(floors: ClaimFloors) -> None:
    newest = NOON + 2 * SECOND
    floors.claimed("mail", floors.start("mail"), oldest=newest, newest=newest)
    assert floors.start("mail").near
    floors.lower(newest - BEHIND / 2)
    assert floors.start("mail").due_at == newest - BEHIND


@pytest.mark.parametrize("pause", [0.0, LOOK_BEHIND, LOOK_BELOW])
def test_a_claim_that_began_before_such_a_write_raises_nothing(
    pause: float, floors: ClaimFloors, monotonic: list[float]
) -> None:
    newest = NOON + 2 * SECOND
    floors.claimed("mail", floors.start("mail"), oldest=newest, newest=newest)
    monotonic[0] += pause
    began = floors.start("mail")
    floors.lower(newest - BEHIND / 2)
    floors.claimed("mail", began, oldest=newest + SECOND, newest=newest + 9 * SECOND)
    assert floors.start("mail").due_at == newest - BEHIND


def test_a_look_below_during_which_a_row_was_written_above_the_floor_counts_as_done(
    floors: ClaimFloors, monotonic: list[float]
) -> None:
    newest = NOON + 2 * SECOND
    floors.claimed("mail", floors.start("mail"), oldest=newest, newest=newest)
    monotonic[0] += LOOK_BELOW
    look = floors.start("mail")
    assert look.due_at is None
    floors.lower(newest - BEHIND / 2)
    floors.claimed("mail", look, oldest=newest, newest=newest)
    assert floors.start("mail").due_at is not None


def test_a_write_below_the_floor_is_looked_for_even_if_a_slow_claim_went_back_to_an_older_row(
    floors: ClaimFloors, monotonic: list[float]
) -> None:
    older, newest = NOON + 2 * SECOND, NOON + 9 * SECOND
    floors.claimed("mail", floors.start("mail"), oldest=older, newest=older)
    slow = floors.start("mail")
    assert slow.near
    monotonic[0] += LOOK_BEHIND
    floors.claimed("mail", floors.start("mail"), oldest=newest, newest=newest)
    floors.claimed("mail", slow, oldest=older, newest=older)
    monotonic[0] += LOOK_BELOW
    look = floors.start("mail")
    floors.lower(older + SECOND)
    floors.claimed("mail", look, oldest=newest, newest=newest)
    assert floors.start("mail").due_at is None


def test_the_floor_never_goes_down_by_a_claim(floors: ClaimFloors) -> None:
    floors.claimed("mail", floors.start("mail"), oldest=NOON, newest=NOON)
    assert floors.start("mail").due_at == NOON


def test_each_queue_has_its_own_floor(floors: ClaimFloors) -> None:
    assert floors.start("billing").due_at is None


def test_after_half_a_second_a_claim_looks_below(floors: ClaimFloors, monotonic: list[float]) -> None:
    monotonic[0] += LOOK_BELOW
    assert floors.start("mail").due_at is None


def claim(floors: ClaimFloors, monotonic: list[float], took: float) -> datetime | None:
    """Where a claim started that took so many seconds."""
    start = floors.start("mail")
    monotonic[0] += took
    floors.claimed("mail", start, oldest=NOON, newest=NOON + SECOND)
    return start.due_at


@pytest.mark.parametrize(
    ("first", "second", "above", "pause"),
    [
        (0.0, 0.0, 0.0, LOOK_BELOW),
        (LOOK_BELOW * LOOK_SHARE, LOOK_BELOW * LOOK_SHARE, 0.0, LOOK_BELOW),
        (1.0, 2.0, 0.0, 1 / LOOK_SHARE),
        (2.0, 1.0, 0.0, 1 / LOOK_SHARE),
        (10.0, 10.0, 0.0, LOOK_LATEST),
        (0.0, 10.0, 0.0, LOOK_BELOW),
        (10.0, 0.0, 0.0, LOOK_BELOW),
        (2.0, 2.0, 1.0, 1 / LOOK_SHARE),
        (2.0, 2.0, 2.0, LOOK_BELOW),
    ],
)
def test_after_two_looks_below_that_took_longer_than_claims_above_the_next_one_is_later(
    first: float, second: float, above: float, pause: float, floors: ClaimFloors, monotonic: list[float]
) -> None:
    for took in (first, second):
        assert claim(floors, monotonic, above) is not None
        monotonic[0] += LOOK_BELOW
        assert claim(floors, monotonic, took) is None
    monotonic[0] += pause - 0.01
    assert floors.start("mail").due_at == NOON
    monotonic[0] += 0.02
    assert floors.start("mail").due_at is None


def test_an_own_write_is_looked_for_at_once_even_after_long_looks(floors: ClaimFloors, monotonic: list[float]) -> None:
    for _ in range(2):
        monotonic[0] += LOOK_BELOW
        assert claim(floors, monotonic, 10) is None
    floors.lower(NOON - SECOND)
    assert floors.start("mail").due_at is None


def test_claims_above_the_floor_do_not_put_off_the_look_below(floors: ClaimFloors, monotonic: list[float]) -> None:
    monotonic[0] += LOOK_BELOW / 2
    floors.claimed("mail", floors.start("mail"), oldest=NOON, newest=NOON + SECOND)
    monotonic[0] += LOOK_BELOW / 2
    assert floors.start("mail").due_at is None


def test_an_own_write_below_the_floor_is_looked_for_at_once(floors: ClaimFloors) -> None:
    floors.lower(NOON - SECOND)
    assert floors.start("mail").due_at is None


def test_an_own_write_above_the_floor_changes_nothing(floors: ClaimFloors) -> None:
    floors.lower(NOON + SECOND)
    assert floors.start("mail").due_at == NOON


@pytest.mark.parametrize("pause", [0.0, LOOK_BELOW])
def test_a_claim_that_began_before_an_own_write_below_does_not_raise_the_floor(
    pause: float, floors: ClaimFloors, monotonic: list[float]
) -> None:
    monotonic[0] += pause
    start = floors.start("mail")
    floors.lower(NOON - SECOND)
    floors.claimed("mail", start, oldest=NOON + SECOND, newest=NOON + 9 * SECOND)
    assert floors.start("mail").due_at is None
    assert floors._floors["mail"].due_at == NOON


def test_what_was_found_empty_is_not_looked_at_again(floors: ClaimFloors) -> None:
    nothing_before, writes = floors.nothing_before("mail")
    assert nothing_before is None
    floors.looked("mail", NOON, writes)
    assert floors.nothing_before("mail")[0] == NOON


def test_a_write_of_this_process_makes_it_look_at_all_again(floors: ClaimFloors) -> None:
    floors.looked("mail", NOON, floors.nothing_before("mail")[1])
    floors.written()
    assert floors.nothing_before("mail")[0] is None


def test_a_write_while_it_was_looked_counts_as_not_seen(floors: ClaimFloors) -> None:
    writes = floors.nothing_before("mail")[1]
    floors.written()
    floors.looked("mail", NOON, writes)
    assert floors.nothing_before("mail")[0] is None


def look_slowly(floors: ClaimFloors, monotonic: list[float], queue: str, seconds: float) -> None:
    """Look below the floor of a queue twice, for so many seconds each time."""
    for _ in range(2):
        floors.look_below(queue)
        start = floors.start(queue)
        monotonic[0] += seconds
        floors.found_none(queue, start)


def test_a_look_that_was_left_out_may_be_done_when_looks_have_taken_their_share(
    floors: ClaimFloors, monotonic: list[float]
) -> None:
    assert floors.idle(["mail"]) == (None, None)
    look_slowly(floors, monotonic, "mail", 1.0)
    assert floors.idle(["mail"]) == (NOON, None), "it was not left out yet"
    assert floors.must_leave_out("mail")
    monotonic[0] += 5
    assert floors.idle(["mail"]) == (NOON, 1 / LOOK_SHARE - 5)
    monotonic[0] += 1 / LOOK_SHARE
    assert floors.idle(["mail"]) == (NOON, 0.0)
    assert not floors.must_leave_out("mail")
    look_slowly(floors, monotonic, "mail", 0.0)
    assert floors.idle(["mail"]) == (None, None)


def test_of_several_lines_the_first_look_that_may_be_done_counts_and_those_without_a_floor_do_not(
    floors: ClaimFloors, monotonic: list[float]
) -> None:
    later = NOON + 9 * SECOND
    floors.claimed("bills", floors.start("bills"), oldest=later, newest=later + SECOND)
    floors.start("empty")
    for queue, seconds in (("bills", 2.0), ("mail", 1.0)):
        look_slowly(floors, monotonic, queue, seconds)
        assert floors.must_leave_out(queue)
    lines = ["bills", "mail", "empty", "unknown"]
    assert floors.idle(lines) == (NOON, 1 / LOOK_SHARE)
    monotonic[0] += 10
    assert floors.idle(lines) == (NOON, 1 / LOOK_SHARE - 10)


def test_a_slow_server_is_not_taken_for_dead_entries(floors: ClaimFloors, monotonic: list[float]) -> None:
    for _ in range(3):
        start = floors.start("mail")
        assert start.due_at is not None
        monotonic[0] += 0.3
        floors.found_none("mail", start)
        look_slowly(floors, monotonic, "mail", 0.3)
    assert not floors.must_leave_out("mail")


def test_a_message_that_this_process_put_below_the_floor_is_looked_for_even_if_looks_are_slow(
    floors: ClaimFloors, monotonic: list[float]
) -> None:
    look_slowly(floors, monotonic, "mail", 1.0)
    floors.lower(NOON - SECOND)
    assert not floors.must_leave_out("mail")


def test_a_write_after_the_clock_was_set_back_has_claims_look_below_the_floor(monotonic: list[float]) -> None:
    clock = MovableClock(NOON + SECOND)
    floors = ClaimFloors(kept=True, clock=clock)
    floors.claimed("mail", floors.start("mail"), oldest=NOON, newest=NOON + SECOND)
    floors.written()
    assert floors.start("mail").due_at is not None
    clock.set(NOON - SECOND)
    floors.written()
    assert floors.start("mail").due_at is None
