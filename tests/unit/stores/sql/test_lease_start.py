"""A lease lasts from when the database lets it be written, however long the wait for other writers was."""

from __future__ import annotations

from typing import Any

import pytest

from duerow.clock import micros
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.stores.sql.dialects.sqlite.dialect import SQLite
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.statements import Step
from duerow.testing.clock import MovableClock, minutes, seconds

CLOCK = MovableClock()
STORE = SqlStore(SQLite(), "duerow_", None, CLOCK)


@pytest.mark.parametrize(
    "plan",
    [
        STORE.messages.reserve("mail", 1, seconds(10), 20, "host:1:-/1"),
        STORE.messages.extend([Receipt(1, 1)], seconds(10)),
    ],
    ids=["reserve", "extend"],
)
def test_a_lease_on_sqlite_begins_after_the_wait_for_other_writers(plan: Plan[Any]) -> None:
    assert next(plan) is BEGIN
    CLOCK.advance(minutes(1))
    step = plan.send(None)
    assert isinstance(step, Step)
    assert step.values["now"] == micros(CLOCK.now())
