"""What an idle consumer asks the database before it sleeps, and what it remembers of the answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from duerow.clock import EPOCH
from duerow.plan import BEGIN, Plan
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.plans.next_due import NOTE
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.plans.store import SqlStore
from duerow.testing.clock import MovableClock

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE, SLEEP = timedelta(minutes=1), timedelta(seconds=5)


@pytest.fixture
def store() -> SqlStore:
    return SqlStore(PostgreSQL(), "duerow_", None, MovableClock())


def carried_out(plan: Plan[Any], *answers: list[Any]) -> tuple[list[dict[str, Any]], Any]:
    """Return the values of a plan's steps, and its result; after these answers the database returns nothing."""
    values, left, step = list[dict[str, Any]](), list(answers), next(plan, None)
    while step is not None:
        values.append({} if step is BEGIN else dict(step.values))
        try:
            step = plan.send(left.pop(0) if left else [])
        except StopIteration as stop:
            return values, stop.value
    return values, None


def asked(store: SqlStore, *answers: list[Any], **more: Any) -> tuple[list[dict[str, Any]], Any]:
    """Ask when a message of the queue "mail" is due."""
    return carried_out(store.messages.next_due(["mail"], SLEEP, **more), *answers)


def test_a_sleep_is_noted_for_a_little_longer_than_it_lasts(store: SqlStore) -> None:
    values, _ = asked(store, [], [], [("mail", None, NOON)])
    write = store.context.dialect.write_span
    assert values[0]["given_queue"] == "mail"
    assert (values[0]["span"], values[0]["half"]) == (write(SLEEP + NOTE), write(SLEEP + NOTE / 2))


def test_a_consumer_sleeps_until_the_first_message_is_due(store: SqlStore) -> None:
    rows = [("mail", None, NOON), ("mail", NOON + 2 * MINUTE, NOON), ("mail", NOON + MINUTE, NOON)]
    assert asked(store, [], [], rows)[1] == MINUTE
    assert asked(store, [], [("mail", None, NOON)])[1] is None


@pytest.mark.parametrize("due", [None, NOON + MINUTE, NOON - MINUTE])
def test_the_next_look_begins_where_the_last_one_found_nothing_before(store: SqlStore, due: datetime | None) -> None:
    moment = store.context.dialect.write_moment
    first, _ = asked(store, [], [], [("mail", due, NOON)])
    then, _ = asked(store, [], [("mail", due, NOON)])
    assert first[2]["floor"] == moment(EPOCH)
    assert then[1]["floor"] == moment(NOON if due is None else min(NOON, due))


def test_a_look_that_is_relied_on_begins_at_the_head(store: SqlStore) -> None:
    asked(store, [], [], [("mail", None, NOON)])
    values, _ = asked(store, [], [], [("mail", None, NOON)], relied_on=True)
    assert values[2]["floor"] == store.context.dialect.write_moment(EPOCH)


def test_a_look_is_repeated_from_the_head_if_the_clock_was_set_back(store: SqlStore) -> None:
    asked(store, [], [], [("mail", None, NOON)])
    back = NOON - 2 * MINUTE
    values, wait = asked(store, [], [("mail", None, back)], [("mail", back + MINUTE, back)])
    moment = store.context.dialect.write_moment
    assert [one["floor"] for one in values[1:]] == [moment(NOON), moment(EPOCH)]
    assert wait == MINUTE
    assert asked(store, [], [("mail", None, back)])[0][1]["floor"] == moment(back)


def test_a_look_that_finds_a_clock_at_its_floor_is_not_repeated(store: SqlStore) -> None:
    asked(store, [], [], [("mail", None, NOON)])
    assert len(asked(store, [], [("mail", None, NOON)])[0]) == 2


def test_queues_of_different_kinds_are_looked_at_by_a_statement_each(store: SqlStore) -> None:
    plan = store.messages.next_due(["mail", "orders"], SLEEP, {"orders": ["json"]})
    answers = [[], [], [("mail", None, NOON)], [("orders", NOON + MINUTE, NOON)]]
    values, wait = carried_out(plan, *answers)
    assert wait == MINUTE
    assert len(values) == 4


def test_the_next_message_of_a_group_lowers_the_floor_and_wakes_consumers_of_its_queue(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered: list[Any] = []
    monkeypatch.setattr(store.context.floors, "lower", lowered.append)
    promote = PromotePlans(store.context)
    values, _ = carried_out(promote.promote_next([("mail", "g"), ("mail", 7)]), [("mail", NOON), ("bills", None)])
    assert (values[0]["given_queue"], values[0]["given_group"]) == ("mail", "g")
    assert lowered == [NOON, None]
    assert store.context.dialect.pack("given", {"queue": ["bills", "mail"]}).items() <= values[1].items()
    assert carried_out(promote.promote_next([("mail", "g")]), [])[0][1:] == []
