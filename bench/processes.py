"""Run one function in fresh processes that start together, and time them from the first start to the last end."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

T = TypeVar("T")

Prepared = Callable[[], T]
"""What a prepared process runs once the clock has started."""

PATIENCE_SECONDS = 1_800


class ChildFailed(Exception):
    """A process ended with an error; its traceback is the message."""


@dataclass(frozen=True)
class Timed(Generic[T]):
    """What the processes returned, and the seconds from the first start to the last end."""

    results: list[T]
    seconds: float


def together(prepare: Callable[..., Prepared[T]], *arguments: Any, processes: int = 1) -> Timed[T]:
    """Call `prepare(*arguments)` in each process, then all the prepared functions at the same moment.

    `prepare` connects and imports outside the clock. It is named by module, so it must be importable. Raises
    ChildFailed with the child's traceback when one fails; the others are ended first.
    """
    children = [Child(prepare, *arguments) for _ in range(processes)]
    try:
        start(children)
        ended = [child.result() for child in children]
    finally:
        for child in children:
            child.end()
    first = min(start for _, start, _ in ended)
    last = max(end for _, _, end in ended)
    return Timed([result for result, _, _ in ended], (last - first) / 1e9)


def start(children: Collection[Child[Any]]) -> None:
    """Let processes go at the same moment, when all of them are ready."""
    for child in children:
        child.wait_until_ready()
    for child in children:
        child.go()


class Child(Generic[T]):
    """One fresh process: prepares, waits for `go`, runs, answers with its result and its times."""

    def __init__(self, prepare: Callable[..., Prepared[T]], *arguments: Any) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_child, args=(theirs, prepare, arguments), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """The process's id."""
        if self._process.pid is None:
            raise ChildFailed("the process was never started")
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Return when the process has prepared itself."""
        self._receive()

    def go(self) -> None:
        """Let the process run."""
        self._pipe.send(None)

    def result(self) -> tuple[T, int, int]:
        """Wait for the end; return the result and the monotonic nanoseconds of start and end."""
        answer: tuple[T, int, int] = self._receive()
        return answer

    def end(self) -> None:
        """Wait for the process to exit; end it when it does not by itself."""
        self._pipe.close()
        self._process.join(timeout=10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _receive(self) -> Any:
        if not self._pipe.poll(PATIENCE_SECONDS):
            raise ChildFailed(f"a process gave no answer in {PATIENCE_SECONDS} s")
        try:
            worked, answer = self._pipe.recv()
        except EOFError:
            self._process.join()
            raise ChildFailed(f"a process ended with exit code {self._process.exitcode}, without an answer") from None
        if not worked:
            raise ChildFailed(answer)
        return answer


def _child(pipe: Connection, prepare: Callable[..., Prepared[Any]], arguments: tuple[Any, ...]) -> None:
    try:
        prepared = prepare(*arguments)
        pipe.send((True, None))
        pipe.recv()
        start = time.monotonic_ns()
        result = prepared()
        pipe.send((True, (result, start, time.monotonic_ns())))
    except Exception:
        pipe.send((False, traceback.format_exc()))
