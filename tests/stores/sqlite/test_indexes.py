"""What is looked up by key or by status is found by an index, however many messages a queue has."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy.dialects import sqlite

from duerow import Database
from duerow.message import LIVE
from duerow.store import HistoryQuery, Order, Query
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.dialects.sqlite.dialect import SQLite
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.statements import RECEIPT, STORY, Step
from duerow.testing.clock import START
from duerow.testing.conformance.fixtures import Place
from duerow.where import parse

ASKED = {
    "payload.companyId = 3345": "companyid",
    "payload.companyId in (1, 2) and attempts < 9": "companyid",
    "status = 'new' and payload.companyId >= 97": "companyid",
    "payload.to.city = 'Split' and not payload.companyId = 1": "to_city",
    "payload.to.city < 'c12' and payload.other = 1": "to_city",
    "payload.paid = true": "paid",
}
"""Conditions, and a part of the name of the index that is to serve them."""

STORE = SqlStore(SQLite(), "duerow_", None, None)
KEYS = [("mail", "a"), ("mail", "b")]
STEPS = {
    "the holders of keys": STORE.context.given(STORE.context.statements.push.holders, ("queue", "key"), KEYS),
    "the ids of the holders": STORE.context.given(STORE.context.statements.push.holder_ids, ("queue", "key"), KEYS),
    "the holder of one key": STORE.context.given(STORE.context.statements.push.holder_ids, ("queue", "key"), KEYS[:1]),
    "live messages by key": next(STORE.messages.find(Query("mail", keys=("a", "b"), statuses=LIVE))),
}


def plan(place: Place, step: Any) -> str:
    text, values = Texts(SQLite(), sqlite.dialect(), raw=True).of(step)
    with closing(sqlite3.connect(place.url.removeprefix("sqlite:///"))) as connection:
        return "\n".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", {"now": 0, **values}))


@pytest.mark.parametrize("step", STEPS.values(), ids=list(STEPS))
def test_keys_are_looked_up_in_their_index(place: Place, step: Any) -> None:
    assert "duerow_message USING" in (found := plan(place, step))
    assert "duerow_message_key (queue=? AND key=?)" in found


def test_the_dead_are_found_among_what_rests(place: Place) -> None:
    step = next(STORE.messages.find(Query("mail", statuses=("dead",), by_id=True)))
    assert "USING INDEX duerow_message_resting (queue=?)" in plan(place, step)


@pytest.mark.parametrize(
    "step",
    [
        STORE.context.step(STORE.context.statements.schedules.next_tick, {}),
        Step(STORE.context.statements.schedules.schedules(("due",)), {"until": 0, "limit_in": 100}),
    ],
    ids=["the next tick", "the schedules that are due"],
)
def test_what_is_due_of_the_schedules_is_found_by_its_time(place: Place, step: Step) -> None:
    found = plan(place, step)
    assert "duerow_schedule_due" in found
    assert "TEMP B-TREE" not in found


@pytest.mark.parametrize(
    "where", ["status = 'dead'", "payload.a = 1 and status in ('dead', 'done') and status = 'dead'"]
)
def test_a_condition_on_the_dead_looks_only_at_what_rests(place: Place, where: str) -> None:
    for step in (
        next(STORE.messages.find(Query("mail", where=parse(where)))),
        next(STORE.operations.tally("mail", parse(where), ("payload", "a"), 10)),
    ):
        found = plan(place, step)
        assert "USING INDEX duerow_message_resting (queue=?)" in found
        assert "SCAN duerow_message" not in found


def test_a_condition_on_an_id_and_a_page_of_one_are_looked_up(place: Place) -> None:
    for step in (
        next(STORE.messages.find(Query("mail", where=parse("id = 5")))),
        next(STORE.messages.find(Query("mail", where=parse("payload.a = 1"), after_id=5))),
    ):
        assert "SEARCH duerow_message USING INTEGER PRIMARY KEY" in plan(place, step)


def test_indexed_payload_fields_are_looked_up_in_their_indexes(place: Place, db: Database) -> None:
    queue = db.queue("orders", indexed={"companyId": int, "to.city": str, "paid": bool})
    queue.declare()
    for where, index in ASKED.items():
        for step in (
            next(STORE.messages.find(Query("orders", where=parse(where), order=Order(), indexed=queue.indexed))),
            next(STORE.operations.tally("orders", parse(where), None, 10, queue.indexed)),
        ):
            found = plan(place, step)
            assert f"_{index}_" in found, (where, found)
            assert "SCAN duerow_message" not in found
        elsewhere = next(STORE.messages.find(Query("other", where=parse(where), order=Order(), indexed=queue.indexed)))
        assert f"_{index}_" not in plan(place, elsewhere)
    page = Query("orders", where=parse("payload.companyId = 5"), order=Order(), indexed=queue.indexed, after_id=7)
    assert "TEMP B-TREE" not in plan(place, next(STORE.messages.find(page)))


RECEIPTS = [(1, 2), (3, 4)]
PAST = {
    "a page": (
        next(STORE.history.find(HistoryQuery("mail", after=(START, 7, 3)))),
        "duerow_history USING INDEX duerow_history_finished (queue=? AND (finished_at,id,token)<(?,?,?))",
    ),
    "of a message": (
        next(STORE.history.find(HistoryQuery("mail", id=7, ends=True))),
        "duerow_history USING INDEX sqlite_autoindex_duerow_history_1 (id=?)",
    ),
    "of a key": (
        next(STORE.history.find(HistoryQuery("mail", where=parse("key = 'k'")))),
        "duerow_history USING INDEX duerow_history_key (queue=? AND key=?)",
    ),
    "what is over": (
        STORE.context.step(STORE.context.statements.history.expired_turns, {"limit_in": 9}),
        "duerow_history USING INDEX duerow_history_until (until<?)",
    ),
    "what is taken away": (
        STORE.context.given(STORE.context.statements.history.forget_turns, RECEIPT, RECEIPTS),
        "duerow_history USING COVERING INDEX sqlite_autoindex_duerow_history_1 (id=? AND token=?)",
    ),
    "what is kept": (
        STORE.context.given(
            STORE.context.statements.history.keep_turns,
            (*RECEIPT, *STORY),
            [(id, token, "done", None, None, None, None) for id, token in RECEIPTS],
            {"history": 1},
        ),
        "duerow_message USING INTEGER PRIMARY KEY (rowid=?)",
    ),
    "remembered keys": (
        STORE.context.given(STORE.context.statements.history.remembered, ("queue", "key"), KEYS),
        "duerow_remembered USING INDEX sqlite_autoindex_duerow_remembered_1 (queue=? AND key=?)",
    ),
}


@pytest.mark.parametrize(("step", "how"), PAST.values(), ids=list(PAST))
def test_history_and_remembered_keys_are_found_by_their_indexes(place: Place, step: Any, how: str) -> None:
    found = plan(place, step)
    assert how in found
    assert "TEMP B-TREE" not in found
