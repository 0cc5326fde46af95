"""Workers of every kind keep the history that their queue declares, and prune what was kept long enough."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from duerow import Bury, Draft, Message
from duerow.testing.clock import MovableClock
from duerow.testing.worker_harness import Workshop, eventually

WEEK = timedelta(days=7)
KEPT: dict[str, Any] = {"history": WEEK, "remember_keys": WEEK}


@pytest.mark.parametrize("terms", [{}, {"whole_batch": True}, {"transactional": True}], ids=lambda terms: str(*terms))
def test_what_handlers_did_is_kept(shop: Workshop, terms: dict[str, Any]) -> None:
    if terms.get("transactional") and shop.url.startswith("memory"):
        return
    ids = [one.id for one in shop.queue.push_many([Draft(number, key=str(number)) for number in range(5)])]

    async def handle(subject: Any, connection: Any = None) -> Any:
        if isinstance(subject, Message):
            return Bury("no use") if subject.payload == 3 else None
        return [Bury("no use") if message.payload == 3 else None for message in subject]

    shop.work(handle, queue=KEPT, **terms)
    events = shop.queue.history()
    assert sorted((event.id, event.outcome) for event in events) == [
        (id, "dead" if number == 3 else "done") for number, id in enumerate(ids)
    ]
    again = shop.db.queue("mail", **KEPT).push_many([Draft(number, key=str(number)) for number in range(5)])
    assert [(one.id, one.outcome) for one in again] == [(id, "ignored") for id in ids]


def test_an_idle_worker_prunes(timeless: Workshop, clock: MovableClock) -> None:
    brief = timeless.db.queue("brief", history=timedelta(minutes=1))
    brief.push("hello")
    assert brief.pop() is not None
    assert len(brief.history()) == 1
    clock.advance(timedelta(minutes=1))

    async def handle(message: Message) -> None:
        raise AssertionError("nothing is due")

    timeless.start(handle)
    eventually(lambda: brief.history() == [])
