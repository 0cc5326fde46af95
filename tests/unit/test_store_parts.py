"""A store may have some parts of the contract and not others: what needs a missing one is refused, nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from duerow import Database, Draft, Message, Worker
from duerow.errors import NotSupported
from duerow.store import PARTS, Capabilities, MissingPart, Settings, Store
from duerow.stores.memory import MemoryBackend
from duerow.stores.memory.plans.messages import MemoryMessages
from duerow.stores.memory.store import MemoryStore
from duerow.stores.mongodb.store import MongoStore
from duerow.stores.sql.dialects.sqlite.dialect import SQLite
from duerow.stores.sql.plans.store import SqlStore


class MessagesAlone(Store):
    """The in-memory store, with every part withheld that a store may lack."""

    def __init__(self) -> None:
        self.capabilities = Capabilities(within=False, processes=False, hosts=False, parts=frozenset())
        self.messages = MemoryMessages()


class AloneBackend(MemoryBackend):
    """Opens it by URLs of the in-memory store."""

    def open(self, target: Any, settings: Settings) -> Any:
        return MessagesAlone(), super().open(target, settings)[1]


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr("duerow.sync.database.find_backend", lambda target: AloneBackend())
    import duerow

    with duerow.connect("memory://", migrate=True) as database:
        yield database


def test_a_store_of_messages_alone_pushes_reserves_and_settles(db: Database) -> None:
    queue = db.queue("mail")
    queue.push("hello", key="k")
    assert queue.push("again", key="k").outcome == "ignored"
    lent = queue.reserve(lease=timedelta(minutes=1))
    assert lent is not None
    queue.rollback(lent, delay=timedelta(0))
    again = queue.reserve()
    assert again is not None
    assert (again.message.id, again.attempt) == (lent.message.id, 2)
    queue.commit(again)
    assert queue.find() == []
    queue.push("popped")
    assert queue.pop() is not None


def test_a_worker_consumes_a_queue_of_messages_alone(db: Database) -> None:
    queue, seen = db.queue("mail"), list[object]()

    def note(message: Message[Any]) -> None:
        seen.append(message.payload)

    queue.push_many([Draft("one"), Draft("two")])
    Worker(queue, note).run("empty")
    assert sorted(seen) == ["one", "two"]
    db.maintain()


def test_tables_that_do_not_exist_need_no_migration(db: Database) -> None:
    assert db.migrate() == []


REFUSED: dict[str, Callable[[Database], object]] = {
    "operations.queue_stats": lambda db: db.queue("mail").stats(),
    "operations.peek": lambda db: db.queue("mail").peek(),
    "operations.inspect": lambda db: db.queue("mail").why(id=1),
    "operations.queues": lambda db: db.queues(),
    "history.find": lambda db: db.queue("mail").history(),
    "metadata.put_settings": lambda db: db.queue("mail").pause(),
    "metadata.settings": lambda db: db.queue("mail").declare(),
    "metadata.schedules": lambda db: db.schedule("daily", queue="mail", every=timedelta(days=1)),
    "metadata.pipelines": lambda db: db.pipelines(),
    "bulk.lend": lambda db: db.queue("mail").bulk.lend(5),
    "schema.migration_sql": lambda db: db.migration_sql(),
    "history=": lambda db: db.queue("mail", history=timedelta(days=1)),
    "remember_keys=": lambda db: db.queue("mail", remember_keys=timedelta(days=1)),
}


@pytest.mark.parametrize("needed", REFUSED)
def test_what_needs_a_missing_part_is_refused_by_its_name_and_nothing_changes(db: Database, needed: str) -> None:
    db.queue("mail").push("stays")
    before = db.queue("mail").find()
    with pytest.raises(NotSupported, match=needed):
        REFUSED[needed](db)
    assert db.queue("mail").find() == before


@pytest.mark.parametrize(
    "store",
    [MemoryStore(), MessagesAlone(), MongoStore("duerow_"), SqlStore(SQLite(), "duerow_", None, None)],
    ids=lambda store: type(store).__name__,
)
def test_a_store_has_the_parts_that_its_capabilities_name(store: Store) -> None:
    assert {name for name in PARTS if not isinstance(getattr(store, name), MissingPart)} == store.capabilities.parts
