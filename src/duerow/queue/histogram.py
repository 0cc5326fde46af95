"""Histograms of durations whose buckets widen with the duration: eight for each doubling.

A bucket is the exponent of a float and the first three bits of its fraction. So finding it needs no logarithm, and for
many values no Python loop. The buckets of different processes and minutes are added up. A bucket counts as its
midpoint, which is within 6 % of every value in it.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from math import ceil, frexp, ldexp
from operator import attrgetter
from typing import Any, Final

import msgspec

Buckets = dict[int, int]
"""How many values each bucket has."""

_BITS: Final = 3
_PER_DOUBLING: Final = 1 << _BITS
_BIAS: Final = 1023
_HIGH: Final = 3 if sys.byteorder == "little" else 0
"""Which of the four 16-bit words of a float has its sign, its exponent and the first four bits of its fraction."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Buckets).decode
_DUE_AT: Final[Callable[[Any], Any]] = attrgetter("due_at")
_PRIORITY: Final[Callable[[Any], Any]] = attrgetter("priority")


def bucket_of(seconds: float) -> int:
    """Return the bucket of a time; a negative time counts as zero."""
    if seconds <= 0:
        return 0
    fraction, exponent = frexp(seconds)
    return ((exponent - 1 + _BIAS) << _BITS) + int(fraction * 2 * _PER_DOUBLING) - _PER_DOUBLING


@lru_cache(maxsize=1024)  # a dashboard asks for the same ones again and again
def least(bucket: int) -> float:
    """Return the shortest time of a bucket, in seconds."""
    return _at(bucket, 0.0)


def add_times(buckets: Buckets, times: Sequence[float], each: int = 1) -> None:
    """Count times in seconds, none of them negative, `each` times each."""
    if len(times) == 1:
        bucket = bucket_of(times[0])
        buckets[bucket] = buckets.get(bucket, 0) + each
        return
    pairs = memoryview(array("d", times)).cast("B").cast("H")[_HIGH::4]
    for high, count in Counter(pairs.tolist()).items():
        bucket = high >> 1
        buckets[bucket] = buckets.get(bucket, 0) + count * each


def add_waits(buckets: Buckets, reserved: Sequence[Any]) -> None:
    """Count how long the messages of one claim had been due; they are passed in order of priority and due time.

    Messages of one bucket are adjacent in that order, so only the end of each bucket has to be found.
    """
    end = len(reserved)
    start = 0
    while start < end:
        stop = end
        if reserved[-1].priority != reserved[start].priority:
            stop = max(start + 1, bisect_right(reserved, reserved[start].priority, start, key=_PRIORITY))
        _add_line(buckets, reserved, start, stop)
        start = stop


def _add_line(buckets: Buckets, reserved: Sequence[Any], start: int, end: int) -> None:
    at: datetime = reserved[start].last_attempt_at
    shortest = bucket_of((at - reserved[end - 1].due_at).total_seconds())
    while start < end:
        bucket = bucket_of((at - reserved[start].due_at).total_seconds())
        stop = end
        if bucket != shortest:
            latest = at - timedelta(microseconds=ceil(least(bucket) * 1e6))  # rounding may put it in the next bucket
            stop = max(start + 1, bisect_right(reserved, latest, start, end, key=_DUE_AT))
        buckets[bucket] = buckets.get(bucket, 0) + stop - start
        start = stop


def add_up(buckets: Buckets, more: Mapping[int, int]) -> None:
    """Add the counts of another process or minute."""
    for bucket, count in more.items():
        buckets[bucket] = buckets.get(bucket, 0) + count


def percentiles(buckets: Mapping[int, int], *percents: float) -> list[timedelta]:
    """Return the times that these shares of all times do not exceed, smallest share first; [] if there are no times."""
    found: list[timedelta] = []
    line = sorted(buckets.items())
    total = below = 0
    for _, count in line:
        total += count
    for bucket, count in line:
        below += count
        while len(found) < len(percents) and below >= total * percents[len(found)] / 100:
            found.append(_middle(bucket))
    return found


def written(buckets: Mapping[int, int]) -> str | None:
    """Return the counts as JSON text, None if there are none."""
    return _encode(buckets).decode() if buckets else None


def read(text: str | None) -> Buckets:
    """Return the counts from JSON text."""
    return {} if text is None else _decode(text)


@lru_cache(maxsize=1024)
def _middle(bucket: int) -> timedelta:
    """Return the time in the middle of a bucket."""
    return timedelta(seconds=_at(bucket, 0.5) if bucket else 0)


def _at(bucket: int, part: float) -> float:
    """Return the time at a fraction of the way through a bucket."""
    within = (bucket & (_PER_DOUBLING - 1)) + part
    return ldexp(1 + within / _PER_DOUBLING, (bucket >> _BITS) - _BIAS)
