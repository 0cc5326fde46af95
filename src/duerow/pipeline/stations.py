"""The stations of a pipeline: each has a queue and a function, and decides what happens to each message.

There is no I/O here. `duerow.spark` runs a pipeline on Spark, `Pipeline.run` on plain workers; both call
`Station.settlement` for every message.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from enum import Enum
from types import GeneratorType
from typing import Any, ClassVar, Final
from uuid import uuid4

from msgspec.structs import replace

from duerow.errors import CodecError, ConfigurationError, InvalidMessage, InvalidOutcome, shown
from duerow.lineage import CROSSING, made_of
from duerow.message import Draft, Message, Scalar, check_queue_name, check_span
from duerow.payload import types
from duerow.payload.codec import Encoded
from duerow.payload.encoding import Cipher
from duerow.payload.types import Upgrades
from duerow.pipeline.elsewhere import Elsewhere, Target, named
from duerow.pipeline.graph import Node
from duerow.pipeline.host import Queues
from duerow.queue.history import keeping
from duerow.queue.mapping import HOPS, hops
from duerow.retry import DEFAULT, RetryFunction, RetryPolicy, as_policy
from duerow.settlement import DONE, Bury, Commit, Gather, Move, Retry, Settlement, decide, mistake
from duerow.signatures import check_call
from duerow.worker.budget import Rate, check_rate
from duerow.worker.run import is_async, is_generator

SHORTEST: Final = timedelta(milliseconds=1)

StationFunction = Callable[[Any], Any]

DROPPED: Final = Commit(dropped=True)


class Dropped(Enum):
    """The type of `Drop`."""

    DROP = "drop"

    def __repr__(self) -> str:
        return "Drop"


Drop: Final = Dropped.DROP
"""A function returns this to end the message as done, without output."""


@dataclass(frozen=True)
class Station(ABC):
    """A queue, and the function that handles each of its messages.

    Args:
        name: the name of the station and of its queue.
        function: called with each `Message`; any exception counts as a failed attempt at that message alone. It may
            raise or return `Retry` or `Bury`.
        retry: the delays between attempts, and how many attempts are allowed; default: at most 20 attempts, with delays
            doubling from 1 s up to 1 h.
        lease: how long a message is reserved. On Spark, a call to the function must not take longer than that, unless
            `timeout` is longer.
        timeout: how long a call to the function may take; after that, the attempt fails with `TimedOut`. Plain workers
            abandon the call in its thread. On Spark, the function of a station with a timeout is called in a separate
            process, which is killed; if the timeout is longer than the lease, the lease is extended. Default: no limit.
        payload: the declared type of its messages' payloads, as in `Database.queue`. What the function returns needs no
            declaration: an object of a declarable type keeps its type.
        upgrades: functions that convert payloads of older types to that type, as in `Database.queue`.
        rate: the maximum number of messages in any span of time, and the length of that span, such as `(100,
            timedelta(minutes=1))`, in one run of the pipeline; default: no limit.
        history: how long its turns are kept, as in `Database.queue`; default: they are not kept.
        remember_keys: how long the keys of messages that have left the queue are remembered, as in `Database.queue`.

    Raises:
        ConfigurationError: the name is not valid for a queue, the function cannot be called or is async, the rate is
            invalid, or the type cannot be declared.
    """

    name: str
    function: StationFunction
    _: KW_ONLY
    retry: RetryPolicy | RetryFunction | None = None
    lease: timedelta = timedelta(minutes=1)
    timeout: timedelta | None = None
    payload: type[Any] | None = None
    upgrades: Upgrades | None = None
    rate: Rate | None = None
    history: timedelta | None = None
    remember_keys: timedelta | None = None
    iterates: ClassVar[bool] = False
    """Whether the function's result is iterated over, so the function may be a generator."""
    needs_spark: ClassVar[bool] = False
    """Whether the station runs only on Spark."""
    given: ClassVar[str] = "message"
    """What the function is called with."""
    policy: RetryPolicy = field(init=False, repr=False, compare=False)
    """The retry policy, with the default filled in."""
    elsewhere: Mapping[str, Elsewhere | None] = field(init=False, repr=False, compare=False)
    """The targets in other databases, by the names of the queues in which messages wait for them."""

    def __post_init__(self) -> None:
        check_name("a station", self.name)
        object.__setattr__(self, "elsewhere", {})
        if not callable(self.function):
            raise ConfigurationError(f"{self}: its function is {shown(self.function)}, which cannot be called")
        if is_async(self.function):
            raise ConfigurationError(f"{self}: {shown(self.function)} is an async function; stations call plain ones")
        if is_generator(self.function) and not self.iterates:
            raise ConfigurationError(
                f"{self}: {shown(self.function)} is a generator function, so calling it runs nothing; return "
                "the results instead of yielding them"
            )
        check_call(f"the function of {self}", self.function, self.given)
        object.__setattr__(self, "policy", as_policy(self.retry))
        check_span(f"lease of {self}", self.lease, SHORTEST)
        if self.timeout is not None:
            check_span(f"timeout of {self}", self.timeout, SHORTEST)
        keeping(self.history, self.remember_keys)
        try:
            check_rate(self.rate)
        except ConfigurationError as error:
            raise ConfigurationError(f"{self}: {error}") from error
        if self.payload is not None:
            types.Declared(self.payload, self.upgrades)
        elif self.upgrades is not None:
            raise ConfigurationError(f"{self}: upgrades convert payloads to the declared type; declare payload=, too")

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} {self.name!r}"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out databases: a pickled station knows only that a message goes elsewhere, not where."""
        return {**self.__dict__, "elsewhere": dict.fromkeys(self.elsewhere)}

    def _named(self, targets: Mapping[str, object]) -> dict[str, Any]:
        """Return the names of the targets by label, and remember the targets that are in other databases."""
        names, there = named(targets)
        object.__setattr__(self, "elsewhere", there)
        return names

    @property
    @abstractmethod
    def ways(self) -> Mapping[str, str]:
        """The queues that messages can go to from here, by label."""

    @property
    def targets(self) -> Iterable[str]:
        """The queues that messages can go to from here."""
        return self.ways.values()

    @property
    def consumers(self) -> Sequence[Station]:
        """Everything that reads a queue for this station: itself, and for a join also the consumer of its sets."""
        return (self,)

    @property
    def begins_at_most(self) -> Rate | None:
        """How many messages from the station's own queue may be started, and in what span of time."""
        return self.rate

    @property
    def call_timeout(self) -> timedelta | None:
        """How long a call for a message from the station's own queue may take; None: no limit."""
        return self.timeout

    def queue(self, database: Queues) -> Any:
        """Return a handle to the station's queue, with everything that the station declares for it."""
        return database.queue(self.name, **self.declared)

    @property
    def declared(self) -> dict[str, Any]:
        """The station's settings for its queue, as arguments of `Database.queue`."""
        return {
            "lease": self.lease,
            "retry": self.policy,
            "payload": self.payload,
            "upgrades": self.upgrades,
            "history": self.history,
            "remember_keys": self.remember_keys,
        }

    def node(self) -> Node:
        """Return the station as it appears in a drawing."""
        rate = None if self.rate is None else (self.rate[0], self.rate[1].total_seconds())
        named = self.function if hasattr(self.function, "__qualname__") else type(self.function)
        called = f"{named.__module__}.{named.__qualname__}"
        return Node(self.name, type(self).__name__.lower(), dict(self.ways), called, rate)

    def settlement(self, message: Message, max_hops: int, sealing: Cipher | None = None) -> Settlement:
        """Call the function for a message, and return how its turn ends.

        If the function fails, or returns something invalid, that counts as a failed attempt at this message, and the
        retry policy decides. A move or an output beyond `max_hops` buries the message.

        Args:
            message: the message, from the station's queue.
            max_hops: the maximum number of queues that a message may go through.
            sealing: encrypts the payloads of the database; None: they are not encrypted.
        """
        try:
            outcome: object = self.turn(message, sealing)
        except (Exception, SystemExit) as error:
            outcome = error
        return self.concluded(message, outcome, max_hops)

    def concluded(self, message: Message, outcome: object, max_hops: int) -> Settlement:
        """Return how a turn with this outcome ends, given the station's retry policy and `max_hops`."""
        outcome = self._within_hops(message, outcome, max_hops)
        try:
            return decide(message, outcome, self.policy)
        except Exception:  # the policy may be user code
            return decide(message, outcome, DEFAULT)

    def turn(self, message: Message, sealing: Cipher | None) -> Settlement | Retry:
        """Return what the function decides for a message; raise if its result is invalid."""
        returned = self.function(message)
        if isinstance(returned, Retry | Bury):
            return returned
        if (wrong := self._mistake(returned)) is not None:
            raise InvalidOutcome(f"{self}, message {message.id}: its function returned {wrong}")
        return self._end(message, returned)

    def _mistake(self, returned: Any) -> str | None:
        """Return a description of the result if it can only be a mistake; otherwise None."""
        return None if self.iterates and isinstance(returned, GeneratorType) else mistake(returned)

    @abstractmethod
    def _end(self, message: Message, returned: Any) -> Settlement:
        """Return how a turn ends, given the function's result; raise InvalidOutcome if that is invalid."""

    def _within_hops(self, message: Message, outcome: object, max_hops: int) -> object:
        """Return the outcome, or a burial if a message would go through too many queues."""
        if type(outcome) is Move and hops(message) >= max_hops:
            return self._too_far(message, outcome.to, hops(message), max_hops)
        if type(outcome) is Gather and type(outcome.late) is Move:
            return replace(outcome, late=self._within_hops(message, outcome.late, max_hops))
        if type(outcome) is Commit and outcome.then:
            moved = (outcome.then[0].headers or {}).get(HOPS, 0)  # all outputs have the same count
            if isinstance(moved, int) and moved > max_hops:
                return self._too_far(message, str(outcome.then[0].queue), moved - 1, max_hops)
        return outcome

    def _too_far(self, message: Message, to: str, moved: int, max_hops: int) -> Bury:
        return Bury(
            f"{self}, message {message.id}: it cannot move to {to!r}: it has already moved {moved} times, and "
            f"its pipeline has max_hops={max_hops}"
        )

    def _move(self, message: Message, to: str, payload: Any) -> Move:
        """Return the move, with its payload already encoded."""
        return Move(to, self._encoded(message, payload), headers=self._crossing(to) or None)

    def _crossing(self, to: str) -> dict[str, Scalar]:
        """Return the header that a message for another database gets; empty for other messages."""
        return {CROSSING: uuid4().hex} if to in self.elsewhere else {}

    def _output(self, message: Message, to: str, payload: Any) -> Draft:
        """Return a new message that is made from this one."""
        return Draft(
            self._encoded(message, payload),
            headers=_offspring(message) | self._crossing(to),
            queue=to,
            group=message.group,
            priority=message.priority,
        )

    def _encoded(self, message: Message, payload: Any) -> Encoded:
        try:
            return types.encode(payload)
        except CodecError as error:
            raise self._odd(message, payload, str(error)) from None

    def _odd(self, message: Message, returned: Any, why: str) -> InvalidOutcome:
        return InvalidOutcome(f"{self}, message {message.id}: {why}; its function returned {shown(returned, 200)}")


@dataclass(frozen=True)
class OneWay(Station):
    """A station with a single target.

    Attributes:
        to: the queue to which its output goes; for a queue in another database, the queue in which messages wait for
            it.
    """

    to: Target

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "to", self._named({"": self.to})[""])
        check_name(f"the target of {self}", self.to)

    @property
    def ways(self) -> Mapping[str, str]:
        """The only way out."""
        return {"": str(self.to)}


@dataclass(frozen=True)
class Relay(OneWay):
    """One message in, one out: the function returns the new payload, or `Drop`.

    Args:
        name: see Station.
        function: see Station.
        to: the queue to which the message goes.
        null: whether the function may return None to mean JSON's null; otherwise returning None counts as a failed
            attempt, because a function without `return` returns it, too.
        retry: see Station.
        lease: see Station.
        timeout: see Station.
        payload: see Station.
        upgrades: see Station.
        rate: see Station.
        history: see Station.
        remember_keys: see Station.
    """

    _: KW_ONLY
    null: bool = False

    def _end(self, message: Message, returned: Any) -> Settlement:
        if returned is Drop:
            return DROPPED
        if returned is None and not self.null:
            raise self._odd(message, None, "return a payload or Drop, or pass null=True for JSON's null")
        return self._move(message, str(self.to), returned)


@dataclass(frozen=True)
class Switch(Station):
    """One message in, one message out to one of several queues: the function returns `(label, payload)`.

    Args:
        name: see Station.
        function: see Station.
        to: the target queue for each label.
        retry: see Station.
        lease: see Station.
        timeout: see Station.
        payload: see Station.
        upgrades: see Station.
        rate: see Station.
        history: see Station.
        remember_keys: see Station.
    """

    to: Mapping[str, Target]

    def __post_init__(self) -> None:
        super().__post_init__()
        to: object = self.to
        if not isinstance(to, Mapping) or not to:
            raise ConfigurationError(f"{self}: `to` must map labels to queues, not {shown(self.to)}")
        object.__setattr__(self, "to", self._named(self.to))
        for label, queue in self.to.items():
            if not isinstance(label, str):
                raise ConfigurationError(f"{self}: a label must be text, not {shown(label)}")
            check_name(f"the target of {self} for label {label!r}", queue)

    @property
    def ways(self) -> Mapping[str, str]:
        """A way for each label."""
        return {label: str(queue) for label, queue in self.to.items()}

    def _end(self, message: Message, returned: Any) -> Settlement:
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise self._odd(message, returned, "return (label, payload)")
        label, payload = returned
        if not isinstance(label, str) or label not in self.to:
            known = ", ".join(map(repr, self.to))
            raise self._odd(message, returned, f"{shown(label)} is not one of its labels {known}")
        return self._move(message, str(self.to[label]), payload)


@dataclass(frozen=True)
class Fork(Station):
    """One message in, a new message out to each of one or more queues: the function returns `{queue: payload}`.

    One transaction ends the message as done and pushes its outputs. The outputs have new ids, no key, the header
    `parent` with the id of the message, and the message's other headers, its group and its priority.

    Args:
        name: see Station.
        function: see Station.
        to: the queues that the function may name. It names a queue in another database by the queue in which messages
            wait for it.
        retry: see Station.
        lease: see Station.
        timeout: see Station.
        payload: see Station.
        upgrades: see Station.
        rate: see Station.
        history: see Station.
        remember_keys: see Station.
    """

    to: Sequence[Target]

    def __post_init__(self) -> None:
        super().__post_init__()
        to: object = self.to
        if isinstance(to, str | Mapping) or not isinstance(to, Iterable) or not (queues := tuple(to)):
            raise ConfigurationError(f"{self}: `to` must be a list of queues, not {shown(self.to)}")
        queues = tuple(self._named({str(place): queue for place, queue in enumerate(queues)}).values())
        for queue in queues:
            check_name(f"a target of {self}", queue)
        if len(set(queues)) < len(queues):
            raise ConfigurationError(f"{self}: `to` names a queue twice: {', '.join(map(repr, queues))}")
        object.__setattr__(self, "to", queues)

    @property
    def ways(self) -> Mapping[str, str]:
        """A way to each queue, labeled with its name."""
        return {str(queue): str(queue) for queue in self.to}

    def _end(self, message: Message, returned: Any) -> Settlement:
        if not isinstance(returned, Mapping) or not returned:
            raise self._odd(message, returned, "return {queue: payload} with at least one queue")
        for queue in returned:
            if queue not in self.to:
                known = ", ".join(map(repr, self.to))
                raise self._odd(message, returned, f"{shown(queue)} is not one of its queues {known}")
        return Commit(then=tuple(self._output(message, queue, payload) for queue, payload in returned.items()))


@dataclass(frozen=True)
class Split(OneWay):
    """One message in, any number of new messages out to one queue; returning none is the same as `Drop`.

    The function returns an iterable of payloads, or of `Draft`s with their own key, due time, group or priority. One
    transaction ends the message as done and pushes its outputs. The outputs have new ids, the header `parent` with the
    id of the message, the message's other headers, and no key unless their draft gives one. If a live message in the
    queue already has that key, it stays as it is, as with any push.

    Args:
        name: see Station.
        function: see Station.
        to: the queue to which the outputs go.
        retry: see Station.
        lease: see Station.
        timeout: see Station.
        payload: see Station.
        upgrades: see Station.
        rate: see Station.
        history: see Station.
        remember_keys: see Station.
    """

    iterates: ClassVar[bool] = True

    def _end(self, message: Message, returned: Any) -> Settlement:
        if returned is Drop:
            return DROPPED
        if isinstance(returned, str | bytes | Mapping) or not isinstance(returned, Iterable):
            raise self._odd(message, returned, "return an iterable of payloads or Drafts, which may be empty")
        parts = tuple(self._part(message, part) for part in returned)
        return Commit(then=parts) if parts else DROPPED

    def _part(self, message: Message, part: Any) -> Draft:
        to = str(self.to)
        if not isinstance(part, Draft):
            return self._output(message, to, part)
        if part.queue not in (None, to):
            raise self._odd(message, part, f"it sends only to {to!r}")
        headers = {**_offspring(message), **(part.headers or {}), **self._crossing(to)}
        return replace(part, payload=self._encoded(message, part.payload), headers=headers, queue=to)


@dataclass(frozen=True)
class Sink(Station):
    """The end of a route: the message is done when the function returns, whatever it returns."""

    @property
    def ways(self) -> Mapping[str, str]:
        """Empty: messages go no further."""
        return {}

    def _end(self, message: Message, returned: Any) -> Settlement:
        return DONE


def _offspring(message: Message) -> dict[str, Scalar]:
    """Return the headers of a message that is made from this one."""
    return made_of(message.id, message.headers) | {HOPS: hops(message) + 1}


def check_name(what: str, name: object) -> None:
    """Raise a ConfigurationError that names `what` unless this is a valid queue name."""
    try:
        check_queue_name(name)
    except InvalidMessage as error:
        raise ConfigurationError(f"{what}: {error}") from error
