"""Which statements lend messages to an engine with many readers: like those of a claim, but nothing is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from duerow.clock import micros
from duerow.plan import BEGIN
from duerow.reservation import Receipt
from duerow.store import Lease, Retention
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.plans.store import SqlStore
from duerow.testing.clock import MovableClock, hours

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
IN_GROUPS = [("mail", True, 0, False)]


@pytest.fixture
def store() -> SqlStore:
    return SqlStore(PostgreSQL(), "duerow_", None, MovableClock())


def lend(store: SqlStore, limit: int, *answers: list[Any], **more: Any) -> tuple[list[Any], Lease | None]:
    """Lend messages of the queue "mail"; return the steps and the result."""
    plan = store.bulk.lend("mail", limit, MINUTE, 20, "me", **more)
    steps, left, step = list[Any](), list(answers), next(plan)
    try:
        while True:
            steps.append(step)
            step = plan.send(left.pop(0) if left else [])
    except StopIteration as stop:
        return steps, stop.value


def values(steps: list[Any]) -> list[dict[str, Any]]:
    return [{} if step is BEGIN else dict(step.values) for step in steps]


def lent(id: int, group: str, status: str = "new") -> tuple[Any, ...]:
    """Return what a statement returns of a message of a group that it lends, or buries."""
    return (id, 7, status, NOON, group)


def picked(*ids: int) -> list[list[Any]]:
    """Return the answers to a pick of messages, each in a group of its own: none without, these, and all free."""
    return [[], [(id, NOON, f"g{id}", micros(NOON)) for id in ids], [(id, False, None, None) for id in ids]]


@pytest.mark.parametrize("more", [{"dead_letter": "dead"}, {"keep": Retention(keys=hours(1))}], ids=str)
def test_a_loan_that_may_write_more_than_one_statement_is_one_transaction(
    store: SqlStore, more: dict[str, Any]
) -> None:
    assert next(store.bulk.lend("mail", 1, MINUTE, 20, "me", **more)) is BEGIN
    assert next(store.bulk.lend("mail", 1, MINUTE, 20, "me")) is not BEGIN


def test_messages_are_lent_in_the_order_of_their_ids_with_their_groups(store: SqlStore) -> None:
    _, lease = lend(store, 2, IN_GROUPS, [], [], *picked(3, 2), [lent(3, "g3"), lent(2, "g2")])
    assert lease is not None
    assert lease.receipts == [Receipt(2, 7), Receipt(3, 7)]
    assert lease.groups == {2: "g2", 3: "g3"}


def test_the_next_message_of_a_group_is_put_in_line_if_a_loan_buries_one_but_not_if_it_lends_one(
    store: SqlStore,
) -> None:
    steps, lease = lend(store, 2, IN_GROUPS, [], [], *picked(2, 3), [lent(2, "g2", "dead"), lent(3, "g3")])
    assert [one["given_group"] for one in values(steps) if "given_group" in one] == ["g2"]
    assert lease is not None
    assert lease.receipts == [Receipt(3, 7)]


def test_the_kinds_of_a_loan_are_those_of_its_statements(store: SqlStore) -> None:
    steps, _ = lend(store, 1, kinds={"sms"})
    first = next(step.statement for step in steps if "limit_in" in step.values)
    assert first is store.context.statements.lend.lend_unread(False, 1)


def test_the_turns_of_leases_that_have_ended_are_kept_with_what_the_loan_does_to_their_messages(
    store: SqlStore,
) -> None:
    keep = Retention(history=hours(1))
    steps, _ = lend(store, 1, [], [], [], [(2, NOON, micros(NOON))], [], dead_letter="dead", keep=keep, apart=False)
    kept = next(step for step in steps if step is not BEGIN and "to_in" in step.values)
    assert (kept.values["attempts_in"], kept.values["to_in"]) == (20, "dead")
