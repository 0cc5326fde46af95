"""Handlers in child processes: for CPU-bound work, and for handlers that may have to be killed.

Each slot of a worker has a child process. The child is started with `spawn`, so it shares only the handler's name with
the worker: it imports the handler's module and receives one message (or batch) after another.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final, cast

from duerow.errors import ConfigurationError, HandlerDied, InvalidOutcome, shown
from duerow.settlement import Move, Settlement, failure, mistake
from duerow.worker.stack import StackFrame, of_thread

PATIENCE: Final = 1.0
"""How many seconds a child has to exit, or to answer a question, before the worker stops waiting."""

_SPAWN: Final = multiprocessing.get_context("spawn")
_READY: Final = b"ready"


def pickled(handler: object) -> bytes:
    """Return a handler, pickled so that a child can import it.

    Raises:
        ConfigurationError: it cannot be imported by its name.
    """
    try:
        return pickle.dumps(handler)
    except Exception as error:
        raise ConfigurationError(
            f"processes= takes a handler that another process can import: a function at the top of a module, not "
            f"{shown(handler)} ({error})"
        ) from error


class Child:
    """A process that runs a handler, for one caller at a time.

    Args:
        handler: the handler, pickled.
        name: the name of the process.
    """

    def __init__(self, handler: bytes, name: str) -> None:
        self._handler, self._name = handler, name
        self._process: Any = None
        self._channel: Connection[Any, Any] | None = None
        self._questions: Connection[Any, Any] | None = None
        self._asked = 0
        self._dismissed = False

    @property
    def running(self) -> bool:
        """Whether it has loaded the handler, as far as is known."""
        return self._channel is not None

    def ready(self) -> None:
        """Start the process unless it is running, and wait until it has loaded the handler; no effect after `kill`.

        Raises:
            ConfigurationError: the child cannot load the handler.
        """
        if self._channel is not None or self._dismissed:
            return
        (ours, theirs), (asking, answering) = _SPAWN.Pipe(), _SPAWN.Pipe()
        serving = (theirs, answering, self._handler)
        self._process = _SPAWN.Process(target=_serve, args=serving, name=self._name, daemon=True)
        self._process.start()
        theirs.close()
        answering.close()
        self._questions = asking
        try:
            said = ours.recv_bytes()
        except (EOFError, OSError):
            said = b""
        if said == _READY:
            self._channel = ours
        elif not self._dismissed:
            raise self._unfit(said.decode())

    def call(self, subject: Any) -> Any:
        """Pass a message, or the list of a batch, to the handler; return what it returns, raise what it raises.

        Raises:
            HandlerDied: the process ended before the handler did.
        """
        self.send(subject)
        return self.answer()

    def send(self, subject: Any) -> None:
        """Pass a message, or the list of a batch, to the handler without waiting; raises the errors of `call`."""
        if self._channel is None:
            raise HandlerDied("the handler's process ended before it was given the message")
        try:
            self._channel.send(subject)
        except (EOFError, OSError) as error:
            raise self._died() from error

    def ended(self, seconds: float) -> bool:
        """Wait at most this long for the handler that was sent something; return whether it, or its process, ended."""
        return self._channel is None or self._channel.poll(max(0.0, seconds))

    def answer(self) -> Any:
        """Wait for the handler that was sent something; returns and raises the same as `call`."""
        try:
            if self._channel is None:
                raise EOFError
            answer = self._channel.recv_bytes()
        except (EOFError, OSError) as error:
            raise self._died() from error
        raised, outcome = pickle.loads(answer)  # noqa: S301 - what our own child has written
        if raised:
            raise _restored(outcome)
        return [_restored(one) for one in outcome] if isinstance(outcome, list) else _restored(outcome)

    def frames(self) -> Sequence[StackFrame]:
        """Return the frames of its handler, for one caller at a time; TimeoutError: it does not answer."""
        self._asked += 1
        questions = self._questions  # the thread that waits for the child clears it once the child has ended
        with suppress(EOFError, OSError):  # it has ended
            if questions is not None:
                questions.send(self._asked)
                while questions.poll(PATIENCE):
                    number, frames = questions.recv()
                    if number == self._asked:  # else the answer to an earlier question, which came too late
                        return cast(Sequence[StackFrame], frames)
                raise TimeoutError
        return ()

    def _died(self) -> HandlerDied:
        self._forget()
        return HandlerDied(f"the handler's process {self._how_it_ended()}; how far the handler came is unknown")

    def kill(self) -> None:
        """End it immediately and for good; any thread may call this."""
        self._dismissed = True
        if self._process is not None:
            with suppress(ValueError):  # it was closed
                self._process.kill()

    def close(self) -> None:
        """Let it exit, because it has nothing more to do; kill it if it does not."""
        self._dismissed = True
        self._forget()

    def _forget(self) -> None:
        channel, self._channel = self._channel, None
        questions, self._questions = self._questions, None
        for one in (channel, questions):
            if one is not None:
                one.close()
        if self._process is not None:
            self._process.join(PATIENCE)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()

    def _how_it_ended(self) -> str:
        code = self._process.exitcode
        if code is None or code >= 0:
            return f"exited with code {code}"
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"

    def _unfit(self, said: str) -> ConfigurationError:
        self._forget()
        why = said or (
            f"it {self._how_it_ended()} before it had loaded the handler; a script that runs a worker with processes= "
            "needs `if __name__ == '__main__':` around its main code, because each process imports it again"
        )
        return ConfigurationError(f"the handler cannot run in a child process: {why}")


# In the child.


def _serve(channel: Connection[Any, Any], questions: Connection[Any, Any], handler: bytes) -> None:
    """Load the handler and call it with everything that arrives, until the worker closes the channel."""
    _leave_signals_to_the_worker()
    threading.Thread(target=_end_with_the_worker, daemon=True).start()
    try:
        function = pickle.loads(handler)  # noqa: S301 - what our own parent has written
    except Exception as error:
        channel.send_bytes(f"{type(error).__qualname__}: {error}".encode())
        return
    threading.Thread(target=_show_stacks, args=(questions,), daemon=True).start()
    gc.collect()
    gc.freeze()  # what the handler imported stays, so collections while it runs need not look at it
    channel.send_bytes(_READY)
    while True:
        try:
            subject = channel.recv()
        except EOFError:
            return
        channel.send_bytes(_answer(function, subject))


def _show_stacks(questions: Connection[Any, Any]) -> None:
    """Answer each number with the same number and the frames of the handler, which runs in the main thread."""
    with suppress(EOFError, OSError):  # the worker has closed its end
        while True:
            number = questions.recv()
            questions.send((number, of_thread(threading.main_thread().ident or 0)))


def _leave_signals_to_the_worker() -> None:
    """Ctrl-C and service managers signal all processes of a group; the worker lets handlers end within its grace.

    The signals are caught, not ignored, because a process that the handler starts would inherit ignored ones.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)


def _end_with_the_worker() -> None:
    """Exit if the worker was killed, because nothing can settle this handler's message any longer."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _answer(function: Callable[[Any], Any], subject: Any) -> bytes:
    """Call the handler; return whether it raised, and the outcome, as bytes."""
    try:
        outcome = _call_handler(function, subject)
    except BaseException as error:  # anything that a handler raises is a failed attempt
        return pickle.dumps((True, _Carried.of(error)))
    many = isinstance(subject, list) and isinstance(outcome, list | tuple)
    if not many and (wrong := mistake(outcome)) is not None:
        return _failed(f"the handler returned {wrong}")
    ends = isinstance(outcome, Settlement | BaseException) or (
        isinstance(outcome, list) and any(isinstance(part, Move) for part in outcome)
    )
    if not ends and not isinstance(subject, list):
        return pickle.dumps((False, None))  # the result is ignored, and may be large
    entries = list(outcome) if isinstance(outcome, list | tuple) else outcome
    carried = [_Carried.of(one) for one in entries] if isinstance(entries, list) else _Carried.of(entries)
    try:
        return pickle.dumps((False, carried))
    except Exception as error:
        return _failed(f"the handler returned {shown(outcome)}, which cannot be passed between processes: {error}")


def _call_handler(function: Callable[[Any], Any], subject: Any) -> Any:
    """Call the handler; stacks begin below here."""
    return function(subject)


def _failed(text: str) -> bytes:
    return pickle.dumps((True, _Carried.of(InvalidOutcome(text))))


class _Carried:
    """An exception on its way between processes: itself if it can be pickled, and always the failure to store."""

    def __init__(self, error: bytes, kept: Any) -> None:
        self.error, self.kept = error, kept

    @staticmethod
    def of(outcome: Any) -> Any:
        """Return an exception packed, anything else unchanged."""
        if not isinstance(outcome, BaseException):
            return outcome
        try:
            error = pickle.dumps(outcome)
            pickle.loads(error)  # noqa: S301 - some exceptions can be pickled but not unpickled
        except Exception:
            name = type(outcome).__qualname__
            error = pickle.dumps(InvalidOutcome(f"the handler raised {name}, which cannot be passed between processes"))
        return _Carried(error, failure(outcome))


def _restored(outcome: Any) -> Any:
    if not isinstance(outcome, _Carried):
        return outcome
    error = pickle.loads(outcome.error)  # noqa: S301 - what our own child has written
    error.duerow_failure = outcome.kept
    return error
