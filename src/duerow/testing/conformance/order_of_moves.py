"""Moves of one call take effect as if one after the other, in the order of the messages' ids."""

from __future__ import annotations

import pytest

from duerow import Database, Move, Reservation
from duerow.errors import DuplicateKey, LeaseLost, NotSupported
from duerow.message import OnDuplicate
from duerow.store import Refused
from duerow.testing.reading import payloads


def lend(db: Database, queue: str, payload: str) -> Reservation:
    db.queue(queue).push(payload, key="k")
    reservation = db.queue(queue).reserve()
    assert reservation is not None
    return reservation


def move_onto_one_that_moves_away(db: Database, on_duplicate: OnDuplicate) -> list[Refused]:
    """Move the first message onto the key of the second, and in the same call the second elsewhere."""
    first, second = lend(db, "mail", "first"), lend(db, "billing", "second")
    moves = [(second, Move("elsewhere")), (first, Move("billing", on_duplicate=on_duplicate))]
    return db.queue("mail").settle(moves)


def test_a_move_replaces_the_message_that_would_move_away_after_it(db: Database) -> None:
    if not db.store.capabilities.transactions:
        with pytest.raises(NotSupported):
            move_onto_one_that_moves_away(db, "replace")
        return
    refused = move_onto_one_that_moves_away(db, "replace")
    assert [type(one.error) for one in refused] == [LeaseLost]
    replaced = db.queue("billing").find()[0]
    assert (replaced.id, replaced.payload) == (refused[0].receipt.id, "first")
    assert [payloads(db.queue(name)) for name in ("mail", "billing", "elsewhere")] == [[], ["first"], []]


def test_a_move_hastens_no_leased_message_that_would_move_away_after_it(db: Database) -> None:
    if not db.store.capabilities.transactions:
        with pytest.raises(NotSupported):
            move_onto_one_that_moves_away(db, "earliest")
        return
    assert move_onto_one_that_moves_away(db, "earliest") == []
    assert [payloads(db.queue(name)) for name in ("mail", "billing", "elsewhere")] == [[], [], ["second"]]


def test_a_move_ends_as_done_where_the_message_that_has_its_key_would_move_away_after_it(db: Database) -> None:
    assert move_onto_one_that_moves_away(db, "ignore") == []
    assert [payloads(db.queue(name)) for name in ("mail", "billing", "elsewhere")] == [[], [], ["second"]]


def test_a_move_is_refused_where_the_message_that_has_its_key_would_move_away_after_it(db: Database) -> None:
    refused = move_onto_one_that_moves_away(db, "reject")
    assert [type(one.error) for one in refused] == [DuplicateKey]
    assert [payloads(db.queue(name)) for name in ("mail", "billing", "elsewhere")] == [["first"], [], ["second"]]


def test_a_move_may_take_the_key_that_one_before_it_gives_up(db: Database) -> None:
    first, second = lend(db, "mail", "first"), lend(db, "billing", "second")
    moves = [(second, Move("mail")), (first, Move("elsewhere"))]
    assert db.queue("mail").settle(moves) == []
    assert [payloads(db.queue(name)) for name in ("mail", "billing", "elsewhere")] == [["second"], [], ["first"]]
