"""What is promised of queues holds for rows of a user's own tables: every promise is kept, or named with its reason."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import pytest
from sqlalchemy import Engine

from duerow.clock import Clock
from duerow.testing.clock import MovableClock
from duerow.testing.conformance import promises
from duerow.testing.faces import Face
from tests.entity.as_queues import RowsAsQueues
from tests.entity.faces import queue_of_face

FILES: Final = ("bury", "commit", "fence", "leases", "limits", "release", "reserve", "rollback", "settle")
"""The files of promises that concern what a row can be: due, lent, and settled. Of the others none can be asked."""

NOT_OF_ROWS: Final = {
    "test_dead_messages_may_share_a_key": "rows have keys of the user's own making",
    "test_a_queue_without_history_has_no_place_for_a_changed_payload": "a row is its own payload",
    "test_a_commit_pushes_what_it_calls_for": "there is no queue beside the table to push into",
    "test_a_refused_commit_pushes_nothing": "there is no queue beside the table to push into",
    "test_a_message_that_is_buried_or_moved_pushes_what_it_calls_for": "there is no queue beside the table",
    "test_a_commit_whose_follower_has_a_taken_key_leaves_the_holder": "there is no queue beside the table",
    "test_a_commit_that_calls_for_what_cannot_be_pushed_changes_nothing": "there is no queue beside the table",
    "test_a_moved_message_has_all_its_attempts_again": "a row stays in its table",
    "test_each_turn_of_a_mixed_settlement_ends_in_its_own_way": "a row stays in its table: see test_queues",
    "test_the_refused_of_a_mixed_settlement_are_named_each_with_its_error": "a row stays in its table",
    "test_a_large_mixed_settlement_ends_every_turn": "a row stays in its table",
    "test_a_late_settlement_succeeds_if_nobody_took_the_message": "tries moves as well: see test_queues",
    "test_a_reservation_settles_itself": "tries moves as well: see test_queues",
    "test_a_message_that_is_no_longer_ours_is_not_changed": "tries pops and moves as well: see test_queues",
    "test_a_queue_settles_nothing_that_another_one_lent": "tries moves as well: see test_queues",
    "test_a_queue_settles_nothing_that_one_of_its_name_in_another_database_lent": "asks for queues in memory",
    "test_a_key_pushed_anew_is_not_the_message_of_before": "rows have keys of the user's own making",
    "test_a_reserve_within_a_transaction_is_refused": "reserve() of rows has no within=",
    "test_of_many_only_those_still_ours_are_settled_and_the_others_named": "tries moves as well: see test_queues",
}
"""Promises of these files that are not asked of rows, and why."""


def kept() -> dict[str, Callable[..., None]]:
    """Return the promises that rows keep."""
    found = promises()
    names = [name for file in FILES for name in vars(import_module(f"duerow.testing.conformance.{file}"))]
    return {name: found[name] for name in names if name in found and name not in NOT_OF_ROWS}


globals().update(kept())


def test_every_promise_that_is_left_out_exists() -> None:
    assert NOT_OF_ROWS.keys() <= promises().keys()


@pytest.fixture
def open_database(face: Face, engine: Engine, own_engine: Any, clock: MovableClock) -> Callable[..., RowsAsQueues]:
    """A function that opens handles on the tables of this test."""

    def connect(*, clock: Clock | None = clock) -> RowsAsQueues:
        return RowsAsQueues(engine, lambda state, **terms: queue_of_face(face, state, own_engine, clock, terms), clock)

    return connect


@pytest.fixture
def db(open_database: Any) -> RowsAsQueues:
    """The tables of this test, empty, under the movable clock."""
    database: RowsAsQueues = open_database()
    return database


@pytest.fixture
def crowd() -> int:
    """How many rows make a large batch."""
    return 600
