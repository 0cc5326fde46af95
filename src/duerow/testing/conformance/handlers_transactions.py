"""A handler's writes and its settlement are committed together, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

import pytest

from duerow import Commit, Database, Draft, Queue, Worker
from duerow.aio import Worker as AsyncWorker
from duerow.errors import ConfigurationError, LeaseLost, NotSupported
from duerow.testing.contents import empty, everything, payloads
from duerow.testing.faces import AwaitedFace, Face, unwrapped

MORE_THAN_A_POOL = 80

_DONE = Commit()


class Handlers:
    """A transaction that a worker begins for a handler, with blocking calls for either API."""

    def __init__(self, db: Database, face: Face) -> None:
        self._face = face
        begun: Any = unwrapped(db).connections.begin()
        self.own = self._done(begun)
        self.connection = self.own.connection

    def look(self) -> Any:
        """See OwnTransaction.look."""
        return self._done(self.own.look())

    def commit(self) -> None:
        """See OwnTransaction.commit."""
        self._done(self.own.commit())

    def roll_back(self) -> None:
        """See OwnTransaction.roll_back."""
        self._done(self.own.roll_back())

    def _done(self, result: Any) -> Any:
        if not isawaitable(result):
            return result
        assert isinstance(self._face, AwaitedFace)
        return self._face.run(result)


def refused(db: Database, face: Face) -> bool:
    """Return whether this store has no such transactions; if so, check that it and a worker refuse them."""
    if db.store.capabilities.within:
        return False
    with pytest.raises(NotSupported, match="transaction"):
        Handlers(db, face)
    kind: Callable[..., Any] = AsyncWorker if isinstance(face, AwaitedFace) else Worker
    with pytest.raises(NotSupported, match="transactional"):
        kind(unwrapped(db).queue("mail"), print, transactional=True)
    return True


def test_a_handlers_transaction_keeps_its_pushes_and_the_settlement_together(
    db: Database, queue: Queue, other: Queue, face: Face
) -> None:
    if refused(db, face):
        return
    for kept in (True, False):
        empty(db)
        queue.push("hello")
        reservation = queue.reserve()
        assert reservation is not None
        before = everything(db)
        handlers = Handlers(db, face)
        other.push("bill", within=handlers.connection)
        assert handlers.look() == "open"
        assert queue.settle([(reservation, _DONE)], within=handlers.connection) == []
        assert everything(db) == before  # nobody else has seen any of it
        if kept:
            handlers.commit()
            assert (payloads(queue), payloads(other)) == ([], ["bill"])
        else:
            handlers.roll_back()
            assert everything(db) == before


def test_a_stale_receipt_is_refused_in_a_handlers_transaction(db: Database, queue: Queue, face: Face) -> None:
    if refused(db, face):
        return
    pushed = queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    queue.remove(pushed.id, even_if_leased=True)
    handlers = Handlers(db, face)
    (one,) = queue.settle([(reservation, _DONE)], within=handlers.connection)
    assert isinstance(one.error, LeaseLost)
    handlers.roll_back()


def test_handlers_transactions_give_their_connections_back(db: Database, queue: Queue, face: Face) -> None:
    if refused(db, face):
        return
    for number in range(MORE_THAN_A_POOL):
        handlers = Handlers(db, face)
        queue.push(number, within=handlers.connection)
        if number % 2:
            handlers.commit()
            handlers.roll_back()  # does nothing by now
        else:
            handlers.roll_back()
    assert payloads(queue) == list(range(1, MORE_THAN_A_POOL, 2))
    queue.push_many([Draft("as"), Draft("ever")])
    popped = [message.payload for message in queue.pop_many(MORE_THAN_A_POOL)]
    assert popped == [*range(1, MORE_THAN_A_POOL, 2), "as", "ever"]


def test_a_write_beside_a_handlers_transaction_never_waits_for_it_for_ever(
    db: Database, queue: Queue, face: Face
) -> None:
    if refused(db, face):
        return
    handlers = Handlers(db, face)
    queue.push("inside", within=handlers.connection)
    if db.store.capabilities.parallel_writes:
        queue.push("beside")
        handlers.commit()
        assert sorted(payloads(queue)) == ["beside", "inside"]
    else:
        with pytest.raises(ConfigurationError, match="within=connection"):
            queue.push("beside")
        handlers.commit()
        queue.push("after")
        assert payloads(queue) == ["inside", "after"]
