"""The ways a turn can end, as values; and `decide`, which turns a handler's outcome into one of them."""

from __future__ import annotations

import os.path
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, Final, TypedDict, TypeGuard

import msgspec
from msgspec import UNSET

from duerow.errors import CodecError, ConfigurationError, InvalidOutcome, shown
from duerow.lineage import made_of
from duerow.message import Draft, Failure, Message, OnDuplicate, Scalar, check_span
from duerow.retry import RetryPolicy

MAX_TRACEBACK: Final = 8_000
"""How many characters of a traceback are kept, counted from its end, where the error is."""

MAX_FAILURE: Final = 4_000
"""How many characters of a cause chain are kept."""


class Commit(msgspec.Struct, frozen=True, gc=False):
    """The message is done and leaves the queue.

    Args:
        payload: the payload to keep in the queue's history; UNSET: the payload that was pushed.
        then: messages to push in the same transaction; each names its `queue`.
        dropped: whether the history records the message as dropped instead of done.
        log: the handler's log for the history: its last 8,000 characters are kept, if the queue keeps a history.
    """

    payload: Any = UNSET
    then: tuple[Draft, ...] = ()
    dropped: bool = False
    log: str | None = None


DONE: Final = Commit()
"""The most frequent settlement: one value shared by every message that is simply done."""


class Rollback(msgspec.Struct, frozen=True):
    """The attempt failed; the message is due again after a delay.

    Args:
        delay: how long until it is due; None: the retry policy decides, and may give up.
        error: why it failed, as an exception, a `Failure` or text.
    """

    delay: timedelta | None = None
    error: BaseException | Failure | str | None = None


class Release(msgspec.Struct, frozen=True, gc=False):
    """The message was not started: its due time, place in the queue and attempts are restored."""


class Move(msgspec.Struct, frozen=True, gc=False):
    """The message moves to another queue, in the same write that ends this turn.

    Args:
        to: the queue to go to.
        payload: the new payload; UNSET: unchanged; None: JSON null.
        patch: a JSON merge patch to apply to the payload, instead of `payload`.
        key: the new key; UNSET: unchanged; None: no key.
        headers: merged into its existing headers; a value of None removes that header.
        due: when it is due there; give at most one of `due` and `delay`. Default: at once.
        delay: how long from now until it is due there.
        on_duplicate: what to do if a live message in the target queue has the key: "reject" (default) refuses this
            move; the other modes work as they do for `push`.
        group: the new group; UNSET: unchanged; None: no group.
        priority: the new priority; UNSET: unchanged.
        then: messages to push in the same transaction; each names its `queue`.
        log: as for `Commit`, for the history of the queue that it leaves.
    """

    to: str
    payload: Any = UNSET
    patch: Any = UNSET
    key: Any = UNSET
    headers: Mapping[str, Scalar | None] | None = None
    due: datetime | None = None
    delay: timedelta | None = None
    on_duplicate: OnDuplicate = "reject"
    group: Any = UNSET
    priority: Any = UNSET
    then: tuple[Draft, ...] = ()
    log: str | None = None


class MoveOptions(TypedDict, total=False):
    """The keyword arguments of a move; see `Move`."""

    patch: Any
    key: str | None
    headers: Mapping[str, Scalar | None] | None
    due: datetime | None
    delay: timedelta | None
    on_duplicate: OnDuplicate
    group: str | None
    priority: int


class Bury(Exception):
    """Give up on the message: it becomes dead and is kept for inspection. A handler may return or raise it.

    Args:
        reason: why, as text, a `Failure` or an exception.
        then: messages to push in the same transaction; each names its `queue`.
    """

    def __init__(self, reason: str | Failure | BaseException, then: tuple[Draft, ...] = ()) -> None:
        self.reason, self.then = reason, tuple(then)
        super().__init__(reason, *((self.then,) if self.then else ()))

    def __str__(self) -> str:
        return str(self.reason)


class Retry(Exception):
    """Try again after a delay that the handler chooses. A handler may return or raise it.

    Args:
        after: how long until the next attempt.
        counts: whether the policy's limit applies: once the attempts are used up, the message is buried.
    """

    def __init__(self, after: timedelta, counts: bool = True) -> None:
        self.after, self.counts = check_span("after", after), counts
        super().__init__(after, counts)

    def __str__(self) -> str:
        return f"the handler asked for a retry after {self.after}"


class Gather(msgspec.Struct, frozen=True):
    """The message becomes a part of a set that a join waits for; the settlement of `duerow.Join`.

    Args:
        sets: the queue that holds the join's sets.
        correlation: the value that identifies the set, as text.
        within: how long after its first part a set is merged, even if it is incomplete.
        limit: the maximum number of parts in a set.
        full: how the turn ends if the set has reached the limit and is not complete.
        count: the number of parts that makes a set complete.
        complete: a function of the parts, oldest id first, that returns whether the set is complete.
        late: how the turn ends if its set was completed earlier; None: a new set begins.
        remember: how long a completed set is remembered, if `late` is given.
    """

    sets: str
    correlation: str
    within: timedelta
    limit: int
    full: Bury
    count: int | None = None
    complete: Callable[[list[Message]], bool] | None = None
    late: Commit | Move | Bury | None = None
    remember: timedelta = timedelta(0)


class Close(msgspec.Struct, frozen=True, gc=False):
    """The set that this message stands for has waited long enough: it is closed with the parts that have arrived.

    Args:
        correlation: the value that identifies the set.
        remember: how long the closed set is remembered; None: the next part begins a new set.
    """

    correlation: str
    remember: timedelta | None


class Left(msgspec.Struct, frozen=True, gc=False):
    """Nothing is written: the row of an entity queue is gone, or somebody else has changed its state."""


LEFT: Final = Left()
"""The only instance of `Left`."""


Settlement = Commit | Rollback | Release | Move | Bury | Gather | Close | Left
"""All the ways in which a turn can end."""


def decide(message: Message, outcome: object, policy: RetryPolicy) -> Settlement:
    """Return how a turn ends. This is the only place that decides this, for workers, stations and `reserving()` alike.

    Args:
        message: the message of the turn; its `attempts` include this attempt.
        outcome: what the handler returned, or the exception that it raised.
        policy: the queue's retry policy.

    A returned settlement is used as it is. A list of `Move`s sends a new message to each target and ends this one. A
    return value that can only be a mistake counts as a failed attempt; any other return value is ignored. `Retry` and
    `Bury` take effect whether returned or raised. Any other exception is a failed attempt: the policy gives a delay, or
    None to bury the message.
    """
    if isinstance(outcome, Retry):
        used_up = outcome.counts and policy.limit is not None and message.attempts >= policy.limit
        return Bury(outcome) if used_up else Rollback(outcome.after, outcome)
    if isinstance(outcome, Rollback) and outcome.delay is None:
        return _failed(message, outcome.error, policy)
    if isinstance(outcome, Settlement):
        return outcome
    if isinstance(outcome, BaseException):
        return _failed(message, outcome, policy)
    if _are_moves(outcome):
        return _spread(message, outcome, policy)
    wrong = None if outcome is None else mistake(outcome)
    if wrong is not None:
        return _failed(message, InvalidOutcome(f"message {message.id}: the handler returned {wrong}"), policy)
    return Commit()


_INNOCENT: Final = frozenset((dict, str, int, float, bool, bytes, type(None)))
"""The types of most return values, none of which can be a mistake."""


def mistake(outcome: object) -> str | None:
    """Return what is wrong with the return value of a handler or station, or None if it may be intended.

    A mistake is a value whose code has not run yet, or one that contains settlements where they would be ignored.
    """
    if type(outcome) in _INNOCENT:
        return None
    if isinstance(outcome, CoroutineType):
        outcome.close()  # otherwise Python warns about it
        return "a coroutine, which is never awaited; give async functions to duerow.aio.Worker"
    if isinstance(outcome, GeneratorType | AsyncGeneratorType):
        return "a generator, so none of it has run; return the outcome instead of yielding it"
    if isinstance(outcome, type) and issubclass(outcome, BaseException | Settlement):
        return f"the class {outcome.__name__}, which cannot end a turn; return an instance of it"
    if isinstance(outcome, list | tuple) and not _are_moves(outcome):
        for part in outcome:
            if isinstance(part, Settlement | Retry):
                return f"a {type(outcome).__name__} with {shown(part)} in it; return one settlement, or a list of Moves"
    return None


def _are_moves(outcome: object) -> TypeGuard[list[object]]:
    """Return whether the outcome is a list of moves, or is meant to be one."""
    return isinstance(outcome, list) and any(isinstance(part, Move) for part in outcome)


def failure(error: BaseException | Failure | str | None) -> Failure | None:
    """Return an error as a value that can be stored: its type, the whole cause chain and the end of its traceback."""
    if error is None or isinstance(error, Failure):
        return error
    if isinstance(error, str):
        return Failure("Error", error[:MAX_FAILURE])
    if not isinstance(error, BaseException):
        raise InvalidOutcome(
            f"the error of a failed message must be an exception, a Failure or text, not {type(error).__name__}"
        )
    if isinstance(kept := getattr(error, "duerow_failure", None), Failure):
        return kept  # the error comes from another process, which had its traceback
    if isinstance(error, Bury):
        inner = failure(error.reason)
        return inner if not isinstance(error.reason, str) or inner is None else Failure("Bury", inner.message)
    chain = " <- ".join(_describe(link) for link in _causes(error))
    text = "".join(traceback.format_exception(error)) if error.__traceback__ else None
    return Failure(type(error).__qualname__, chain[:MAX_FAILURE], text and text[-MAX_TRACEBACK:])


def outline(error: BaseException | Failure | str | None) -> Failure | None:
    """Return the parts of an error that cannot quote a payload: the types of its causes, and where it was raised."""
    if error is None or isinstance(error, str):
        return None if error is None else Failure("Error", "Error")
    if isinstance(kept := getattr(error, "duerow_failure", None), Failure):
        error = kept
    if isinstance(error, Failure):
        return Failure(error.type, error.type)
    if isinstance(error, Bury):
        inner = None if isinstance(error.reason, str) else outline(error.reason)
        return Failure("Bury", f"Bury{_place(error)}") if inner is None else inner
    if isinstance(error, CodecError) and not error.quotes:
        return Failure(type(error).__qualname__, f"{type(error).__qualname__}: {error}")
    chain = " <- ".join(type(link).__qualname__ for link in _causes(error))
    return Failure(type(error).__qualname__, f"{chain}{_place(error)}"[:MAX_FAILURE])


def _place(error: BaseException) -> str:
    """Return where an error was raised, as text to append; empty if it was not raised."""
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    return f" in {frames[0].name} ({os.path.basename(frames[0].filename)}:{frames[0].lineno})" if frames else ""


def _failed(message: Message, error: BaseException | Failure | str | None, policy: RetryPolicy) -> Settlement:
    delay = policy(message.attempts, message.last_attempt_at, error if isinstance(error, BaseException) else None)
    if delay is None:
        return Bury(error if error is not None else f"attempt {message.attempts} failed, and the policy allows no more")
    if not isinstance(delay, timedelta):
        raise ConfigurationError(
            f"a retry policy must return a timedelta or None, not {shown(delay)}: {shown(policy, 120)}"
        )
    return Rollback(max(delay, timedelta(0)), error)


def _spread(message: Message, parts: Sequence[object], policy: RetryPolicy) -> Settlement:
    """Send one message to several queues: each gets a new message that names its parent; this one ends as done."""
    drafts = []
    for move in parts:
        if not isinstance(move, Move):
            odd = InvalidOutcome(
                f"message {message.id}: a list of Moves contains {shown(move, 120)}; return only Moves"
            )
            return _failed(message, odd, policy)
        payload = message.payload if move.payload is UNSET else move.payload
        headers = made_of(message.id, merged(message.headers, move.headers))
        key = None if move.key is UNSET else move.key
        group = message.group if move.group is UNSET else move.group
        priority = message.priority if move.priority is UNSET else move.priority
        drafts.append(Draft(payload, key, move.due, move.delay, headers, move.to, group, priority))
    return Commit(then=tuple(drafts))


def merged(headers: Mapping[str, Scalar], changes: Mapping[str, Scalar | None] | None) -> dict[str, Scalar]:
    """Return headers with changes applied; a value of None removes a header."""
    if changes is not None and not isinstance(changes, Mapping):
        raise CodecError(f"headers must be a mapping of names to scalars, not {type(changes).__name__}")
    together = {**headers, **(changes or {})}
    return {name: value for name, value in together.items() if value is not None}


def _causes(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return chain


def _describe(error: BaseException) -> str:
    text = getattr(error, "detail", None) or str(error)
    return f"{type(error).__qualname__}: {text}" if text else type(error).__qualname__
