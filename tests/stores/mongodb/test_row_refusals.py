"""What the server refuses of one message (a document that is too large, a validator) stops no other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from duerow import Queue
from duerow.errors import StoreRefused
from duerow.stores.mongodb import commands
from duerow.testing.clock import MovableClock, minutes

Refuse = Callable[..., None]


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Has updates of one message refused, by these commands."""

    def refuse(bad: int, *names: str) -> None:
        for name in names:
            real = getattr(commands, name)

            def update(collection: str, changes: Any, *more: Any, real: Any = real, **named: Any) -> Any:
                for change in changes:
                    chosen = change["q"].get("_id")
                    if bad in (chosen["$in"] if isinstance(chosen, dict) else [chosen]):
                        raise StoreRefused("MongoDB refused one of duerow's commands (code 17419)", of_row=True)
                return real(collection, changes, *more, **named)

            monkeypatch.setattr(commands, name, update)

    return refuse


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]


@pytest.mark.parametrize("lapsed", [False, True], ids=["fresh", "lapsed"])
def test_a_message_that_cannot_be_lent_is_buried_with_the_reason_and_stops_no_claim(
    queue: Queue, clock: MovableClock, refuse: Refuse, caplog: pytest.LogCaptureFixture, lapsed: bool
) -> None:
    first, bad, last = (queue.push(payload).id for payload in ("a", "bad", "c"))
    if lapsed:
        assert len(queue.reserve_many(3, lease=minutes(1))) == 3
        clock.advance(minutes(1))
    refuse(bad, "update_soon")
    assert [one.message.id for one in queue.reserve_many(2)] == [first, last]
    (dead,) = queue.find("status = 'dead'")
    assert dead.id == bad
    assert dead.last_error is not None
    assert "17419" in dead.last_error.message
    assert any(f"message {bad} of mail is buried" in one for one in errors(caplog))


def test_a_message_that_nobody_can_change_is_passed_over_and_stops_no_claim(
    queue: Queue, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    first, bad, last = (queue.push(payload).id for payload in ("a", "bad", "c"))
    refuse(bad, "update_soon", "update")
    assert [queue.reserve().message.id for _ in range(2)] == [first, last]  # type: ignore[union-attr]
    assert queue.reserve() is None
    assert any(f"message {bad} of mail can be neither handed out" in one for one in errors(caplog))


def test_of_many_settlements_the_one_that_is_refused_is_named_and_the_others_count(
    queue: Queue, refuse: Refuse
) -> None:
    ids = [queue.push(payload).id for payload in ("a", "bad", "c")]
    batch = queue.reserve_many(3)
    refuse(ids[1], "update")
    (refused,) = queue.bury_many(batch, "no line")
    assert refused.receipt == batch[1].receipt
    assert f"message {ids[1]} was not settled" in str(refused.error)
    assert sorted(one.id for one in queue.find("status = 'dead'")) == [ids[0], ids[2]]
