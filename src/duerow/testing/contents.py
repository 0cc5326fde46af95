"""The complete contents of a store, so that tests can check that nothing changed."""

from __future__ import annotations

from typing import Any

from duerow import Database, Message, Queue
from duerow.errors import DuplicateKey, LeaseLost
from duerow.store import Query, Record, Refused


def everything(db: Database) -> list[Record]:
    """Return the records of all messages of all queues, ordered by id."""
    records: list[Record] = []
    for name in db.queues(reserved=True):
        records += db.run(lambda name=name: db.store.messages.find(Query(name, by_id=True, limit=200_000)))  # type: ignore[misc]
    return sorted(records, key=lambda record: record.id)


def empty(db: Database) -> None:
    """Remove all messages of all queues."""
    for name in db.queues(reserved=True):
        ids = [record.id for record in everything(db) if record.queue == name]
        db.run(lambda name=name, ids=ids: db.store.operations.remove(name, ids, [], True))  # type: ignore[misc]


def stored(queue: Queue, id: int) -> Message:
    """Return the message with this id, which must exist."""
    message = queue.get(id)
    assert message is not None, f"message {id} is not in {queue.name}"
    return message


def payloads(queue: Queue) -> list[Any]:
    """Return the payloads of all messages of a queue, ordered by id."""
    return [message.payload for message in queue.find(limit=200_000)]


def take_all(queue: Queue) -> list[Any]:
    """Pop everything that is due; return the payloads in the order in which they were handed out."""
    return [message.payload for message in queue.pop_many(200_000)]


def lost(refused: list[Refused]) -> set[int]:
    """Return the ids of refused receipts, all of which must have been refused with LeaseLost."""
    assert all(isinstance(one.error, LeaseLost) for one in refused)
    return {one.receipt.id for one in refused}


def duplicates(refused: list[Refused]) -> set[int]:
    """Return the ids of refused moves, all of which must have been refused with DuplicateKey."""
    assert all(isinstance(one.error, DuplicateKey) for one in refused)
    return {one.receipt.id for one in refused}
