"""Limits that operators set on queues while workers run: kept in the database, and read regularly by each worker.

The limits of a queue are a message in the queue `duerow.limits` that is never due; its key is the queue's name.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

import msgspec

from duerow.errors import ConfigurationError, InvalidMessage, shown
from duerow.message import check_span
from duerow.queue.reserved import RESERVED

LIMITS: Final = f"{RESERVED}limits"
"""The queue whose messages are the limits of other queues."""

MOST_HANDLERS: Final = 10_000

MOST_STARTS: Final = 1_000_000_000
"""The greatest rate: a number of messages in its span."""


class RunLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limits that operators set for the workers of a queue, regardless of how the workers were started.

    Attributes:
        concurrency: how many handlers each worker runs at once; None: as many as it was started with.
        cluster_concurrency: how many handlers run at once in all workers with a `cluster_concurrency`, instead of that
            number.
        rate: how many messages each worker starts in any span of length `rate_span`; None: no further limit.
        rate_span: the length of that span.
    """

    concurrency: int | None = None
    cluster_concurrency: int | None = None
    rate: int | None = None
    rate_span: timedelta = timedelta(minutes=1)


NONE: Final = RunLimits()


def checked(concurrency: object, cluster_concurrency: object, rate: object) -> RunLimits:
    """Return checked limits; raise ConfigurationError if one is not valid (InvalidMessage for the span)."""
    named = {"concurrency": concurrency, "cluster_concurrency": cluster_concurrency}
    for name, value in named.items():
        if value is not None and (type(value) is not int or not 1 <= value <= MOST_HANDLERS):
            raise ConfigurationError(
                f"{name} must be a number of handlers from 1 to {MOST_HANDLERS:,}, not {shown(value)}"
            )
    if rate is None:
        return RunLimits(concurrency, cluster_concurrency)  # type: ignore[arg-type]
    if not isinstance(rate, tuple) or len(rate) != 2 or type(rate[0]) is not int or not 1 <= rate[0] <= MOST_STARTS:
        raise ConfigurationError(
            f"rate must be a maximum number of messages, from 1 to {MOST_STARTS:,}, and a span of time, such as "
            f"(100, timedelta(minutes=1)), not {shown(rate)}"
        )
    span = check_span("the span of rate", rate[1], timedelta(milliseconds=1))
    return RunLimits(concurrency, cluster_concurrency, rate[0], span)  # type: ignore[arg-type]


def strictest(all_of: Iterable[RunLimits]) -> RunLimits:
    """Return the limits for a worker of several queues: the lowest of each kind."""
    found = NONE
    for one in all_of:
        slower = one if _per_second(one) < _per_second(found) else found
        found = RunLimits(
            _lower(found.concurrency, one.concurrency),
            _lower(found.cluster_concurrency, one.cluster_concurrency),
            slower.rate,
            slower.rate_span,
        )
    return found


def payload_of(limits: RunLimits) -> Any:
    """Return limits as a payload."""
    return msgspec.json.decode(msgspec.json.encode(limits))


def limits_of(payload: Any) -> RunLimits:
    """Return limits from a payload; none if another version wrote it, or if they could not be set here."""
    try:
        found = msgspec.convert(payload, RunLimits)
        rate = None if found.rate is None else (found.rate, found.rate_span)
        return checked(found.concurrency, found.cluster_concurrency, rate)
    except (msgspec.ValidationError, ConfigurationError, InvalidMessage):
        return NONE


def _lower(one: int | None, other: int | None) -> int | None:
    return min((value for value in (one, other) if value is not None), default=None)


def _per_second(limits: RunLimits) -> float:
    return float("inf") if limits.rate is None else limits.rate / limits.rate_span.total_seconds()
