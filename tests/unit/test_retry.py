"""A retry policy turns a failed attempt into a delay, or gives up."""

import pickle
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duerow import RetryPolicy, bury, by_error, exponential, fixed, limited, on, snooze
from duerow.errors import ConfigurationError, InvalidMessage
from duerow.retry import DEFAULT, as_policy

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


@given(st.integers(1, 10**6))
def test_a_fixed_delay_is_the_same_after_every_attempt(attempt):
    assert fixed(SECOND)(attempt) == SECOND


def test_an_exponential_delay_doubles_up_to_its_maximum():
    policy = exponential(SECOND, 2, timedelta(seconds=10), jitter=0)
    assert [policy(attempt).total_seconds() for attempt in range(1, 7)] == [1, 2, 4, 8, 10, 10]


@given(st.integers(1, 10**9))
def test_an_exponential_delay_is_spread_by_its_jitter_and_never_overflows(attempt):
    delay = exponential(SECOND, 2, HOUR, jitter=0.1)(attempt)
    grown = HOUR.total_seconds() if attempt > 12 else min(2 ** (attempt - 1), HOUR.total_seconds())
    assert grown * 0.9 <= delay.total_seconds() + 1e-6
    assert delay.total_seconds() <= grown * 1.1 + 1e-6


def test_jitter_really_spreads():
    assert len({exponential(HOUR, jitter=0.5)(1) for _ in range(20)}) > 1


def test_a_limit_counts_attempts_in_all():
    policy = limited(3, fixed(SECOND))
    assert [policy(attempt) for attempt in (1, 2, 3, 4)] == [SECOND, SECOND, None, None]
    assert policy.limit == 3
    assert limited(1, fixed(SECOND))(1) is None


def test_the_default_gives_up_after_twenty_attempts():
    assert as_policy(None) is DEFAULT
    assert DEFAULT.limit == 20
    assert DEFAULT(19) is not None
    assert DEFAULT(20) is None


def test_a_bare_function_has_twenty_attempts_and_is_told_what_failed():
    seen = []

    def policy(attempt, started_at, error):
        seen.append((attempt, started_at, error))
        return SECOND

    wrapped = as_policy(policy)
    error = ValueError("no line")
    assert (wrapped(19, None, error), wrapped(20), wrapped.limit) == (SECOND, None, 20)
    assert seen == [(19, None, error)]


def test_a_function_may_give_up_by_itself():
    assert as_policy(lambda attempt, started_at, error: None)(1) is None


@pytest.mark.parametrize("policy", [fixed(SECOND), exponential(), limited(2, fixed(SECOND))])
def test_policies_are_values_and_taken_as_they_are(policy):
    assert isinstance(policy, RetryPolicy)
    assert as_policy(policy) is policy


@pytest.mark.parametrize("limit", [0, -1, 1.5, "3", None, True])
def test_a_limit_is_an_integer_of_at_least_one(limit):
    with pytest.raises(ConfigurationError, match="limit"):
        limited(limit, fixed(SECOND))


@pytest.mark.parametrize("policy", [None, 7, SECOND])
def test_what_cannot_be_called_is_no_policy(policy):
    with pytest.raises(ConfigurationError, match="policy"):
        limited(3, policy)


@pytest.mark.parametrize("factor", [0.5, 0, -1, float("nan"), "2", None, True])
def test_a_factor_that_shrinks_is_refused(factor):
    with pytest.raises(ConfigurationError, match="factor"):
        exponential(factor=factor)


@pytest.mark.parametrize("jitter", [-0.1, 1.1, float("nan"), "0.1", None])
def test_a_jitter_is_a_share(jitter):
    with pytest.raises(ConfigurationError, match="jitter"):
        exponential(jitter=jitter)


@pytest.mark.parametrize("delay", [-SECOND, 1, None])
def test_what_is_no_delay_is_refused(delay):
    with pytest.raises(InvalidMessage):
        fixed(delay)
    with pytest.raises(InvalidMessage):
        exponential(first=delay)


@pytest.mark.parametrize("retry", [7, "3 times", SECOND])
def test_a_queue_takes_only_what_can_be_called(retry):
    with pytest.raises(ConfigurationError, match="policy"):
        as_policy(retry)


MINUTE = timedelta(minutes=1)


def test_the_first_rule_that_names_the_error_counts():
    policy = by_error(
        on(ConnectionRefusedError, fixed(HOUR)),
        on((ConnectionError, TimeoutError), fixed(MINUTE)),
        on(ValueError, bury),
        otherwise=fixed(SECOND),
    )
    errors = [ConnectionRefusedError(), ConnectionResetError(), TimeoutError(), UnicodeError(), KeyError(), None]
    assert [policy(1, None, error) for error in errors] == [HOUR, MINUTE, MINUTE, None, SECOND, SECOND]


def test_the_limit_of_all_holds_for_each_rule_that_has_none_of_its_own():
    policy = by_error(
        on(ConnectionError, fixed(MINUTE)),
        on(TimeoutError, limited(5, fixed(MINUTE))),
        on(BlockingIOError, snooze(HOUR)),
        on(KeyError, lambda attempt, started_at, error: attempt * SECOND),
        otherwise=limited(3, fixed(SECOND)),
    )
    attempts = (1, 2, 3, 4, 5, 6)
    assert policy.limit == 3
    assert [policy(attempt, None, ConnectionError()) for attempt in attempts] == [MINUTE, MINUTE, *[None] * 4]
    assert [policy(attempt, None, TimeoutError()) for attempt in attempts] == [*[MINUTE] * 4, None, None]
    assert [policy(attempt, None, BlockingIOError()) for attempt in attempts] == [HOUR] * 6
    assert [policy(attempt, None, KeyError()) for attempt in attempts] == [SECOND, 2 * SECOND, *[None] * 4]
    assert [policy(attempt, None, OSError()) for attempt in attempts] == [SECOND, SECOND, *[None] * 4]


def test_without_another_policy_the_default_one_holds_for_all_other_errors():
    policy = by_error(on(ValueError, bury))
    assert policy.otherwise == DEFAULT
    assert policy.limit == DEFAULT.limit


def test_a_policy_by_error_is_a_value_like_the_others():
    def made():
        return by_error(on(ValueError, bury), on(OSError, snooze(SECOND)), otherwise=limited(3, fixed(SECOND)))

    assert isinstance(made(), RetryPolicy)
    assert made() == made()
    assert len({made(), made()}) == 1
    assert as_policy(made()) == made()
    assert by_error(on(ValueError, made()))(1, None, ValueError()) is None
    assert pickle.loads(pickle.dumps(made())) == made()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: on("ValueError", bury), "exception classes"),
        (lambda: on((), bury), "exception classes"),
        (lambda: on(ValueError(), bury), "exception classes"),
        (lambda: on((ValueError, int), bury), "exception classes"),
        (lambda: on(ValueError, "bury"), "policy must be .*, not 'bury'"),
        (lambda: on(ValueError, None), "policy must be .*, not None"),
        (lambda: by_error(), "takes rules"),
        (lambda: by_error(fixed(SECOND)), "takes rules"),
        (lambda: by_error(on(OSError, bury), on(ConnectionError, fixed(SECOND))), "ConnectionError can never apply"),
        (lambda: by_error(on(ValueError, bury), otherwise="soon"), "policy must be .*, not 'soon'"),
        (lambda: snooze(5), "delay"),
        (lambda: snooze(-SECOND), "delay"),
    ],
)
def test_rules_that_make_no_sense_are_refused(make, said):
    with pytest.raises((ConfigurationError, InvalidMessage), match=said):
        make()
