"""Retry policies as values, and the pace of work on many messages."""

from datetime import timedelta

import msgspec
import pytest

from duerow import bury, by_error, exponential, fixed, limited, on, snooze
from duerow.queue.retry_json import PolicyValue, as_policy, as_value, limit_of
from duerow.queue.throttle import Throttle
from duerow.retry import DEFAULT
from duerow.retry import as_policy as from_user

SECOND = timedelta(seconds=1)


def backoff(attempt, started_at, error):
    return SECOND


def again(value):
    """Return a value as it comes back from a database."""
    return msgspec.json.decode(msgspec.json.encode(value), type=PolicyValue)


@pytest.mark.parametrize(
    ("policy", "text", "limit"),
    [
        (fixed(SECOND), "fixed(0:00:01)", None),
        (snooze(SECOND), "snooze(0:00:01)", None),
        (bury, "bury", None),
        (DEFAULT, "limited(20, exponential(first=0:00:01, factor=2, maximum=1:00:00, jitter=0.1))", 20),
        (limited(3, limited(5, exponential(factor=1.5))), None, 3),
    ],
)
def test_a_policy_without_functions_comes_back_as_it_was(policy, text, limit):
    value = again(as_value(policy))
    assert as_policy(value) == policy
    assert limit_of(value) == policy.limit == limit
    assert text is None or str(value) == text


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (from_user(backoff), "limited(20, {here}.backoff)"),
        (
            by_error(on((ValueError, KeyError), bury), on(OSError, backoff), otherwise=fixed(SECOND)),
            "by_error(on((ValueError, KeyError), bury), on(OSError, {here}.backoff), otherwise=fixed(0:00:01))",
        ),
    ],
)
def test_what_holds_functions_or_errors_is_known_by_their_names(policy, text):
    value = again(as_value(policy))
    assert str(value) == text.format(here=__name__)
    assert as_policy(value) is None
    assert limit_of(value) == policy.limit


def test_a_policy_of_the_users_own_class_keeps_its_limit():
    class Patient:
        limit = 7

        def __call__(self, attempt, started_at=None, error=None):
            return SECOND

    value = again(as_value(Patient()))
    assert str(value).endswith("Patient")
    assert limit_of(value) == 7


def test_batches_are_no_larger_than_what_a_second_allows():
    free, slow, slowest = Throttle(None, 100), Throttle(10, 100), Throttle(0.5, 100)
    assert [pace.batch(None, 0) for pace in (free, slow, slowest)] == [100, 10, 1]
    assert [pace.batch(7, 3) for pace in (free, slow, slowest)] == [4, 4, 1]
    assert [pace.pause(5) for pace in (free, slow, slowest)] == [0.0, 0.5, 10.0]
