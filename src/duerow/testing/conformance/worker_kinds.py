"""A worker leaves messages of unknown kinds alone, reports that, and still ends."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from duerow import Draft, Message, fixed, limited
from duerow.store import Entry
from duerow.testing.worker_harness import Workshop


@dataclass
class Order:
    """The type that one of the queues knows."""

    n: int


def put(shop: Workshop, *queues: str, group: str | None = None) -> None:
    """Push a message of an unknown kind into each of these queues."""
    entries = [Entry(name, None, "Invoice", "1", None, None, None, group) for name in queues]
    shop.db.run(lambda: shop.db.store.messages.push(entries, "ignore"))


@pytest.mark.parametrize("until", ["idle", "empty"])
@pytest.mark.parametrize("terms", [{"batch": 1}, {"batch": 10}, {"batch": 10, "whole_batch": True}])
def test_a_run_ends_though_messages_of_unknown_kinds_stay_as_they_were(
    shop: Workshop, until: str, terms: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    put(shop, "mail", "mail")
    put(shop, "mail", group="g")
    shop.queue.push("behind", group="g")
    shop.queue.push_many([Draft(number) for number in range(5)])
    seen: list[Any] = []

    async def handle(subject: Message | list[Message]) -> None:
        seen.extend(one.payload for one in (subject if isinstance(subject, list) else [subject]))

    shop.work(handle, until, **terms)
    assert sorted(seen) == [0, 1, 2, 3, 4]
    left = shop.queue.find()
    assert Counter((one.kind, one.status, one.attempts, one.leased_by) for one in left) == {
        ("Invoice", "new", 0, None): 3,
        ("json", "new", 0, None): 1,
    }
    [line] = [record for record in caplog.records if record.name == "duerow.queue"]
    assert "3 messages of mail were skipped" in line.getMessage()
    assert "'Invoice'" in line.getMessage()


def test_a_worker_of_several_queues_tells_of_each_what_it_left(
    shop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    put(shop, "mail", "sms")
    shop.db.queue("post").push("good")
    seen: list[Any] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    shop.work(handle, "empty", names=("mail", "sms", "post"))
    assert seen == ["good"]
    told = [record.__dict__["queue"] for record in caplog.records if record.name == "duerow.queue"]
    assert sorted(told) == ["mail", "sms"]
    assert shop.worker.unknown == {"mail": {"Invoice": 1}, "sms": {"Invoice": 1}}


def test_a_worker_tells_of_each_message_that_its_claims_bury(shop: Workshop, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    once = limited(1, fixed(timedelta(0)))
    pushed = shop.queue.push("poison")
    assert shop.queue.reserve(lease=timedelta(milliseconds=1)) is not None

    async def handle(message: Message) -> None: ...

    shop.work(handle, "empty", retry=once)
    [line] = [record for record in caplog.records if record.name == "duerow.queue"]
    assert (line.__dict__["message_id"], line.__dict__["queue"]) == (pushed.id, "mail")
    assert "attempt 1 of 1" in line.getMessage()


def test_a_worker_of_queues_with_different_types_is_seen_to_know_in_each_what_is_known_there(shop: Workshop) -> None:
    async def handle(message: Message) -> None: ...

    def typed(db: Any) -> None:
        plain = db.queue
        db.queue = lambda name, **more: plain(name, **(more | ({"payload": Order} if name == "mail" else {})))

    shop.prepare = typed
    put(shop, "mail")
    [sms] = shop.db.run(
        lambda: shop.db.store.messages.push([Entry("sms", None, "Order", "1", None, None, None)], "ignore")
    )
    shop.work(handle, "idle", names=("mail", "sms"))
    [reason] = shop.db.queue("sms").why(sms.id)
    assert reason.code == "unknown-kind"
