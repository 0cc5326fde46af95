"""Times are counted in buckets: none is lost, and what is read is close to what was counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from duerow.queue import histogram
from duerow.queue.histogram import Buckets

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = st.floats(0, 1e9, allow_subnormal=False)


class Lent(NamedTuple):
    """What is looked at of a message that was handed out."""

    priority: int
    due_at: datetime
    last_attempt_at: datetime = NOW


@given(st.lists(TIMES, max_size=50), st.integers(1, 5))
def test_times_are_counted_together_as_one_by_one(times: list[float], each: int) -> None:
    together: Buckets = {}
    apart: Buckets = {}
    histogram.add_times(together, times, each)
    for seconds in times:
        bucket = histogram.bucket_of(seconds)
        histogram.add_up(apart, {bucket: each})
        assert bucket == 0 or histogram.least(bucket) <= seconds < histogram.least(bucket + 1)
    assert together == apart
    assert histogram.read(histogram.written(together)) == together


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-(10**7), 10**12)), max_size=60))
@example([(0, waited) for waited in range(40)])  # buckets that are narrower than a microsecond
def test_waits_of_a_claim_are_counted_as_one_by_one(places: list[tuple[int, int]]) -> None:
    """Also of messages that by the clock of the claim are not due yet."""
    lent = sorted(Lent(priority, NOW - timedelta(microseconds=waited)) for priority, waited in places)
    together: Buckets = {}
    apart: Buckets = {}
    histogram.add_waits(together, lent)
    for one in lent:
        histogram.add_up(apart, {histogram.bucket_of((NOW - one.due_at).total_seconds()): 1})
    assert together == apart


@given(st.lists(st.floats(1e-5, 1e6), min_size=1, max_size=200), st.sampled_from([50, 95, 99]))
def test_a_percentile_is_within_six_percent_of_the_true_one(times: list[float], percent: int) -> None:
    buckets: Buckets = {}
    histogram.add_times(buckets, times)
    (found,) = histogram.percentiles(buckets, percent)
    assert found is not None
    true = sorted(times)[-(-len(times) * percent // 100) - 1]
    assert abs(found.total_seconds() - true) <= true / 16 + 1e-6


def test_of_nothing_there_is_no_percentile_and_no_time_at_all_is_zero() -> None:
    assert histogram.percentiles({}, 50, 95) == []
    assert histogram.written({}) is None
    assert histogram.read(None) == {}
    assert histogram.percentiles({histogram.bucket_of(0.0): 3}, 50, 99) == [timedelta(0), timedelta(0)]


def test_messages_that_are_not_quite_in_line_are_all_counted() -> None:
    """A store that hands out the next of a group in the same claim has it behind those that are due later."""
    lent = [Lent(0, NOW - timedelta(seconds=waited)) for waited in (5, 1, 90, 2, 70, 1, 300)]
    buckets: Buckets = {}
    histogram.add_waits(buckets, lent)
    assert sum(buckets.values()) == len(lent)
