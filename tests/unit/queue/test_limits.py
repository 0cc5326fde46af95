"""Limits that another program stored are applied if they could be set here, and are otherwise left out."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duerow.queue.limits import NONE, RunLimits, limits_of, payload_of, strictest


def test_limits_come_back_as_they_were_stored() -> None:
    limits = RunLimits(3, 5, 7, timedelta(seconds=2))
    assert limits_of(payload_of(limits)) == limits
    assert limits_of(payload_of(NONE)) == NONE


@pytest.mark.parametrize(
    "odd",
    [
        {"rate": 10**400},
        {"rate": 0},
        {"rate": 1, "rate_span": "PT0S"},
        {"rate": 1, "rate_span": "-PT5S"},
        {"concurrency": 0},
        {"cluster_concurrency": 10**9},
        {"concurrency": "3"},
        [],
        None,
    ],
    ids=lambda odd: str(odd)[:40],
)
def test_stored_limits_that_nobody_could_set_here_are_no_limits(odd: object) -> None:
    assert strictest([limits_of(odd), RunLimits(rate=9)]) == RunLimits(rate=9)
