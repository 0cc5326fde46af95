"""One worker works on several queues, fairly, each by its own rules."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow import Bury, Draft, Message, Move, aio, fixed, limited
from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.sync.worker import Worker
from duerow.testing.worker_harness import Workshop

AT_ONCE = fixed(timedelta(0))
THREE = ("mail", "sms", "post")


def fill(shop: Workshop, count: int, *names: str) -> None:
    for name in names:
        shop.db.queue(name).push_many([Draft(f"{name} {number}") for number in range(count)])


def test_each_queue_has_its_own_handler(shop: Workshop) -> None:
    fill(shop, 3, *THREE)
    seen: list[tuple[str, str]] = []

    def handler(name: str) -> Any:
        async def handle(message: Message) -> None:
            seen.append((name, message.queue))

        return handle

    shop.work({name: handler(name) for name in THREE}, names=THREE)  # type: ignore[arg-type]
    assert Counter(seen) == Counter({(name, name): 3 for name in THREE})


def test_what_one_queue_lent_is_handled_although_the_database_fails_at_the_next(shop: Workshop) -> None:
    fill(shop, 1, *THREE)
    seen: list[str] = []
    broken: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    def break_once(db: Any) -> None:
        reserve = db.store.messages.reserve

        def breaking(queue: str, *args: Any, **named: Any) -> Any:
            if queue == "sms" and not broken:
                broken.append(queue)
                raise StoreUnavailable("gone")
            return reserve(queue, *args, **named)

        db.store.messages.reserve = breaking

    shop.prepare = break_once
    shop.work(handle, names=THREE, concurrency=4, retry=limited(1, AT_ONCE))
    assert broken, "nothing broke, so nothing was shown"
    assert Counter(seen) == Counter(f"{name} 0" for name in THREE)


def test_a_batch_is_of_one_queue(shop: Workshop) -> None:
    fill(shop, 25, *THREE)
    batches: list[list[str]] = []

    async def handle(messages: list[Message]) -> None:
        batches.append([message.queue for message in messages])

    shop.work(handle, names=THREE, whole_batch=True, batch=10)
    assert all(len(set(batch)) == 1 for batch in batches)
    assert Counter(name for batch in batches for name in batch) == dict.fromkeys(THREE, 25)


def test_each_queues_own_policy_holds(shop: Workshop) -> None:
    fill(shop, 1, "mail", "sms")
    tries: Counter[str] = Counter()

    async def handle(message: Message) -> None:
        tries[message.queue] += 1
        raise ValueError

    made = shop._make(handle, {}, {"names": ("mail", "sms")})
    limits = {"mail": limited(2, AT_ONCE), "sms": limited(4, AT_ONCE)}
    made.sources = lambda db: [db.queue(name, retry=limit) for name, limit in limits.items()]
    made.run("idle")
    assert tries == {"mail": 2, "sms": 4}


def test_a_settlement_that_is_refused_fails_that_message_alone(shop: Workshop, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG, "duerow.worker")
    shop.db.queue("billing").push("there first", key="taken")
    shop.queue.push("a", key="taken")
    fill(shop, 5, "sms")

    async def handle(message: Message) -> Any:
        return Move("billing") if message.queue == "mail" else None

    shop.work(handle, names=("mail", "sms"), retry=limited(1, AT_ONCE))
    (dead,) = shop.queue.find()
    assert (dead.payload, dead.last_error and dead.last_error.type) == ("a", "DuplicateKey")
    assert shop.db.queue("sms").count() == 0
    lines = [record for record in caplog.records if record.name == "duerow.worker"]
    assert {(line.queue, line.message_id) for line in lines if "buried" in line.getMessage()} == {("mail", dead.id)}
    assert {line.queue for line in lines if line.getMessage().startswith("fetched")} == {"mail", "sms"}


async def _nothing(message: Message) -> None:
    raise AssertionError


def test_what_cannot_be_worked_on_together_is_refused() -> None:
    one, other = duerow.connect("memory://"), duerow.connect("memory://")
    mail, sms = one.queue("mail"), one.queue("sms")
    cases: list[tuple[Any, Any, str]] = [
        ([], print, "empty list"),
        ([mail, "sms"], print, "builtins.str"),
        ([mail, one.queue("mail")], print, "given twice: mail"),
        ([mail, other.queue("sms")], print, "several databases"),
        ([mail, other.queue("mail")], print, "several databases"),
        ([mail, sms], {mail: print}, "no handler is given for queue sms"),
        ([mail], {mail: print, sms: print}, "given for sms, which is not a queue"),
        ([mail, sms], {mail: print, sms: "send"}, "handler"),
        ([mail, sms], {mail: print, sms: _nothing}, "async function"),
    ]
    for queues, handler, said in cases:
        with pytest.raises(ConfigurationError, match=said):
            Worker(queues, handler)
    awaited = asyncio.run(aio.connect("memory://")).queue("mail")
    with pytest.raises(ConfigurationError, match=r"duerow\.Worker"):
        aio.Worker([awaited, mail], _nothing)  # type: ignore[list-item]


def test_nothing_is_lost_when_one_of_them_is_buried_by_its_handler(shop: Workshop) -> None:
    fill(shop, 5, "mail", "sms")

    async def bury(message: Message) -> Bury:
        return Bury("no")

    async def fine(message: Message) -> None:
        return None

    shop.work({"mail": bury, "sms": fine}, names=("mail", "sms"))  # type: ignore[arg-type]
    assert (shop.queue.count("dead"), shop.db.queue("sms").count()) == (5, 0)
