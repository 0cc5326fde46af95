"""Forks: preparing for them and cleaning up after them, so that handles work in both processes.

SQLite keeps one record of a file's locks per process. A child inherits this record but not the locks: if a connection
to the file stays open across the fork, the child believes that it holds its parent's locks, and the parent may delete
the write-ahead log together with everything that the child has written. In addition, any operation of another thread
in SQLite at that moment stays half done in the child. Therefore the forking thread closes the gate, waits until no
thread is inside SQLite, and closes idle connections. If a file is still open after that, the child may not use it.

Connections to servers have no such problem: the child just does not use the ones it inherited.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Protocol
from urllib.parse import unquote

from duerow.errors import ConfigurationError
from duerow.stores.sql.connections.handler_transactions import INSIDE

_LOG: Final = logging.getLogger("duerow")

PATIENCE: Final = 5.0
"""How many seconds a fork waits for calls that run in other threads."""

_SOON: Final = 0.001
"""Seconds between checks whether a fork, or the calls that it waits for, have finished."""

_abandoned: list[Any] = []
"""Objects of the parent process, referenced so that the child does not close them."""


class Forkable(Protocol):
    """An object that has connections."""

    def before_fork(self) -> None:
        """Close idle connections that must not stay open across a fork; no thread is inside the gate."""

    def after_fork(self) -> None:
        """In the child: start over without the parent's connections."""


class Gate:
    """A gate that threads and tasks enter before they call SQLite; closed while the process forks."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """In a child: start with no thread inside."""
        self._inside: list[int] = []  # the threads; appending and removing need no lock
        self._turn = threading.RLock()  # held while a process forks
        self._forking = 0
        self._forks: int | None = None

    def enter(self) -> int:
        """Enter, after waiting for any fork in progress; return the argument for `leave`.

        A thread first registers and then checks the gate; a fork first closes the gate and then checks for threads.
        """
        me = threading.get_ident()
        self._inside.append(me)
        while self._forking and not self._may_pass(me):
            self._inside.remove(me)
            with self._turn:
                pass
            self._inside.append(me)
        return me

    async def aenter(self) -> int:
        """Like `enter`, awaited."""
        while (me := self.enter_now()) is None:  # noqa: ASYNC110 - forks are rare, and cannot notify event loops
            await asyncio.sleep(_SOON)
        return me

    def enter_now(self) -> int | None:
        """Like `enter`, but return None instead of waiting."""
        me = threading.get_ident()
        self._inside.append(me)
        if self._forking and not self._may_pass(me):
            self._inside.remove(me)
            return None
        return me

    def leave(self, who: int) -> None:
        """Leave the gate."""
        try:
            self._inside.remove(who)
        except ValueError:  # in a child, for a call that its parent had begun
            return

    def _may_pass(self, me: int) -> bool:
        # A fork waits for handlers' transactions, so they must not wait for it. Nor must a fork wait for itself.
        return INSIDE.get() is not None or self._forks == me

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Stay inside for a block."""
        me = self.enter()
        try:
            yield
        finally:
            self.leave(me)

    @asynccontextmanager
    async def ainside(self) -> AsyncIterator[None]:
        """Like `inside`, awaited."""
        me = await self.aenter()
        try:
            yield
        finally:
            self.leave(me)

    def close(self) -> bool:
        """Keep threads out until `open`; return whether all threads have left.

        Calls by the forking thread itself, or by tasks on its event loop, cannot finish in the meantime.
        """
        me = threading.get_ident()
        self._turn.acquire()
        self._forks, self._forking = me, self._forking + 1
        deadline = time.monotonic() + PATIENCE
        while self._inside and me not in self._inside and time.monotonic() < deadline:
            time.sleep(_SOON)
        return not self._inside

    def open(self) -> None:
        """In the parent: the fork is over."""
        self._forking -= 1
        if not self._forking:
            self._forks = None
        self._turn.release()


GATE: Final = Gate()
"""One per process, like SQLite's record of locks."""

_known: dict[int, weakref.ref[Forkable]] = {}
_inherited: set[tuple[int, int]] = set()
"""The files that were open when this process was forked, by device and number."""


def prepare_for_forks(forkable: Forkable) -> None:
    """Call the object's methods before and after each fork, as long as the object exists."""
    key = id(forkable)
    _known[key] = weakref.ref(forkable, lambda _: _known.pop(key, None))


def abandon(inherited: Any) -> None:
    """Keep a reference to an object of the parent process, so that this child does not close it."""
    _abandoned.append(inherited)


def check_not_inherited(database: str | None) -> None:
    """Raise ConfigurationError if this process cannot use an SQLite file because it was open during the fork.

    Closing the file here would not help: SQLite's record of its locks may remain.
    """
    if not _inherited or database is None:
        return
    path = unquote(database.removeprefix("file:").partition("?")[0]) if database.startswith("file:") else database
    try:
        file = _identity(os.stat(path))
    except OSError:  # the file does not exist yet
        return
    if file in _inherited:
        raise ConfigurationError(
            f"the SQLite file {path} was open while this process was forked, so what is written here could be lost: a "
            "call was running, or something other than duerow's own engines had it open. Close it before the fork "
            "(an engine of your own: dispose()), or start the process with the method 'spawn' or 'forkserver'"
        )


def _before() -> None:
    if GATE.close():
        for forkable in _all_known():
            try:
                forkable.before_fork()
            except Exception:  # the fork cannot be stopped; the child will find the file open and raise an error
                _LOG.exception("a connection could not be closed before the process forks")


def _in_child() -> None:
    GATE.begin_anew()
    _note_open_files()
    for forkable in _all_known():
        forkable.after_fork()


def _all_known() -> list[Forkable]:
    found = [reference() for reference in list(_known.values())]
    return [forkable for forkable in found if forkable is not None]


def _note_open_files() -> None:
    descriptors = map(int, os.listdir("/dev/fd")) if os.path.isdir("/dev/fd") else range(1024)
    for descriptor in descriptors:
        try:
            status = os.fstat(descriptor)
        except OSError:  # the descriptor that listed them
            continue
        if stat.S_ISREG(status.st_mode):
            _inherited.add(_identity(status))


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


if hasattr(os, "register_at_fork"):  # other platforms have no fork
    os.register_at_fork(before=_before, after_in_parent=GATE.open, after_in_child=_in_child)
