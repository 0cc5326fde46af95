"""Run all checks of a database, with either API."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from duerow.clock import HostClock
from duerow.doctor.checks import CHECKS, Patient, Work
from duerow.doctor.steps import Hear, Hush, Wait
from duerow.errors import ConfigurationError, DuerowError, NotSupported, SchemaNewer, SchemaOutdated, StoreUnavailable
from duerow.plan import arun, run
from duerow.store import SEVERITIES, AsyncListener, Finding, Listener, SelfChecking, Store

if TYPE_CHECKING:
    from duerow.aio.database import Database as AwaitedDatabase
    from duerow.sync.database import Database

PATIENCE: Final = timedelta(minutes=5)
"""How long a transaction may last, and a due message wait, before it is reported."""


def examine(
    database: Database, *, patience: timedelta = PATIENCE, now: Callable[[], datetime] | None = None
) -> list[Finding]:
    """Check a database and its queues; return the findings, most severe first.

    It pushes a message to the queue `duerow.doctor` and removes it again.

    Args:
        database: the database; it need not have been migrated.
        patience: how long a transaction may last, and a due message wait, before it is reported.
        now: returns the current time of this process; default: the host's clock.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    return run(_all(database.store, patience, now), _Blocking(database))


async def aexamine(
    database: AwaitedDatabase, *, patience: timedelta = PATIENCE, now: Callable[[], datetime] | None = None
) -> list[Finding]:
    """Like `examine`, for a database of `duerow.aio`."""
    return await arun(_all(database.store, patience, now), _Awaited(database))


def _all(store: Store, patience: timedelta, now: Callable[[], datetime] | None) -> Work:
    patient = Patient(store, now or HostClock().now, patience)
    found = yield from _schema(store)
    ready = not found
    if ready:
        for name, check in CHECKS.items():
            found += yield from _tried(name, check(patient))
    if isinstance(store, SelfChecking) and not any(one.code == "schema" for one in found):
        for name, look in store.checks().items():
            found += yield from _tried(name, _as_work(partial(look, patience)))
    return sorted(found, key=lambda one: -SEVERITIES.index(one.severity))


def _as_work(plan: Callable[[], Any]) -> Work:
    found: list[Finding] = yield plan
    return found


def _schema(store: Store) -> Work:
    try:
        yield lambda: store.schema.check()
    except NotSupported:
        return []  # a store without tables of its own
    except (SchemaOutdated, SchemaNewer) as error:
        todo = "Run `duerow migrate`" if isinstance(error, SchemaOutdated) else "Upgrade duerow"
        return [Finding("schema", "error", str(error), "tables", todo)]
    except ConfigurationError as error:
        return [Finding("unfit", "error", str(error), "server or tables", "Change what the finding names")]
    return []


def _tried(name: str, work: Work) -> Work:
    """Run a check; if it is not possible, report that as a note."""
    try:
        return (yield from work)
    except StoreUnavailable:
        raise
    except DuerowError as error:
        todo = "Run it as a user with more rights, or check it by hand"
        return [Finding("not-checked", "note", f"this could not be checked: {error}", name, todo)]


class _Blocking:
    """Executes what checks yield, with blocking calls."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._listener: Listener | None = None

    def __call__(self, step: Any) -> Any:
        match step:
            case Hear(queue):
                self._listener = self._database.connections.listen([queue])
            case Wait(seconds):
                return self._listener is not None and self._listener.wait(seconds)
            case Hush():
                if self._listener is not None:
                    self._listener.close()
                self._listener = None
            case _:
                return self._database.run(step)
        return None


class _Awaited:
    """Like `_Blocking`, with awaited calls."""

    def __init__(self, database: AwaitedDatabase) -> None:
        self._database = database
        self._listener: AsyncListener | None = None

    async def __call__(self, step: Any) -> Any:
        match step:
            case Hear(queue):
                self._listener = await self._database.connections.listen([queue])
            case Wait(seconds):
                return self._listener is not None and await self._listener.wait(seconds)
            case Hush():
                if self._listener is not None:
                    await self._listener.close()
                self._listener = None
            case _:
                return await self._database.run(step)
        return None
