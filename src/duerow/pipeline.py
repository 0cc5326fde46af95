"""A pipeline: stations joined by queues of one database; a checked graph, and what each station does to a message.

No I/O here. `duerow.spark` runs a pipeline on Spark, `Pipeline.run` on plain workers; both call `Station.settlement`
for every message.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal

from duerow import typed
from duerow.errors import CodecError, ConfigurationError, InvalidMessage, InvalidOutcome
from duerow.history import keeping
from duerow.message import Message, check_queue_name, check_span
from duerow.retry import DEFAULT, RetryFunction, RetryPolicy, as_policy
from duerow.settlement import Bury, Commit, Move, Retry, Settlement, decide, mistake
from duerow.translation import hops
from duerow.working.shift import is_async, is_generator

if TYPE_CHECKING:
    from duerow.sync.database import Database
    from duerow.sync.queue import Queue

SHORTEST_LEASE: Final = timedelta(milliseconds=1)

StationFunction = Callable[[Message], Any]


class Dropped(Enum):
    """The type of `Drop`."""

    DROP = "drop"

    def __repr__(self) -> str:
        return "Drop"


Drop: Final = Dropped.DROP
"""Returned by a relay's function: the message ends here; a history calls it dropped."""


@dataclass(frozen=True)
class Station(ABC):
    """A queue, and the function that each of its messages is handed to.

    Args:
        name: the station's name and that of its queue.
        function: called with each `Message`; any exception is a failed attempt of that message alone. It may raise or
            return `Retry` and `Bury`.
        retry: the delays between attempts, and their limit; default: at most 20, from 1 s doubling up to 1 h.
        lease: how long a message is reserved. One call of the function must not take longer.
        payload: the declared type of its messages' payloads, as `Database.queue` takes it. What the function returns
            needs no declaration: an object of such a type goes on as that type.
        history: how long its turns are kept, as `Database.queue` takes it; default: they are not.
        remember_keys: how long the keys of messages that left are remembered, likewise.

    Raises:
        ConfigurationError: the name cannot be a queue's, the function cannot be called or is an async one, or the type
            cannot be declared.
    """

    name: str
    function: StationFunction
    _: KW_ONLY
    retry: RetryPolicy | RetryFunction | None = None
    lease: timedelta = timedelta(minutes=1)
    payload: type[Any] | None = None
    history: timedelta | None = None
    remember_keys: timedelta | None = None
    policy: RetryPolicy = field(init=False, repr=False, compare=False)
    """What `retry` stands for."""

    def __post_init__(self) -> None:
        _check_name("a station", self.name)
        if not callable(self.function):
            raise ConfigurationError(f"{self}: its function is {self.function!r:.80}, which cannot be called")
        if is_async(self.function):
            raise ConfigurationError(f"{self}: {self.function!r:.80} is an async function; stations call plain ones")
        if is_generator(self.function):
            raise ConfigurationError(
                f"{self}: {self.function!r:.80} is a generator function, of which a call runs nothing; it returns what "
                "it has to give"
            )
        object.__setattr__(self, "policy", as_policy(self.retry))
        check_span(f"lease of {self}", self.lease, SHORTEST_LEASE)
        keeping(self.history, self.remember_keys)
        if self.payload is not None:
            typed.Declared(self.payload)

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} {self.name!r}"

    @property
    @abstractmethod
    def ways(self) -> Mapping[str, str]:
        """The queues that messages can go to from here, by what the way is called."""

    @property
    def targets(self) -> Iterable[str]:
        """The queues that messages can go to from here."""
        return self.ways.values()

    def queue(self, database: Database) -> Queue:
        """Return the handle of the station's queue, with all that the station declares of it."""
        return database.queue(
            self.name,
            lease=self.lease,
            retry=self.policy,
            payload=self.payload,
            history=self.history,
            remember_keys=self.remember_keys,
        )

    def settlement(self, message: Message, max_hops: int) -> Settlement:
        """Call the function for a message, and return how its turn ends.

        Whatever goes wrong in the function, or is wrong with what it returns, is a failed attempt of this message, for
        which the retry policy decides. A move beyond `max_hops` buries the message.
        """
        try:
            outcome: object = self._outcome(message, self.function(message))
        except (Exception, SystemExit) as error:
            outcome = error
        if type(outcome) is Move and hops(message) >= max_hops:
            outcome = Bury(
                f"{self}, message {message.id}: it was to go on to {outcome.to!r}, but it has moved "
                f"{hops(message)} times already, and its pipeline has max_hops={max_hops}"
            )
        try:
            return decide(message, outcome, self.policy)
        except Exception:  # a policy is the user's code
            return decide(message, outcome, DEFAULT)

    def _outcome(self, message: Message, returned: Any) -> Settlement | Retry:
        if isinstance(returned, Retry | Bury):
            return returned
        if (wrong := mistake(returned)) is not None:
            raise InvalidOutcome(f"{self}, message {message.id}: its function returned {wrong}")
        return self._end(message, returned)

    @abstractmethod
    def _end(self, message: Message, returned: Any) -> Settlement:
        """Return how a turn ends whose function returned this; raise InvalidOutcome if it ends none."""

    def _move(self, message: Message, to: str, payload: Any) -> Move:
        """Return the move, its payload encoded once and for all."""
        try:
            return Move(to, typed.encode(payload))
        except CodecError as error:
            raise self._odd(message, payload, str(error)) from None

    def _odd(self, message: Message, returned: Any, why: str) -> InvalidOutcome:
        return InvalidOutcome(f"{self}, message {message.id}: {why}; its function returned {returned!r:.200}")


@dataclass(frozen=True)
class Relay(Station):
    """One message in, one out: the function returns the new payload, or `Drop`.

    Args:
        name: see Station.
        function: see Station.
        to: the queue to go to.
        null: whether the function may return None as JSON's null; else that is a failed attempt, since it is what a
            function without `return` gives.
        retry: see Station.
        lease: see Station.
        payload: see Station.
        history: see Station.
        remember_keys: see Station.
    """

    to: str
    _: KW_ONLY
    null: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_name(f"the target of {self}", self.to)

    @property
    def ways(self) -> Mapping[str, str]:
        """The one way on."""
        return {"": self.to}

    def _end(self, message: Message, returned: Any) -> Settlement:
        if returned is Drop:
            return _DROPPED
        if returned is None and not self.null:
            raise self._odd(message, None, "return a payload or Drop, or say null=True for JSON's null")
        return self._move(message, self.to, returned)


@dataclass(frozen=True)
class Switch(Station):
    """One message in, out on one of several ways: the function returns `(label, payload)`.

    Args:
        name: see Station.
        function: see Station.
        to: the queue to go to for each label.
        retry: see Station.
        lease: see Station.
        payload: see Station.
        history: see Station.
        remember_keys: see Station.
    """

    to: Mapping[str, str]

    def __post_init__(self) -> None:
        super().__post_init__()
        to: object = self.to
        if not isinstance(to, Mapping) or not to:
            raise ConfigurationError(f"{self}: `to` is {self.to!r:.80}; say which queue each label goes to")
        for label, queue in self.to.items():
            if not isinstance(label, str):
                raise ConfigurationError(f"{self}: a label is text, not {label!r:.80}")
            _check_name(f"the target of {self} for label {label!r}", queue)
        object.__setattr__(self, "to", dict(self.to))

    @property
    def ways(self) -> Mapping[str, str]:
        """A way for each label."""
        return self.to

    def _end(self, message: Message, returned: Any) -> Settlement:
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise self._odd(message, returned, "return (label, payload)")
        label, payload = returned
        if not isinstance(label, str) or label not in self.to:
            known = ", ".join(map(repr, self.to))
            raise self._odd(message, returned, f"{label!r:.80} is none of its labels {known}")
        return self._move(message, self.to[label], payload)


@dataclass(frozen=True)
class Sink(Station):
    """The end of a way: the message is done when the function has returned, whatever it returns."""

    @property
    def ways(self) -> Mapping[str, str]:
        """No way leads on."""
        return {}

    def _end(self, message: Message, returned: Any) -> Settlement:
        return _DONE


@dataclass(frozen=True)
class Pipeline:
    """Stations joined by queues: checked when it is made, the same on Spark and on plain workers.

    Every station that no other one sends to is an entry: push messages into the queue of its name.

    Args:
        name: what it is called.
        stations: all of them, in any order.
        outputs: queues that stations send to and no station reads.
        max_hops: how many queues a message may go through; beyond, it is buried with that reason.

    Raises:
        ConfigurationError: two stations, or a station and an output, have one name; a target is neither; a station
            cannot be reached from an entry; from a station no end can be reached. The message says which.
    """

    name: str
    stations: Sequence[Station]
    outputs: Sequence[str] = ()
    _: KW_ONLY
    max_hops: int = 100

    def __post_init__(self) -> None:
        _check_name("a pipeline", self.name)
        object.__setattr__(self, "stations", _all_stations(self))
        object.__setattr__(self, "outputs", _all_outputs(self))
        if type(self.max_hops) is not int or self.max_hops < 1:
            raise ConfigurationError(f"{self}: max_hops is {self.max_hops!r:.80}; it is an integer of at least 1")
        _check_duplicates(self)
        _check_targets(self)
        _check_reached(self)
        _check_ways_out(self)

    def __str__(self) -> str:
        return f"pipeline {self.name!r}"

    @property
    def queues(self) -> list[str]:
        """The queues of the stations, in the order of the stations."""
        return [station.name for station in self.stations]

    @property
    def entries(self) -> list[str]:
        """The stations that no other one sends to."""
        fed = {target for station in self.stations for target in station.targets if target != station.name}
        return [name for name in self.queues if name not in fed]

    def station(self, name: str) -> Station:
        """Return the station of this name; raise ConfigurationError if there is none."""
        for station in self.stations:
            if station.name == name:
                return station
        raise ConfigurationError(f"{self} has no station {name!r:.120}; it has {', '.join(map(repr, self.queues))}")

    def run(self, database: Database, until: Literal["idle", "empty"] = "idle") -> None:
        """Run the pipeline in this process without Spark, on a plain worker for each station.

        Args:
            database: what `duerow.connect` returned.
            until: "idle" returns when nothing is due in the stations' queues; "empty" when no message with a due time
                is left there, which waits for delayed ones and for those of others.
        """
        from duerow.sync.stations import run  # the only word of I/O: for those who want no Spark

        run(self, database, until)

    def mermaid(self) -> str:
        """Return the graph as Mermaid draws it."""
        names = {name: f"q{place}" for place, name in enumerate([*self.queues, *self.outputs])}
        lines = ["flowchart LR"]
        for station in self.stations:
            opened, closed = _SHAPES[type(station)]
            lines.append(f'    {names[station.name]}{opened}"{station.name}"{closed}')
        lines += [f'    {names[output]}[("{output}")]' for output in self.outputs]
        for station in self.stations:
            for label, target in station.ways.items():
                way = f'-- "{_drawn(label)}" -->' if label else "-->"
                lines.append(f"    {names[station.name]} {way} {names[target]}")
        return "\n".join(lines) + "\n"


_DONE: Final = Commit()
_DROPPED: Final = Commit(dropped=True)

_SHAPES: Final[Mapping[type[Station], tuple[str, str]]] = {Relay: ("[", "]"), Switch: ("{", "}"), Sink: ("([", "])")}


def _drawn(label: str) -> str:
    return label.replace('"', "#quot;").replace("\n", " ")


def _check_name(what: str, name: object) -> None:
    try:
        check_queue_name(name)
    except InvalidMessage as error:
        raise ConfigurationError(f"{what}: {error}") from error


def _all_stations(pipeline: Pipeline) -> tuple[Station, ...]:
    stations = tuple(pipeline.stations)
    if not stations:
        raise ConfigurationError(f"{pipeline} has no stations; give it at least one")
    for station in stations:
        if not isinstance(station, Station):
            raise ConfigurationError(f"{pipeline}: {station!r:.120} is no station; make it a Relay, Switch or Sink")
    return stations


def _all_outputs(pipeline: Pipeline) -> tuple[str, ...]:
    if isinstance(pipeline.outputs, str):
        raise ConfigurationError(f"{pipeline}: outputs is a list of queues; write outputs=[{pipeline.outputs!r}]")
    outputs = tuple(pipeline.outputs)
    for output in outputs:
        _check_name(f"an output of {pipeline}", output)
    return outputs


def _check_duplicates(pipeline: Pipeline) -> None:
    seen: set[str] = set()
    for name in (*pipeline.queues, *pipeline.outputs):
        if name in seen:
            raise ConfigurationError(
                f"{pipeline} has {name!r} twice; a station has a name of its own, and is no output as well"
            )
        seen.add(name)


def _check_targets(pipeline: Pipeline) -> None:
    known = {*pipeline.queues, *pipeline.outputs}
    for station in pipeline.stations:
        for label, target in station.ways.items():
            if target not in known:
                on = f" for label {label!r}" if label else ""
                raise ConfigurationError(
                    f"{pipeline}: {station} sends to the unknown queue {target!r}{on}; add a station of that name, "
                    f"or say outputs=[{target!r}]"
                )


def _check_reached(pipeline: Pipeline) -> None:
    """Refuse what no message can come to: loops that no entry leads into, outputs that nobody sends to."""
    onwards = {station.name: set(station.targets) for station in pipeline.stations}
    reached = _reachable(pipeline.entries, onwards)
    if lost := [name for name in pipeline.queues if name not in reached]:
        raise ConfigurationError(
            f"{pipeline}: no entry leads to {', '.join(map(repr, lost))}; an entry is a station that no other one "
            "sends to, so put one before the loop"
        )
    if lost := [name for name in pipeline.outputs if name not in reached]:
        raise ConfigurationError(f"{pipeline}: no station sends to the output {', '.join(map(repr, lost))}")


def _check_ways_out(pipeline: Pipeline) -> None:
    """Refuse stations whose messages could only go round for ever."""
    ends = [station.name for station in pipeline.stations if not station.ways]
    back: dict[str, set[str]] = {}
    for station in pipeline.stations:
        for target in station.targets:
            back.setdefault(target, set()).add(station.name)
    leaving = _reachable([*ends, *pipeline.outputs], back)
    if caught := [name for name in pipeline.queues if name not in leaving]:
        raise ConfigurationError(
            f"{pipeline}: there is no way out of {', '.join(map(repr, caught))}; lead one to a Sink or an output"
        )


def _reachable(starts: Iterable[str], onwards: Mapping[str, set[str]]) -> set[str]:
    """Return what can be reached from these names, themselves included."""
    reached: set[str] = set()
    coming = list(starts)
    while coming:
        name = coming.pop()
        if name not in reached:
            reached.add(name)
            coming += onwards.get(name, ())
    return reached
