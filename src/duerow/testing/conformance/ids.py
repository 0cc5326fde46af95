"""Ids are 64-bit integers that grow with insertion and never come back."""

from __future__ import annotations

import pytest

from duerow import Draft, Queue
from duerow.testing.conformance.fixtures import OpenDatabase


def test_ids_grow_with_each_push(queue: Queue, other: Queue) -> None:
    ids = [
        queue.push(1).id,
        other.push(2).id,
        *(one.id for one in queue.push_many([Draft(3), Draft(4)])),
        queue.push(5).id,
    ]
    assert ids == sorted(set(ids))
    assert all(type(id) is int and 0 < id < 1 << 63 for id in ids)


@pytest.mark.parametrize("ending", ["pop", "remove", "commit"])
def test_the_id_of_a_message_that_is_gone_never_comes_back(queue: Queue, ending: str) -> None:
    last = queue.push_many([Draft(place) for place in range(3)])[-1]
    if ending == "pop":
        queue.pop_many(3)
    elif ending == "remove":
        queue.remove(last.id)
    else:
        queue.commit_many(queue.reserve_many(3))
    assert queue.push("next").id > last.id


def test_ids_go_on_growing_after_the_last_message_is_gone_and_all_handles_are_closed(
    open_database: OpenDatabase,
) -> None:
    with open_database() as db:
        last = db.queue("mail").push("last")
        db.queue("mail").remove(last.id)
    with open_database() as db:
        assert db.queue("mail").push("next").id > last.id


def test_an_ignored_push_does_not_make_ids_shrink(queue: Queue) -> None:
    first = queue.push("first", key="m-1")
    queue.push("first", key="m-1")
    assert queue.push("second").id > first.id
