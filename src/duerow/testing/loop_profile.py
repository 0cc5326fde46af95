"""A profile of an event loop's thread: how long its callbacks are, what it waits for, what it imports.

The measured length of a pause depends on how busy the machine is; the profile is the same on every machine.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

STEP: Final = ("asyncio/events.py", "_run")
"""The function in which the loop calls its callbacks, one after another."""

OWN_WAIT: Final = "selectors.py"
"""The function in which the loop itself waits."""

WAITS: Final = {
    "Connection.execute",
    "sleep",
    "select",
    "poll.poll",
    "epoll.poll",
    "Popen.wait",
    "waitpid",
    "wait_c",
    "open",
    "open_code",
    "connect",
    "Cursor.execute",
    "Cursor.executemany",
    "Cursor.executescript",
    "Cursor.fetchall",
    "Connection.commit",
    "getaddrinfo",
}
"""C functions, by qualified name, that block a thread: on a file, a server, a name lookup or a sleep."""

SOCKET_WAITS: Final = {"connect", "accept", "recv", "recv_into", "recvfrom", "send", "sendall"}
"""Methods of sockets that block unless the socket is non-blocking."""


class LoopProfile:
    """The activity of an event loop's thread.

    Attributes:
        longest: the most function calls, of Python and C, in a single callback of the loop.
        waits: how often the thread was blocked, by C function and its caller.
        modules: the files of the imported modules.
        calls: how often each Python function was called, by file and name.
        c_calls: how often each C function was called, by qualified name.
    """

    def __init__(self) -> None:
        self.longest = 0
        self.waits: Counter[str] = Counter()
        self.modules: list[str] = []
        self.calls: Counter[tuple[str, str]] = Counter()
        self.c_calls: Counter[str] = Counter()
        self._step = 0

    def functions_of(self, file: str) -> set[str]:
        """Return the names of a file's functions that were called, given the end of its path."""
        return {name for path, name in self.calls if path.endswith(file)}

    def note(self, frame: FrameType, event: str, function: Any) -> None:
        """Record an event of the interpreter; see `sys.setprofile`."""
        if event == "call":
            self._note_call(frame)
        elif event == "c_call":
            self._note_c_call(frame, function)

    def _note_call(self, frame: FrameType) -> None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if name == STEP[1] and file.endswith(STEP[0]):
            self._step = 0
        self._count()
        self.calls[file, name] += 1
        if name == "<module>" and not file.startswith("<"):
            self.modules.append(file)

    def _note_c_call(self, frame: FrameType, function: Any) -> None:
        self._count()
        name = str(getattr(function, "__qualname__", function))
        self.c_calls[name] += 1
        caller = frame.f_code
        if caller.co_filename.endswith(OWN_WAIT):
            return
        if name in WAITS or (_waits_by_itself(name, getattr(function, "__self__", None)) and not _starts_thread(frame)):
            self.waits[f"{name} in {caller.co_qualname}"] += 1

    def _count(self) -> None:
        self._step += 1
        self.longest = max(self.longest, self._step)


def _waits_by_itself(name: str, subject: Any) -> bool:
    """Return whether a method of a lock or a socket is about to wait."""
    kind, _, method = name.rpartition(".")
    if method in SOCKET_WAITS and hasattr(subject, "gettimeout"):
        return bool(subject.gettimeout() != 0)
    if method in {"acquire", "__enter__"} and kind == "lock":
        return bool(subject.locked())
    return False


def _starts_thread(frame: FrameType | None) -> bool:
    """Return whether Python itself takes the lock briefly: to give work to a thread, or to ask who holds it."""
    names = []
    while frame is not None and frame.f_code.co_filename.endswith(("threading.py", "concurrent/futures/thread.py")):
        names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return names[:1] == ["Condition._is_owned"] or bool({"Thread.start", "ThreadPoolExecutor.submit"} & set(names))


@contextmanager
def profiled() -> Iterator[LoopProfile]:
    """Profile the thread of the running event loop during a block."""
    profile = LoopProfile()
    before: Callable[..., Any] | None = sys.getprofile()
    sys.setprofile(profile.note)
    try:
        yield profile
    finally:
        sys.setprofile(before)
