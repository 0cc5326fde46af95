"""What fails is tried again after delays that grow, for a while."""

from itertools import count

import pytest

from duerow import backoff
from duerow.backoff import Delays, keep_trying
from duerow.errors import Conflict, StoreUnavailable

PLAIN = (1.0, 1.0)
"""The spread of delays that nothing is random about."""


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is a second later whenever somebody looks."""
    clock = count()
    monkeypatch.setattr(backoff.time, "monotonic", lambda: next(clock))


def failing(times: int, error: Exception) -> list[Exception]:
    return [error] * times


def asked(errors: list[Exception]) -> str:
    if errors:
        raise errors.pop()
    return "answer"


def test_delays_double_up_to_the_longest_and_begin_anew() -> None:
    delays = Delays(1.0, 6.0, PLAIN)
    assert [delays.next() for _ in range(5)] == [1.0, 2.0, 4.0, 6.0, 6.0]
    delays.reset()
    assert not delays.failing
    assert delays.next() == 1.0
    assert delays.failing


def test_a_delay_is_no_longer_than_is_asked_for_now() -> None:
    delays = Delays(4.0, spread=(1.0, 1.5))
    assert [delays.next(most) for most in (3.0, 3.0, 1.0)] == [3.0, 3.0, 1.0]


def test_delays_are_spread_between_the_two_factors() -> None:
    found = [Delays(1.0, spread=(0.25, 0.5)).next() for _ in range(200)]
    assert all(0.25 <= delay <= 0.5 for delay in found)
    assert len(set(found)) > 1


def test_what_fails_is_tried_until_it_succeeds_and_told_once() -> None:
    waits: list[float] = []
    told: list[Conflict] = []
    errors = failing(3, Conflict("lost"))
    delays = Delays(1.0, spread=PLAIN)
    assert keep_trying(lambda: asked(errors), Conflict, delays, 60.0, waits.append, tell=told.append) == "answer"
    assert waits == [1.0, 2.0, 4.0]
    assert len(told) == 1


def test_another_error_comes_out_at_once() -> None:
    with pytest.raises(StoreUnavailable):
        keep_trying(lambda: asked(failing(1, StoreUnavailable("gone"))), Conflict, Delays(1.0), 60.0, pytest.fail)


def test_the_error_comes_out_if_a_wait_is_given_up() -> None:
    with pytest.raises(Conflict):
        keep_trying(lambda: asked(failing(1, Conflict("lost"))), Conflict, Delays(1.0), 60.0, lambda _: True)


def test_the_error_comes_out_if_nothing_can_be_done_again() -> None:
    with pytest.raises(Conflict):
        keep_trying(
            lambda: asked(failing(1, Conflict("lost"))), Conflict, Delays(1.0), 60.0, pytest.fail, again=lambda: False
        )


@pytest.mark.usefixtures("seconds")
def test_the_error_comes_out_when_patience_is_over() -> None:
    waits: list[float] = []
    with pytest.raises(Conflict):
        keep_trying(lambda: asked(failing(1, Conflict("lost"))), Conflict, Delays(1.0), 3.0, waits.append)
    assert len(waits) == 3
