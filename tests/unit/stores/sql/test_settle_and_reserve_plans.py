"""What a settlement with a claim asks of a database: one statement, two that are sent together, or one transaction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from duerow.clock import micros
from duerow.plan import BEGIN, Several
from duerow.reservation import Receipt
from duerow.store import Committed, Released, Retention, Turn
from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.dialects.sqlite.dialect import SQLite
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.priorities import PriorityLine
from duerow.testing.clock import MovableClock

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TURNS = [Turn(Receipt(2, 1), Committed()), Turn(Receipt(1, 1), Committed())]


@pytest.fixture
def store() -> SqlStore:
    """A store that has looked for the priorities of a queue a moment ago, and found the usual one."""
    made = SqlStore(PostgreSQL(), "duerow_", None, MovableClock())
    made.context.priorities.add("mail", [])
    made.context.priorities.looked("mail", paused=False, begun=0.0)
    return made


def carried_out(store: SqlStore, turns: Any, answer: Any, **more: Any) -> tuple[list[Any], Any]:
    """Return the steps of a plan, and its result."""
    plan = store.messages.settle_and_reserve(turns, "mail", 5, MINUTE, 20, "me", **more)
    steps: list[Any] = []
    try:
        step = next(plan)
        while True:
            steps.append(step)
            step = plan.send(answer)
    except StopIteration as stop:
        return steps, stop.value


def row(id: int) -> tuple[Any, ...]:
    """Return what a claim of a message that is due at noon returns."""
    return (id, "1", "json", None, None, "new", NOON, NOON, None, 1, 1, micros(NOON + MINUTE), None, micros(NOON))


def test_commits_and_a_claim_are_two_statements_in_one_step(store: SqlStore) -> None:
    (several,), (refused, reserved) = carried_out(store, TURNS, [[(1, 1)], [row(7), row(8)]])
    assert isinstance(several, Several)
    assert several.alone
    settling, claiming = several.steps
    assert settling.values["given_id"] == "{1,2}"
    assert (claiming.values["queue_in"], claiming.values["limit_in"]) == ("mail", 5)
    assert [one.receipt for one in refused] == [Receipt(2, 1)]
    assert [one.id for one in reserved.records] == [7, 8]


def test_one_commit_and_a_claim_are_one_statement(store: SqlStore) -> None:
    receipt = (1, *[None] * 9, 1, *[None] * 3)
    (step,), (refused, reserved) = carried_out(store, TURNS[1:], [row(7), row(8), receipt])
    assert step.statement is store.context.statements.reserve.commit_and_reserve(False, 0)
    assert {name: step.values[f"{name}_in"] for name in ("id", "token", "queue", "limit")} == {
        "id": 1,
        "token": 1,
        "queue": "mail",
        "limit": 5,
    }
    assert refused == []
    assert [one.id for one in reserved.records] == [7, 8]


def test_a_turn_that_is_lost_or_stays_locked_is_settled_on_its_own(store: SqlStore) -> None:
    (step, again), answer = carried_out(store, TURNS[1:], [])
    assert step.statement is store.context.statements.reserve.commit_and_reserve(False, 0)
    assert again is step
    assert answer is None


def test_a_turn_that_is_no_longer_locked_is_settled_by_the_same_statement(store: SqlStore) -> None:
    plan = store.messages.settle_and_reserve(TURNS[1:], "mail", 5, MINUTE, 20, "me")
    assert next(plan) is plan.send([])
    with pytest.raises(StopIteration) as stop:
        plan.send([row(7), (1, *[None] * 9, 1, *[None] * 3)])
    refused, reserved = stop.value.value
    assert (refused, [one.id for one in reserved.records]) == ([], [7])


def test_a_database_whose_statements_write_in_one_place_gets_two_statements() -> None:
    store = SqlStore(MariaDB(), "duerow_", None, MovableClock())
    store.context.priorities.add("mail", [])
    store.context.priorities.looked("mail", paused=False, begun=0.0)
    (several,), _ = carried_out(store, TURNS[1:], [[(1, 1)], []])
    assert isinstance(several, Several)
    assert len(list(several.steps)) == 2


@pytest.mark.parametrize("why", ["other end", "group", "history", "dead letter", "priorities", "paused", "not looked"])
def test_whatever_takes_more_statements_is_not_done_in_one_step(store: SqlStore, why: str) -> None:
    turns, more = list(TURNS), dict[str, Any]()
    match why:
        case "other end":
            turns.append(Turn(Receipt(3, 1), Released(None)))
        case "group":
            turns.append(Turn(Receipt(3, 1), Committed(), ("mail", "g")))
        case "history":
            more["keep"] = Retention(history=MINUTE)
        case "dead letter":
            more["dead_letter"] = "letters"
        case "priorities":
            store.context.priorities.add("mail", [PriorityLine(5, False)])
        case "paused":
            store.context.priorities.paused("mail", True)
        case "not looked":
            store = SqlStore(PostgreSQL(), "duerow_", None, MovableClock())
    assert carried_out(store, turns, None, **more) == ([], None)


def test_where_one_transaction_writes_at_a_time_everything_is_in_one() -> None:
    store = SqlStore(SQLite(), "duerow_", None, MovableClock())
    steps, (refused, reserved) = carried_out(store, [*TURNS, Turn(Receipt(3, 1), Released(None))], [])
    assert steps[0] is BEGIN
    assert len([step for step in steps if step is not BEGIN]) > 2
    assert len(refused) == 3
    assert reserved.records == []
