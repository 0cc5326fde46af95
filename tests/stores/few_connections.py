"""A server without a connection for a user is one that is away: nothing is half done, and everybody goes on later.

A store's module gives `few`: users whom the server lets have few connections.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

import duerow
from duerow import Message
from duerow.errors import StoreUnavailable
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from duerow.testing.worker_harness import Gate, Workshop, eventually

TOO_MANY: Final = ("too many connections", "Too many connections", "max_user_connections")
"""What the servers say."""


@dataclass
class Few:
    """A user whom the server lets have few connections.

    Attributes:
        url: of the user.
        open: opens one of them; None if the server refuses it as one too many.
        ends: ends the user's connections, but not those that `open` gave; returns how many there were.
        shut: makes sure that no connection of another user that closes within the block makes room for one.
    """

    url: str
    open: Callable[[], Any]
    ends: Callable[[list[Any]], int]
    shut: Callable[[list[Any]], AbstractContextManager[object]] = nullcontext
    _held: list[Any] = field(default_factory=list)

    @contextmanager
    def none_left(self) -> Iterator[None]:
        """The user's connections are ended, and none can be opened within the block."""
        with ExitStack() as closing:
            while True:
                while (one := self.open()) is not None:
                    self._held.append(one)
                    closing.callback(one.close)
                if not self.ends(self._held):
                    break
            closing.callback(self._held.clear)
            with self.shut(self._held):
                yield


def test_a_handle_is_opened_once_there_are_connections_again(face: Face, place: Place, few: Few) -> None:
    with few.none_left(), pytest.raises(StoreUnavailable) as refused:
        face.connect(few.url, **place.settings)
    assert refused.value.outcome == "none"
    opened = eventually(lambda: connected(face, place, few))
    with opened as db:
        db.queue("mail").push(1)


def connected(face: Face, place: Place, few: Few) -> Any:
    """A handle; None if the server has not closed the other connections yet."""
    try:
        return face.connect(few.url, **place.settings)
    except StoreUnavailable:
        return None


def test_what_gets_no_connection_changes_nothing_and_works_once_there_are_some_again(
    face: Face, place: Place, few: Few
) -> None:
    with face.connect(few.url, **place.settings) as db:
        queue = db.queue("mail")
        queue.push(1, key="one")
        reservation = queue.reserve()
        assert reservation is not None
        calls: list[Callable[[], Any]] = [
            lambda: queue.push(2, key="two"),
            lambda: queue.push_many([duerow.Draft(3), duerow.Draft(4)]),
            queue.reserve,
            lambda: queue.extend(reservation),
            lambda: queue.settle([(reservation, duerow.Commit())]),
            lambda: queue.commit(reservation),
            queue.stats,
            lambda: queue.remove(where="key = 'one'"),
            db.maintain,
        ]
        with few.none_left():
            with pytest.raises(StoreUnavailable):
                queue.count()  # on the connection that was ended
            for call in calls:
                with pytest.raises(StoreUnavailable) as refused:
                    call()
                assert refused.value.outcome == "none"
        eventually(lambda: works_again(lambda: queue.push(2, key="two")))
        queue.commit(reservation)
        assert [message.payload for message in queue.find()] == [2]


def works_again(call: Callable[[], Any]) -> bool:
    """Whether there is a connection again; the server may take a moment to close the others."""
    try:
        call()
    except StoreUnavailable:
        return False
    return True


@pytest.mark.parametrize("kind", ["blocking", "async"])
def test_a_worker_goes_on_once_there_are_connections_again(
    kind: str, place: Place, few: Few, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Workshop(kind, place.url, place.settings, workers_url=few.url)
    handled = {1: Gate(), 2: Gate()}

    async def handle(message: Message) -> None:
        handled[message.payload].open()

    try:
        with caplog.at_level(logging.WARNING, "duerow.worker"):
            running = shop.start(handle)
            shop.queue.push(1)
            handled[1].block()
            eventually(lambda: shop.queue.count() == 0)
            with few.none_left():
                shop.queue.push(2)
                eventually(lambda: any(word in text for text in caplog.messages for word in TOO_MANY))
                assert [message.payload for message in shop.queue.find()] == [2]
            handled[2].block()
            running.stop()
            running.join()
            assert shop.queue.count() == 0
    finally:
        shop.close()
