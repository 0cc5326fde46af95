"""MySQL has no sequences: ids come from a table of their own, in whose rows no two pushes meet."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import create_engine, make_url

import duerow
from duerow import Draft
from duerow.testing.conformance.fixtures import Place


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_an_open_transaction_that_pushes_keeps_nobody_from_pushing(place: Place, superuser: Any, level: str) -> None:
    engine = create_engine(make_url(place.url).set(drivername="mysql+pymysql"), isolation_level=level)
    others = create_engine(engine.url, connect_args={"init_command": "SET innodb_lock_wait_timeout = 1"})
    queue = duerow.connect(engine, **place.settings).queue("mail")
    theirs = duerow.connect(others, **place.settings).queue("mail")
    with engine.begin() as ours:
        first = queue.push_many([Draft(number) for number in range(20)], within=ours)
        second = [theirs.push("single"), *theirs.push_many([Draft(number) for number in range(20)])]
        third = [queue.push("last", within=ours), theirs.push("very last", key="k")]
    ids = [pushed.id for pushed in (*first, *second, *third)]
    assert ids == sorted(set(ids))
    superuser.execute(f"SELECT COUNT(*) FROM `{place.settings['schema']}`.duerow_message_id")
    assert superuser.fetchone() == (0,)
    for each in (engine, others):
        each.dispose()


def test_servers_that_count_in_steps_have_ids_in_order_too(place: Place) -> None:
    steps = "SET auto_increment_increment = 7, auto_increment_offset = 3"
    engine = create_engine(make_url(place.url).set(drivername="mysql+pymysql"), connect_args={"init_command": steps})
    queue = duerow.connect(engine, **place.settings).queue("mail")
    pushed = [queue.push(0), *queue.push_many([Draft(number) for number in range(1, 5)]), queue.push(5)]
    keyed = queue.push_many([Draft(6, key="b"), Draft(7, key="a"), Draft(8, key="b")])
    ids = [one.id for one in (*pushed, *keyed[:2])]
    assert ids == sorted(set(ids))
    assert {id % 7 for id in ids} == {3}
    assert keyed[2].id == keyed[0].id
    assert [message.payload for message in queue.find()] == list(range(8))
    engine.dispose()
