"""A declared definition is stored in the database and applies wherever the queue is opened by name."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from duerow import Database, Queue, exponential, fixed, limited
from duerow.errors import ConfigurationError
from duerow.queue.definition import Definition, encoded
from duerow.testing.clock import hours, minutes, seconds


def test_what_is_declared_is_kept_and_rules_those_who_know_the_name_alone(db: Database, open_database: Any) -> None:
    assert db.queue("orders").definition() is None
    retry = limited(5, exponential(first=seconds(10)))
    orders = db.queue(
        "orders",
        lease=minutes(5),
        retry=retry,
        dead_letter="dead",
        indexed={"companyId": int},
        history=hours(1),
        remember_keys=hours(2),
    )
    declaration = orders.declare()
    assert (declaration.stored, declaration.declared, bool(declaration)) == (None, orders.declared, True)
    another = open_database() if db.store.capabilities.processes else db  # an in-memory database has no other handle
    again = another.as_defined("orders")
    assert again.definition() == orders.declared == again.declared
    assert (again.lease, again.retry, again.dead_letter) == (minutes(5), retry, "dead")
    assert again.keeping == orders.keeping
    assert not again.declare()
    plain = another.as_defined("undeclared")
    assert plain.declared == db.queue("undeclared").declared == Definition()


def test_a_difference_is_shown_and_stays_until_it_is_declared(db: Database, queue: Queue) -> None:
    queue.declare()
    longer = db.queue("mail", lease=hours(1), retry=fixed(seconds(1)))
    shown = longer.declare(dry_run=True)
    assert [(one.name, one.stored, one.declared) for one in shown.differences] == [
        ("lease", minutes(1), hours(1)),
        ("retry", queue.declared.retry, longer.declared.retry),
    ]
    assert queue.definition() == queue.declared
    assert longer.declare().differences == shown.differences
    assert queue.definition() == longer.declared
    assert longer.declare().differences == []


def test_differences_are_told_to_a_worker_that_starts(
    db: Database, queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    queue.tell_differences()
    db.queue("mail", lease=hours(1)).declare()
    queue.tell_differences()
    [record] = caplog.records
    assert (record.levelno, record.name) == (logging.WARNING, "duerow.queue")
    assert (
        "queue mail differs from its stored definition in lease: stored 1:00:00, declared 0:01:00"
        in record.getMessage()
    )


def test_queues_are_listed_with_what_is_said_of_them(db: Database, queue: Queue, other: Queue) -> None:
    assert db.definitions() == []
    queue.declare()
    other.pause()
    other.drain(wait=False)
    assert [(one.name, one.definition, one.paused, one.draining) for one in db.definitions()] == [
        ("billing", None, True, True),
        ("mail", queue.declared, False, False),
    ]
    other.declare()
    other.resume()
    again = db.definitions()[0]
    assert (again.definition, again.paused, again.draining) == (other.declared, False, False)


def test_a_circle_of_dead_letters_is_refused_though_others_declared_a_part_of_it(
    db: Database, open_database: Any
) -> None:
    db.queue("a", dead_letter="b").declare()
    db.queue("b", dead_letter="c").declare()
    another = open_database() if db.store.capabilities.processes else db
    if another is not db:
        closing = another.queue("c", dead_letter="a")
        with pytest.raises(ConfigurationError, match="circles: 'a' -> 'b' -> 'c' -> 'a'"):
            closing.declare()
        assert closing.definition() is None
    another.queue("c", dead_letter="d").declare()
    stored = another.queue("c").definition()
    assert stored is not None
    assert stored.dead_letter == "d"


def test_a_definition_that_cannot_be_read_is_an_error_that_says_so_and_can_be_declared_anew(
    db: Database, queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    odd = encoded(queue.declared).replace('"PT60S"', '"long"')
    db.run(lambda: db.store.metadata.put_settings("mail", definition=odd))
    for ask in (queue.definition, db.definitions, lambda: db.as_defined("mail")):
        with pytest.raises(ConfigurationError, match="queue 'mail' cannot be read by this version"):
            ask()
    queue.tell_differences()
    assert "cannot be read by this version" in caplog.text
    queue.declare()
    assert queue.definition() == queue.declared


def test_what_a_later_version_adds_is_passed_over(db: Database, queue: Queue) -> None:
    db.run(lambda: db.store.metadata.put_settings("mail", definition='{"lease":"PT5S","colour":"blue"}'))
    stored = queue.definition()
    assert stored is not None
    assert (stored.lease, stored.retry) == (seconds(5), queue.declared.retry)
