"""The fixtures of the suite. A store must define `place`; it may replace the others.

place: where the queues of the test live, an empty database without tables. recorded: what the handles of the test did,
checked at its end; None: it is not recorded. begin: opens a transaction as a caller would, for `within=`; None if the
store does not support that. hold: makes all writers wait within a block; None if that is impossible. in_loop: blocking
calls that the store deliberately makes in the event loop's thread; none by default. harms: ways to damage the stored
row of a message, by name; none if only the store itself can write rows. harms_out_of_line: ways after which no claim
finds the row. largest_token: gives a row the largest possible token, which no claim can increment. crowd: how many
messages tests of large batches push; a store sets it above its limit of parameters. scale: how many times as much races
and workers do; more in long tests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Set
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from duerow import Database, Queue, fixed, limited
from duerow.clock import Clock
from duerow.errors import NotSupported
from duerow.payload.encoding import Cipher
from duerow.store import MissingPart, Part
from duerow.sync.tasks import Tasks
from duerow.testing.clock import MovableClock, seconds
from duerow.testing.faces import AwaitedFace, BlockingFace, Face, tasks_of, unwrapped
from duerow.testing.trace import Trace, record
from duerow.testing.trace_check import check
from duerow.testing.worker_harness import Workshop


def pytest_configure(config: pytest.Config) -> None:
    """Register the suite's marks, even if pytest-timeout is not installed."""
    config.addinivalue_line("markers", "soak: runs for a long time; left out unless asked for with -m soak")
    config.addinivalue_line("markers", "timeout: how long a test may run, in seconds, where pytest-timeout watches")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect long tests, unless marks are selected."""
    if config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("soak")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Report a promise as refused if it needs a part of the contract that the store lacks."""
    refusals: list[NotSupported] = []
    refusal = MissingPart.refusal

    def noted(part: Part, needed: str) -> NotSupported:
        refusals.append(refusal(part, needed))
        return refusals[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MissingPart, "refusal", staticmethod(noted))
        try:
            return (yield)
        except (Exception, pytest.fail.Exception):
            if refusals:
                pytest.xfail(str(refusals[0]))
            raise


@dataclass(frozen=True)
class Place:
    """Where the queues of a test live.

    Attributes:
        url: the URL for `connect`.
        settings: further arguments of `connect`, such as prefix and schema.
    """

    url: str
    settings: dict[str, Any] = field(default_factory=dict)


class CallersTransaction(Protocol):
    """A caller's transaction, which only the caller ends.

    Attributes:
        handle: the argument for `within=`.
    """

    handle: Any

    def commit(self) -> None:
        """Commit the transaction."""
        ...

    def rollback(self) -> None:
        """Roll the transaction back."""
        ...


Begin = Callable[[], AbstractContextManager[CallersTransaction]]


Hold = Callable[[], AbstractContextManager[object]]
"""Locks the tables of the test, or the whole database, within a block."""


Harm = Callable[[int], None]
"""Damages the row of a message, given its id."""


class OpenDatabase(Protocol):
    """Opens another handle of the test's database, which is closed at the end of the test."""

    def __call__(self, *, clock: Clock | None = ..., migrate: bool = ..., encryption: Cipher | None = ...) -> Database:
        """Connect; by default with the test's clock, with migrated tables, and without encryption."""
        ...


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest) -> Iterator[Face]:
    """Each of the two APIs, behind blocking calls."""
    if request.param == "sync":
        yield BlockingFace()
    else:
        with AwaitedFace() as awaited:
            yield awaited


@pytest.fixture
def clock() -> MovableClock:
    """The clock, which stands still until the test moves it."""
    return MovableClock()


@pytest.fixture
def scale(request: pytest.FixtureRequest) -> int:
    """How many times as many messages as usual a race, or a worker, has: twice as many in long tests."""
    return 2 if _is_long(request.config) else 1


def _is_long(config: pytest.Config) -> bool:
    return config.option.markexpr not in ("", "not soak")


@pytest.fixture
def recorded(request: pytest.FixtureRequest, place: Place) -> Iterator[Trace | None]:
    """A record of what the test's handles do, checked at its end; on servers only in long tests, otherwise None."""
    if not _is_long(request.config) and not place.url.startswith(("memory:", "sqlite:")):
        yield None
        return
    trace = Trace()
    yield trace
    broken = check(trace.events)
    assert not broken, "\n".join(map(str, broken))


@pytest.fixture
def open_database(face: Face, place: Place, clock: MovableClock, recorded: Trace | None) -> Iterator[OpenDatabase]:
    """A function that opens handles of the test's database."""
    with ExitStack() as opened:

        def connect(*, clock: Clock | None = clock, migrate: bool = True, encryption: Cipher | None = None) -> Database:
            database = face.connect(place.url, clock=clock, migrate=migrate, encryption=encryption, **place.settings)
            if recorded is not None:
                record(unwrapped(database), recorded)
            return opened.enter_context(database)

        yield connect


@pytest.fixture
def db(open_database: OpenDatabase) -> Database:
    """The empty database of the test, with the movable clock."""
    return open_database()


@pytest.fixture
def queue(db: Database) -> Queue:
    """An empty queue with the default lease of a minute."""
    return db.queue("mail")


@pytest.fixture
def other(db: Database) -> Queue:
    """Another empty queue in the same database."""
    return db.queue("billing")


@pytest.fixture
def mail(db: Database) -> Queue:
    """A queue with two attempts without a delay, whose dead letters go to `letters`."""
    return db.queue("mail", retry=limited(2, fixed(seconds(0))), dead_letter="mail-dead")


@pytest.fixture
def letters(db: Database) -> Queue:
    """The queue of dead letters."""
    return db.queue("mail-dead")


@pytest.fixture
def tasks(face: Face, db: Database) -> Tasks:
    """The tasks of an application, whose results are kept for an hour."""
    return tasks_of(face, db)


@pytest.fixture
def shop(face: Face, place: Place) -> Iterator[Workshop]:
    """An empty queue and workers of the face's kind, with the database's own clock."""
    with closing(Workshop(face.name, place.url, place.settings)) as workshop:
        yield workshop


@pytest.fixture
def timeless(face: Face, place: Place, clock: MovableClock) -> Iterator[Workshop]:
    """An empty queue and workers, with a clock that stands still until the test moves it."""
    with closing(Workshop(face.name, place.url, {**place.settings, "clock": clock})) as workshop:
        yield workshop


@pytest.fixture
def crowd() -> int:
    """The number of messages in a large batch."""
    return 2_000


@pytest.fixture
def harms() -> dict[str, Harm]:
    """Ways to damage a row; none by default."""
    return {}


@pytest.fixture
def harms_out_of_line() -> dict[str, Harm]:
    """Ways to damage a row; none by default."""
    return {}


@pytest.fixture
def largest_token() -> Harm | None:
    """A way to give a row the largest possible token; none by default."""
    return None


@pytest.fixture
def begin() -> Begin | None:
    """A way to open a caller's transaction; none by default."""
    return None


@pytest.fixture
def hold() -> Hold | None:
    """A way to make writers wait; none by default."""
    return None


@pytest.fixture
def in_loop() -> Set[str]:
    """The blocking calls that the event loop's thread may make; none by default."""
    return frozenset()
