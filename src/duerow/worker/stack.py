"""The stack of a running handler: where it is in its code, asked for by an operator and answered by its worker.

A question about a message is a separate message, in the queue `NAME/stack`, with the message's id in its key and no
payload. The answer replaces it. Each is due when it may be deleted; see `duerow.queue.beside`.

Stacks contain files, lines and names of functions, but no values and no source text.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import thread as pool
from datetime import datetime, timedelta
from itertools import dropwhile
from traceback import walk_stack
from types import FrameType
from typing import Any, Final

import msgspec

from duerow.message import QUEUE_NAME
from duerow.payload.codec import storable
from duerow.queue.beside import STACK
from duerow.worker.attempt import Attempt

ASKED: Final = timedelta(minutes=1)
"""How long a question waits for its answer."""

KEPT: Final = timedelta(hours=1)
"""How long an answer is kept."""

MOST: Final = 200
"""How many frames are kept, the innermost ones."""

NOT_BEGUN: Final = "its worker has claimed it, but has not begun to handle it"
NOT_PYTHON: Final = "its handler has not begun, has just ended, or does nothing that Python can look into"
SILENT: Final = "its child process does not answer; it may be in native code that lets no other thread run"


class StackFrame(msgspec.Struct, frozen=True, gc=False):
    """A call that has not returned.

    Attributes:
        file: the file of the function.
        line: the line at which it is.
        function: the function's qualified name.
    """

    file: str
    line: int
    function: str

    @property
    def shown(self) -> str:
        """The frame in one line, as tracebacks show it."""
        return f'File "{self.file}", line {self.line}, in {self.function}'


class Stack(msgspec.Struct, frozen=True, gc=False):
    """Where a running handler was in its code when its worker looked.

    Attributes:
        frames: its calls that have not returned, outermost first; at most the 200 innermost. Without values and source
            text.
        attempt: the attempt.
        worker: the name of the worker.
        at: when the worker looked, by its clock.
        note: why there are no frames; None: there are some.
    """

    frames: tuple[StackFrame, ...]
    attempt: int
    worker: str
    at: datetime
    note: str | None = None


def answer(attempt: Attempt, look: Look | None, worker: str, now: datetime) -> Stack:
    """Return the answer to a question.

    Args:
        attempt: the attempt at the message that was asked about.
        look: looks at its handler; None: it has not begun.
        worker: the name of its worker.
        now: the time.
    """
    frames: Sequence[StackFrame] = ()
    note: str | None = NOT_BEGUN
    if look is not None:
        try:
            frames, note = look(), NOT_PYTHON
        except TimeoutError:
            note = SILENT
        except Exception as error:  # it inspects the user's objects, which may do anything
            note = f"its worker could not look: {type(error).__name__}"
    return Stack(tuple(frames), attempt.message.attempts, worker, now, None if frames else note)


Look = Callable[[], Sequence[StackFrame]]
"""Returns the frames of a running handler; raises TimeoutError if its process does not answer."""


def places(names: Iterable[str]) -> list[str]:
    """Return the queues with questions about messages of these queues; a queue with a very long name has none."""
    return [name + STACK for name in names if re.fullmatch(QUEUE_NAME, name + STACK)]


def payload_of(stack: Stack) -> Any:
    """Return a stack as a payload."""
    return msgspec.json.decode(msgspec.json.encode(stack))


def stack_of(payload: Any) -> Stack | None:
    """Return the stack that was written as a payload; None: it is a question, or in a form unknown to this version."""
    try:
        return None if payload is None else msgspec.convert(payload, Stack)
    except msgspec.ValidationError:
        return None


def of_thread(ident: int) -> list[StackFrame]:
    """Return the frames of a handler in a thread; if it runs an event loop, including what its task awaits."""
    calls = _calls(sys._current_frames().get(ident))
    for place, (frame, _) in enumerate(calls):
        if frame.f_code is asyncio.BaseEventLoop.run_until_complete.__code__:
            task = frame.f_locals.get("future")
            return _told([*calls[: place + 1], *_of_task(task, calls)] if isinstance(task, asyncio.Task) else calls)
    return _told(calls)


def of_task(task: asyncio.Task[Any], ident: int) -> list[StackFrame]:
    """Return the frames of a handler that runs in a task, as seen from outside the thread of its loop.

    They include what the task awaits: coroutines, other tasks, and a function that runs in a thread (`to_thread`).

    Args:
        task: the task.
        ident: the thread of the loop, in which the handler runs while it does not await.
    """
    return _told(_of_task(task, _calls(sys._current_frames().get(ident))))


def _calls(top: FrameType | None) -> list[tuple[FrameType, int]]:
    """Return the frames of a thread, the outermost first."""
    return [] if top is None else [*walk_stack(top)][::-1]


def _of_task(task: asyncio.Task[Any], running: Sequence[tuple[FrameType, int]]) -> Sequence[tuple[FrameType, int]]:
    """Return the frames of a task: those that its thread is running if they belong to it, else those it awaits."""
    own = getattr(task.get_coro(), "cr_frame", None)
    begin = next((place for place, (frame, _) in enumerate(running) if frame is own), None)
    return list(_awaited(task)) if begin is None else running[begin:]


def _awaited(task: asyncio.Task[Any]) -> Iterator[tuple[FrameType, int]]:
    awaited: Any = task.get_coro()
    frame: FrameType | None = None
    while awaited is not None:
        parts = [getattr(awaited, name, None) for name in ("cr_frame", "gi_frame", "ag_frame")]
        its = next((one for one in parts if isinstance(one, FrameType)), None)
        if its is None:  # no coroutine: an object that has any attribute could be followed forever
            break
        frame = its
        yield its, its.f_lineno
        inner = [getattr(awaited, name, None) for name in ("cr_await", "gi_yieldfrom", "ag_await")]
        awaited = next(filter(None, inner), None)
    waited = getattr(task, "_fut_waiter", None)
    if isinstance(waited, asyncio.Task):
        yield from _awaited(waited)
    elif frame is not None and frame.f_code is asyncio.to_thread.__code__:
        yield from _of_pool(frame.f_locals["func_call"])


def _of_pool(call: Any) -> Iterator[tuple[FrameType, int]]:
    """Yield the frames of a call that runs in a thread of a pool."""
    for top in sys._current_frames().values():
        frames = _calls(top)
        for place, (frame, _) in enumerate(frames):
            if frame.f_code is pool._WorkItem.run.__code__ and _called(frame.f_locals["self"]) is call:
                yield from frames[place + 1 :]


def _called(item: Any) -> Any:
    return item.fn if hasattr(item, "fn") else item.task[0]  # from Python 3.14 on


def _told(frames: Sequence[tuple[FrameType, int]]) -> list[StackFrame]:
    """Return frames, the outermost first, without those of the worker that called the handler."""
    callers = [place for place, (frame, _) in enumerate(frames) if _is_worker(frame)]
    called = frames[callers[-1] + 1 :] if callers else ()
    inner = [*dropwhile(lambda call: _is_layer(call[0]), called)]
    return [
        StackFrame(storable(frame.f_code.co_filename), line or frame.f_code.co_firstlineno, frame.f_code.co_qualname)
        for frame, line in inner[-MOST:]
    ]


def _is_worker(frame: FrameType) -> bool:
    """Return whether this is where a worker, or its child process, calls a handler."""
    return frame.f_code.co_name == "_call_handler" and str(frame.f_globals.get("__name__")).startswith("duerow.")


def _is_layer(frame: FrameType) -> bool:
    """Return whether this is one of duerow's own layers around a handler: how middleware is called, or telemetry."""
    return str(frame.f_globals.get("__name__")).startswith(("duerow.worker.middleware", "duerow.telemetry."))
