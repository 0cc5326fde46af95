"""A database knows its queues and consumers, so that a mistyped name is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from duerow import Database, Pipeline, Queue, Relay, Sink
from duerow.errors import InvalidMessage, UnknownName
from duerow.testing.clock import hours, minutes

TRACES: dict[str, Callable[[Database], Any]] = {
    "a message": lambda db: db.queue("shop").push("x"),
    "a dead message": lambda db: (db.queue("shop").push("x"), db.queue("shop").reserve().bury("no use")),  # type: ignore[union-attr]
    "a message of a group": lambda db: db.queue("shop").push("x", group="g"),
    "a history": lambda db: _done(db.queue("shop", history=hours(24))),
    "a remembered key": lambda db: _done(db.queue("shop", remember_keys=hours(24))),
    "counts": lambda db: _counted(db),
    "a declaration": lambda db: db.queue("shop").declare(),
    "a pause": lambda db: db.queue("shop").pause(),
    "dead letters to come": lambda db: db.queue("other", dead_letter="shop").declare(),
    "a schedule": lambda db: db.schedule("often", every=hours(1), queue="shop"),
    "a station": lambda db: db.declare_pipeline(Pipeline("orders", [Sink("shop", print)])),
    "an output": lambda db: db.declare_pipeline(
        Pipeline("orders", [Relay("check", print, to="shop")], outputs=["shop"])
    ),
    "a consumer": lambda db: db.run(lambda: db.store.metadata.note_consumer("here:1:w", ["shop"], ["json"], "1.0")),
}
"""What is left of a queue, each alone."""


def _done(queue: Queue) -> None:
    queue.push("x", key="k")
    reservation = queue.reserve()
    assert reservation is not None
    reservation.commit()


def _counted(db: Database) -> None:
    _done(db.queue("shop"))
    db.write_counts()


@pytest.mark.parametrize("trace", TRACES)
def test_a_queue_is_known_by_whatever_there_is_of_it(db: Database, trace: str) -> None:
    assert not db.knows_queue("shop")
    TRACES[trace](db)
    assert db.knows_queue("shop")
    assert "shop" in db.known_queues()
    assert db.as_defined("shop", known=True).name == "shop"


def test_a_name_that_is_not_known_is_refused_with_the_nearest_one(db: Database, queue: Queue, other: Queue) -> None:
    queue.push("x")
    other.push("x")
    with pytest.raises(UnknownName, match="the database has no queue 'mial'; did you mean 'mail'") as told:
        db.as_defined("mial", known=True)
    assert (told.value.what, told.value.name, told.value.nearest) == ("queue", "mial", "mail")
    with pytest.raises(UnknownName) as told:
        db.as_defined("zzzzzz", known=True)
    assert told.value.nearest is None
    assert db.as_defined("zzzzzz").name == "zzzzzz"
    assert db.known_queues() == ["billing", "mail"]
    with pytest.raises(InvalidMessage):
        db.knows_queue("no spaces please")


def test_the_consumers_of_a_database_are_told_with_what_they_consume(db: Database, clock: Any) -> None:
    assert db.consumers() == []
    db.run(lambda: db.store.metadata.note_consumer("here:1:w", ["mail", "sms"], ["json"], "1.0"))
    before = clock.now()
    clock.advance(minutes(1))
    db.run(lambda: db.store.metadata.note_consumer("here:2:w", ["mail"], ["json", "bytes"], "1.1"))
    first, second = db.consumers()
    assert (first.name, first.queues, first.kinds, first.version, first.seen_at) == (
        "here:1:w",
        ("mail", "sms"),
        ("json",),
        "1.0",
        before,
    )
    assert (second.name, second.seen_at) == ("here:2:w", clock.now())
