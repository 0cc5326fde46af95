"""A transactional handler's writes and its settlement are one transaction: both happen once, or neither."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from inspect import isawaitable
from typing import Any

import pytest

from duerow import Bury, Commit, Draft, Message, Move, Release, Retry, Rollback, fixed, limited
from duerow.errors import NotSupported, StoreUnavailable
from duerow.testing.contents import payloads
from duerow.testing.faults import fail_at, watch
from duerow.testing.worker_harness import Gate, Workshop
from duerow.worker import maintenance

AT_ONCE = fixed(timedelta(0))
ONCE = limited(1, AT_ONCE)
WAYS = [
    pytest.param({"batch": 1}, id="one-by-one"),
    pytest.param({"batch": 10}, id="batches"),
    pytest.param({"batch": 10, "concurrency": 3}, id="batches-in-three"),
]

FAILED = [
    pytest.param(outcome, way, id=f"{outcome!r}-{way}")
    for outcome in (ValueError("no"), Bury("no"), Retry(timedelta(0)), Rollback(), Release())
    for way in ("returned", "raised")
    if way == "returned" or isinstance(outcome, Exception)
]
"""How a handler says that its attempt has failed, or is to be none."""


class Effects:
    """The writes of handlers: messages to another queue, pushed in the transaction that the handlers get.

    Args:
        shop: the workshop whose workers call the handlers.
        prepare: called with the worker's database before the worker begins.
    """

    def __init__(self, shop: Workshop, prepare: Callable[[Any], None] = lambda db: None) -> None:
        self._shop, self._prepare = shop, prepare
        shop.prepare = self._begin

    async def write(self, connection: Any, payload: Any) -> None:
        """Write in this transaction, as a handler of either kind."""
        pushed = self._database.queue("effects").push(payload, within=connection)
        if isawaitable(pushed):
            await pushed

    def seen(self) -> list[Any]:
        """Return what was written and committed, sorted."""
        return sorted(payloads(self._shop.db.queue("effects")))

    def _begin(self, db: Any) -> None:
        self._prepare(db)
        self._database = db


def refused(shop: Workshop) -> bool:
    """Return whether this store has no such transactions; if so, check that a worker refuses them."""
    if shop.db.store.capabilities.within:
        return False

    async def handle(message: Message, connection: Any) -> None:
        raise AssertionError("it is never called")

    with pytest.raises(NotSupported, match="transactional"):
        shop.work(handle, transactional=True)
    return True


def meddling(first: Callable[[], None]) -> Callable[[Any], None]:
    """Call something each time before a handler's transaction begins."""

    def prepare(db: Any) -> None:
        begin = db.connections.begin

        def begin_later() -> Any:
            first()
            return begin()

        db.connections.begin = begin_later

    return prepare


@pytest.mark.parametrize("terms", WAYS)
def test_each_message_has_the_effect_of_its_handler_once(shop: Workshop, terms: dict[str, Any], scale: int) -> None:
    if refused(shop):
        return
    effects = Effects(shop)
    shop.queue.push_many([Draft(number) for number in range(25 * scale)])

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, message.payload)

    shop.work(handle, "empty", transactional=True, **terms)
    assert effects.seen() == [*range(25 * scale)]
    assert shop.queue.count() == 0


@pytest.mark.parametrize(("outcome", "way"), FAILED)
def test_of_an_attempt_that_fails_no_effect_lasts(shop: Workshop, outcome: Any, way: str) -> None:
    if refused(shop):
        return
    effects = Effects(shop)
    shop.queue.push("hello")
    tries: list[int] = []

    async def handle(message: Message, connection: Any) -> Any:
        tries.append(message.attempts)
        await effects.write(connection, "half done")
        if isinstance(outcome, Release) and len(tries) > 1:
            return Bury("enough")
        if way == "raised":
            raise outcome
        return outcome

    shop.work(handle, transactional=True, retry=limited(2, AT_ONCE))
    assert effects.seen() == []
    (message,) = shop.queue.find()
    assert message.status == "dead"
    assert tries == {"Bury": [1], "Release": [1, 1]}.get(type(outcome).__name__, [1, 2])


def test_a_move_and_what_is_pushed_on_are_in_the_handlers_transaction(shop: Workshop) -> None:
    if refused(shop):
        return
    effects = Effects(shop)
    shop.queue.push_many([Draft(number) for number in range(3)])

    async def handle(message: Message, connection: Any) -> Any:
        await effects.write(connection, message.payload)
        return [Commit(then=(Draft("next", queue="billing"),)), Move("billing"), [Move("billing", "a")]][
            message.payload
        ]

    shop.work(handle, transactional=True)
    assert effects.seen() == [0, 1, 2]
    assert sorted(str(one.payload) for one in shop.db.queue("billing").find()) == ["1", "a", "next"]
    assert shop.queue.count() == 0


def test_a_settlement_that_is_refused_undoes_the_effect_and_fails_the_attempt(shop: Workshop) -> None:
    if refused(shop):
        return
    effects = Effects(shop)
    shop.db.queue("billing").push("there first", key="taken")
    shop.queue.push("hello", key="taken")

    async def handle(message: Message, connection: Any) -> Any:
        await effects.write(connection, "hello")
        return Move("billing")

    shop.work(handle, transactional=True, retry=ONCE)
    assert effects.seen() == []
    (message,) = shop.queue.find()
    assert (message.status, message.last_error and message.last_error.type) == ("dead", "DuplicateKey")


def test_a_handler_that_had_lost_its_lease_undoes_its_effect(shop: Workshop, caplog: Any) -> None:
    if refused(shop):
        return
    pushed = shop.queue.push("old", key="k")
    seen: list[str] = []

    def replace() -> None:
        if not seen:
            shop.queue.push("new", key="k", on_duplicate="replace")

    effects = Effects(shop, meddling(replace))

    async def handle(message: Message, connection: Any) -> None:
        seen.append(message.payload)
        await effects.write(connection, message.payload)

    shop.work(handle, transactional=True)
    assert seen == ["old", "new"]
    assert effects.seen() == ["new"]
    assert shop.queue.count() == 0
    assert [
        record.getMessage() for record in caplog.records if f"lease lost on message {pushed.id}" in record.getMessage()
    ]


def test_more_handlers_have_transactions_if_an_operator_says_so_and_the_database_can(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refused(shop):
        return
    monkeypatch.setattr(maintenance, "SETTLED_IN", 0.0)
    most = 3 if shop.db.store.capabilities.parallel_writes else 1
    shop.queue.push_many([Draft(number) for number in range(4)])
    shop.queue.limit(concurrency=3)
    gate = Gate()
    running: set[int] = set()

    async def handle(message: Message, connection: Any) -> None:
        running.add(message.payload)
        if len(running) == most:
            gate.open()
        await gate.passed()

    shop.work(handle, "empty", transactional=True)
    assert running == {0, 1, 2, 3}


def test_a_handler_that_loses_its_lease_meanwhile_undoes_its_effect(shop: Workshop) -> None:
    if refused(shop):
        return
    effects = Effects(shop)
    if not shop.db.store.capabilities.parallel_writes:
        return  # nobody else can write meanwhile, so nobody can take the message
    shop.queue.push("old", key="k")
    seen: list[str] = []

    async def handle(message: Message, connection: Any) -> None:
        seen.append(message.payload)
        await effects.write(connection, message.payload)
        if message.payload == "old":
            shop.queue.push("new", key="k", on_duplicate="replace")

    shop.work(handle, transactional=True)
    assert seen == ["old", "new"]
    assert effects.seen() == ["new"]
    assert shop.queue.count() == 0


def test_when_the_answer_to_the_commit_is_lost_the_effect_is_not_made_again(shop: Workshop, caplog: Any) -> None:
    if refused(shop):
        return
    shop.queue.push("hello")
    lost = StoreUnavailable("gone", outcome="unknown")
    effects = Effects(shop, lambda db: watch(db, fail_at("settle: committed", lost)))

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, f"attempt {message.attempts}")

    shop.work(handle, "empty", transactional=True, retry=AT_ONCE)
    assert effects.seen() == ["attempt 1"]
    assert shop.queue.count() == 0
    assert any("cannot tell whether 1 of mail" in record.getMessage() for record in caplog.records)
