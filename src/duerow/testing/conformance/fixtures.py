"""The fixtures that the suite's tests ask for. A store must give `place`; the others it may replace.

place: where the queues of this one test live; empty, not yet migrated.
begin: opens a transaction as a caller would, for `within=`; None where the store has no `within`.
hold: makes every writer wait for as long as a block runs; None where nothing can.
in_loop: waits that the store makes in the thread of the event loop on purpose; none by default.
harms: ways to damage the stored row of a message, by name; none where rows can only be written by the store itself.
harms_out_of_line: the same, after which no claim comes upon the row.
largest_token: gives a row the largest token that the store holds, which no claim can raise.
crowd: how many messages the tests of large batches push; a store sets it beyond its parameter limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from duerow import Database, Queue, fixed, limited
from duerow.clock import Clock
from duerow.payload.encoding import Sealing
from duerow.testing.clock import MovableClock, seconds
from duerow.testing.faces import AwaitedFace, BlockingFace, Face
from duerow.testing.workshop import Workshop


def pytest_configure(config: pytest.Config) -> None:
    """Make the suite's marks known, also where pytest-timeout is not installed."""
    config.addinivalue_line("markers", "soak: runs for a long time; left out unless asked for with -m soak")
    config.addinivalue_line("markers", "timeout: how long a test may run, in seconds, where pytest-timeout watches")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long tests out unless somebody says which marks to run."""
    if config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("soak")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@dataclass(frozen=True)
class Place:
    """Where the queues of one test live.

    Attributes:
        url: what `connect` is given.
        settings: what else `connect` is given, such as prefix and schema.
    """

    url: str
    settings: dict[str, Any] = field(default_factory=dict)


class CallersTransaction(Protocol):
    """A transaction that belongs to the caller, who alone ends it.

    Attributes:
        handle: what is given to `within=`.
    """

    handle: Any

    def commit(self) -> None:
        """End it for good."""
        ...

    def rollback(self) -> None:
        """Undo it."""
        ...


Begin = Callable[[], AbstractContextManager[CallersTransaction]]


Hold = Callable[[], AbstractContextManager[object]]
"""Locks the tables of this test, or the whole database, for the length of a block."""


Harm = Callable[[int], None]
"""Writes into the row of a message, given its id, what no version of duerow writes there."""


class OpenDatabase(Protocol):
    """Opens another handle on the queues of this test, closed when the test ends."""

    def __call__(self, *, clock: Clock | None = ..., migrate: bool = ..., encryption: Sealing | None = ...) -> Database:
        """Connect; by default with the test's clock, migrated, and without encryption."""
        ...


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest) -> Iterator[Face]:
    """Each of the two faces in turn, presented with blocking calls."""
    if request.param == "sync":
        yield BlockingFace()
    else:
        with AwaitedFace() as awaited:
            yield awaited


@pytest.fixture
def clock() -> MovableClock:
    """The time, which stands still until the test moves it."""
    return MovableClock()


@pytest.fixture
def open_database(face: Face, place: Place, clock: MovableClock) -> Iterator[OpenDatabase]:
    """A function that opens handles on the queues of this test."""
    with ExitStack() as opened:

        def connect(
            *, clock: Clock | None = clock, migrate: bool = True, encryption: Sealing | None = None
        ) -> Database:
            database = face.connect(place.url, clock=clock, migrate=migrate, encryption=encryption, **place.settings)
            return opened.enter_context(database)

        yield connect


@pytest.fixture
def db(open_database: OpenDatabase) -> Database:
    """The queues of this test, empty, under the movable clock."""
    return open_database()


@pytest.fixture
def queue(db: Database) -> Queue:
    """A queue without messages, with the default lease of a minute."""
    return db.queue("mail")


@pytest.fixture
def other(db: Database) -> Queue:
    """Another queue without messages in the same database."""
    return db.queue("billing")


@pytest.fixture
def mail(db: Database) -> Queue:
    """A queue with two attempts, at once one after the other, whose dead letters go to `letters`."""
    return db.queue("mail", retry=limited(2, fixed(seconds(0))), dead_letter="mail-dead")


@pytest.fixture
def letters(db: Database) -> Queue:
    """The queue of dead letters."""
    return db.queue("mail-dead")


@pytest.fixture
def shop(face: Face, place: Place) -> Iterator[Workshop]:
    """A queue without messages, and workers for it of the kind that the face has, by the database's own clock."""
    with closing(Workshop(face.name, place.url, place.settings)) as workshop:
        yield workshop


@pytest.fixture
def timeless(face: Face, place: Place, clock: MovableClock) -> Iterator[Workshop]:
    """A queue without messages, and workers for it, whose time stands still until the test moves it."""
    with closing(Workshop(face.name, place.url, {**place.settings, "clock": clock})) as workshop:
        yield workshop


@pytest.fixture
def crowd() -> int:
    """How many messages make a large batch."""
    return 2_000


@pytest.fixture
def harms() -> dict[str, Harm]:
    """No way to damage a row, unless the store's tests give some."""
    return {}


@pytest.fixture
def harms_out_of_line() -> dict[str, Harm]:
    """No way to damage a row, unless the store's tests give some."""
    return {}


@pytest.fixture
def largest_token() -> Harm | None:
    """No way to give a row the largest token that there is, unless the store's tests give one."""
    return None


@pytest.fixture
def begin() -> Begin | None:
    """No way to open a transaction of the caller's own, unless the store's tests give one."""
    return None


@pytest.fixture
def hold() -> Hold | None:
    """No way to make writers wait, unless the store's tests give one."""
    return None


@pytest.fixture
def in_loop() -> Set[str]:
    """Nothing that an awaited call does keeps the event loop waiting, unless the store's tests say so."""
    return frozenset()
