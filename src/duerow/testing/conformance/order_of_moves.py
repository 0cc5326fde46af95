"""The moves of one call take effect as if made one after another, in the order of the messages' ids."""

from __future__ import annotations

import pytest

from duerow import Database, Draft, Move, Queue, Reservation
from duerow.errors import DuplicateKey, LeaseLost, NotSupported
from duerow.message import OnDuplicate
from duerow.store import Refused
from duerow.testing.contents import payloads


def lend_two(queue: Queue) -> list[Reservation]:
    """Lend two messages whose keys are their payloads."""
    queue.push_many([Draft("first", key="first"), Draft("second", key="second")])
    return queue.reserve_many(2)


def move_onto_one_that_moves_away(db: Database, on_duplicate: OnDuplicate) -> list[Refused]:
    """Move the first message onto the key of the second, and the second elsewhere, in the same call."""
    queue = db.queue("mail")
    first, second = lend_two(queue)
    return queue.settle([(second, Move("elsewhere")), (first, Move("mail", key="second", on_duplicate=on_duplicate))])


def kept(db: Database) -> tuple[list[object], list[object]]:
    """Return the contents of the original queue of both, and of the queue to which they may go."""
    return payloads(db.queue("mail")), payloads(db.queue("elsewhere"))


def test_a_move_replaces_the_message_that_would_move_away_after_it(db: Database) -> None:
    if not db.store.capabilities.transactions:
        with pytest.raises(NotSupported):
            move_onto_one_that_moves_away(db, "replace")
        return
    refused = move_onto_one_that_moves_away(db, "replace")
    assert [type(one.error) for one in refused] == [LeaseLost]
    replaced = db.queue("mail").find()[0]
    assert (replaced.id, replaced.payload) == (refused[0].receipt.id, "first")
    assert kept(db) == (["first"], [])


def test_a_move_hastens_no_leased_message_that_would_move_away_after_it(db: Database) -> None:
    if not db.store.capabilities.transactions:
        with pytest.raises(NotSupported):
            move_onto_one_that_moves_away(db, "earliest")
        return
    assert move_onto_one_that_moves_away(db, "earliest") == []
    assert kept(db) == ([], ["second"])


def test_a_move_ends_as_done_where_the_message_that_has_its_key_would_move_away_after_it(db: Database) -> None:
    assert move_onto_one_that_moves_away(db, "ignore") == []
    assert kept(db) == ([], ["second"])


def test_a_move_is_refused_where_the_message_that_has_its_key_would_move_away_after_it(db: Database) -> None:
    refused = move_onto_one_that_moves_away(db, "reject")
    assert [type(one.error) for one in refused] == [DuplicateKey]
    assert kept(db) == (["first"], ["second"])


def test_a_move_may_take_the_key_that_one_before_it_gives_up(db: Database) -> None:
    queue = db.queue("mail")
    first, second = lend_two(queue)
    assert queue.settle([(second, Move("mail", key="first")), (first, Move("elsewhere"))]) == []
    assert kept(db) == (["second"], ["first"])
