"""What the database refuses of one row, by a rule of the user's own, stops no other row."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.orm import Session

from duerow.errors import StoreRefused
from duerow.testing.clock import MovableClock
from tests.entity.models import ByThree
from tests.stores.row_refusals import BAD, BAD_TEXT, DROPS, TRIGGERS

Refuse = Callable[..., None]

HANDED_OUT = "NEW.sending_leased_by IS NOT NULL"
DONE = "NEW.sending_status = 'done'"
DONE_OR_FAILED = "NEW.sending_status <> 'new'"


@pytest.fixture
def refuse(engine: Engine) -> Iterator[Refuse]:
    """Has the database refuse to change rows of which something holds, until the test ends."""
    family = {"mariadb": "mysql"}.get(engine.dialect.name, engine.dialect.name)
    if family == "mssql":
        pytest.skip("rows of a table with triggers cannot be a queue there, as another test says")
    drops: list[str] = []

    def execute(statements: list[str]) -> None:
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement.replace(":", "\\:")))

    def refuse(condition: str, table: str = "mail", bad: str = BAD.get(family, BAD_TEXT)) -> None:
        name = f"refuse_{uuid4().hex}"
        names = {"name": name, "function": name, "table": table, "schema": ""}
        terms = {"event": "UPDATE", "condition": f"{bad} AND {condition}", **names}
        execute([one.format(**terms) for one in TRIGGERS[family]])
        drops.extend(one.format(**names) for one in DROPS[family])

    yield refuse
    execute(drops)


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]


def test_a_row_that_cannot_be_lent_is_given_up_with_the_reason_and_stops_no_claim(
    open_queue: Any, add: Any, look: Any, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    refuse(HANDED_OUT)
    first, bad, last = add("a", "bad", "c")
    queue = open_queue()
    assert [one.message.id for one in queue.reserve_many(10)] == [first, last]
    row = look(bad)
    assert row.sending.status == "dead"
    assert "refused a statement" in str(row.sending.last_error)
    assert any(f"message {bad} of mail.sending is buried" in one for one in errors(caplog))


def test_a_row_that_nobody_can_change_is_passed_over_and_stops_no_claim(
    open_queue: Any, add: Any, look: Any, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    refuse("1 = 1")
    first, bad, last = add("a", "bad", "c")
    queue = open_queue()
    for id_ in (first, last):
        reservation = queue.reserve()
        assert reservation.message.id == id_
        queue.commit(reservation)
    assert queue.reserve() is None
    assert look(bad).sending.status == "new"
    assert any(f"message {bad} of mail.sending can be neither handed out" in one for one in errors(caplog))


def test_a_row_that_cannot_be_settled_is_named_and_the_others_are_done(
    open_queue: Any, add: Any, look: Any, refuse: Refuse
) -> None:
    refuse(DONE)
    first, bad, last = add("a", "bad", "c")
    queue = open_queue()
    batch = queue.reserve_many(10)
    (refused,) = queue.commit_many(batch)
    assert refused.receipt.id == bad
    assert isinstance(refused.error, StoreRefused)
    assert f"message {bad} was not settled" in str(refused.error)
    assert [look(id_).sending.status for id_ in (first, bad, last)] == ["done", "new", "done"]
    with pytest.raises(StoreRefused, match=f"message {bad} was not settled"):
        queue.commit(batch[1])


def test_a_worker_does_the_other_rows_and_records_why_one_is_refused(
    work: Any, add: Any, look: Any, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    refuse(DONE)
    ids = add("a", "bad", "c")
    seen: list[Any] = []

    async def note(row: Any, session: Any) -> None:
        seen.append(row.payload)

    work(note, batch=3)
    assert set(seen) == {"a", "bad", "c"}
    assert [look(id_).sending.status for id_ in ids] == ["done", "dead", "done"]
    assert "refused a statement" in str(look(ids[1]).sending.last_error)


def test_a_worker_goes_on_beside_a_row_that_it_can_settle_in_no_way(
    work: Any, add: Any, look: Any, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    refuse(DONE_OR_FAILED)
    ids = add("a", "bad", "c")
    seen: list[Any] = []

    async def note(row: Any, session: Any) -> None:
        seen.append(row.payload)

    work(note, batch=3)
    assert set(seen) == {"a", "bad", "c"}
    assert [look(id_).sending.status for id_ in ids] == ["done", "new", "done"]
    assert any(f"cannot settle message {ids[1]} of mail.sending" in one for one in errors(caplog))


def test_a_row_told_apart_by_three_columns_that_cannot_be_lent_stops_no_claim(
    open_queue: Any, engine: Engine, clock: MovableClock, refuse: Refuse
) -> None:
    refuse(HANDED_OUT, "by_three", "NEW.number = 2")
    tenant = UUID(int=7 << 100)
    with Session(engine) as session, session.begin():
        for number in (1, 2, 3):
            row = ByThree(tenant=tenant, day=date(2026, 1, number), number=number)
            row.sending.schedule(clock.now() - timedelta(seconds=10 - number))
            session.add(row)
    queue = open_queue(ByThree.sending)
    assert [one.message.id[2] for one in queue.reserve_many(10)] == [1, 3]
    with Session(engine) as session:
        bad = session.get(ByThree, (tenant, date(2026, 1, 2), 2))
        assert bad is not None
        assert bad.sending.status == "dead"
