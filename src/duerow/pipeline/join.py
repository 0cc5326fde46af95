"""The station that makes one message from many: it gathers parts into sets, and merges each complete set.

A join has two consumers. The consumer of its own queue adds each message to a set (`duerow.settlement.Gather`). The
consumer of the sets' queue receives each set as one message. A set that is due before it is complete is closed with the
parts that have arrived. For a complete set, the user's function makes one message from the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, Final

import msgspec

from duerow import where
from duerow.conditions.fields import Path, path_text
from duerow.errors import ConfigurationError, InvalidCondition, InvalidOutcome, shown
from duerow.lineage import joined
from duerow.message import Draft, Message, Scalar, check_span
from duerow.payload.encoding import SETS, Cipher, Payloads
from duerow.payload.types import Declared
from duerow.pipeline.elsewhere import Target
from duerow.pipeline.graph import Node
from duerow.pipeline.stations import DROPPED, Drop, Station, check_name
from duerow.queue.mapping import HOPS, hops
from duerow.settlement import DONE, Bury, Close, Commit, Gather, Move, Retry, Settlement
from duerow.signatures import check_call
from duerow.store.join_sets import CORRELATION, messages_of
from duerow.worker.budget import Rate
from duerow.worker.run import is_async

LIMIT: Final = 10_000
WITHIN: Final = timedelta(hours=1)
REMEMBER: Final = timedelta(days=1)

_SHORTEST: Final = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Join(Station):
    """Many messages in, one message out: the function receives a list of all messages of a set, oldest id first.

    Messages with the same correlation form a set. It is complete when it has `count` parts, when `complete` returns
    true, or when its first part has waited for `within`; in that case it consists of the parts that have arrived so
    far. A part is done when it joins a set. For each complete set the function makes one new message. The new message
    has the headers, the group and the priority that all parts agree on, and three more headers: `parent` (the ids of up
    to 100 parts), `parents` (their number), and `set` (the id of the set's message). If the function fails, it is
    called again with the same parts, according to the retry policy.

    Sets are messages in the queue "<name>/sets", where they can be inspected.

    Args:
        name: see Station.
        function: makes a payload from the list of messages, or returns `Drop`.
        to: the queue to which the new message goes.
        by: what the messages of a set have in common: a field such as "payload.order", or a function of a message that
            returns text, a number or a boolean.
        count: how many parts complete a set.
        complete: a function that takes the list of parts and returns whether the set is complete; called for each new
            part, in the transaction that adds it, so it should be quick. It must not change the parts, because it gets
            them again. Give at most one of `count` and `complete`; with neither, sets are completed by age alone.
        within: how long after its first part a set is merged, with only the parts that have arrived, even if `count` is
            given; default: an hour.
        limit: the maximum number of parts in a set; any further part is buried with that reason.
        late: what happens to a part whose set is already complete: "new" begins another set, "drop" ends the part as
            done, and the name of a queue moves it there. By default it is buried with that reason.
        remember: how long a complete set is remembered; after that, a part begins another set. Has no effect with
            "new".
        null: whether the function may return None to mean JSON's null.
        retry: see Station.
        lease: see Station.
        timeout: how long a call to the function may take; see Station. It does not limit `by` or `complete`.
        payload: see Station.
        upgrades: see Station.
        rate: the maximum number of sets merged in any span of time; see Station.
        history: how long the turns of parts and of complete sets are kept; see Station.
        remember_keys: see Station.

    Raises:
        ConfigurationError: as for Station; or `by`, `count`, `complete`, `limit` or `late` is invalid.
    """

    given: ClassVar[str] = "messages"
    to: Target
    _: KW_ONLY
    by: str | where.Field | Callable[[Message], Any]
    count: int | None = None
    complete: Callable[[list[Message]], Any] | None = None
    within: timedelta = WITHIN
    limit: int = LIMIT
    late: str | None = None
    remember: timedelta = REMEMBER
    null: bool = False
    path: Path | None = field(init=False, repr=False, compare=False)
    """The field that `by` names; None if it is a function."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "to", self._named({"": self.to})[""])
        check_name(f"the target of {self}", self.to)
        check_name(f"the queue of the sets of {self}", self.sets)
        if self.late not in (None, "new", "drop"):
            check_name(f"`late` of {self}", self.late)
        object.__setattr__(self, "path", self._read_by())
        self._check_completion()
        check_span(f"within of {self}", self.within, _SHORTEST)
        check_span(f"remember of {self}", self.remember, _SHORTEST)

    def _read_by(self) -> Path | None:
        by: object = self.by
        if isinstance(by, str | where.Field):
            try:
                return where.as_path(by)
            except InvalidCondition as error:
                raise ConfigurationError(
                    f"{self}: `by` must name a field that the messages of a set share: {error}"
                ) from error
        if not callable(by) or is_async(by):
            raise ConfigurationError(
                f"{self}: by must be a field such as 'payload.order', or a plain function of a message, not {shown(by)}"
            )
        check_call(f"{self}: by", by, "message")
        return None

    def _check_completion(self) -> None:
        if self.count is not None and self.complete is not None:
            raise ConfigurationError(
                f"{self}: give count or complete, not both; the function can count the parts itself"
            )
        if type(self.limit) is not int or self.limit < 1:
            raise ConfigurationError(f"{self}: limit must be an integer of at least 1, not {shown(self.limit)}")
        if self.count is not None and (type(self.count) is not int or not 1 <= self.count <= self.limit):
            raise ConfigurationError(
                f"{self}: count must be an integer from 1 to the limit of {self.limit} parts, not {shown(self.count)}"
            )
        complete: object = self.complete
        if complete is not None and (not callable(complete) or is_async(complete)):
            raise ConfigurationError(f"{self}: complete must be a plain function of the parts, not {shown(complete)}")
        if complete is not None:
            check_call(f"{self}: complete", complete, "parts")

    @property
    def sets(self) -> str:
        """The name of the queue that holds the sets."""
        return f"{self.name}{SETS}"

    @property
    def ways(self) -> Mapping[str, str]:
        """The queue that new messages go to, and the one that late parts go to, if any."""
        late = {} if self.late in (None, "new", "drop") else {"late": str(self.late)}
        return {"": str(self.to), **late}

    @property
    def consumers(self) -> Sequence[Station]:
        """The consumer that gathers the parts, and the one that merges the sets."""
        merging = Merging(
            self.sets,
            self.function,
            retry=self.policy,
            lease=self.lease,
            timeout=self.timeout,
            rate=self.rate,
            history=self.history,
            join=self,
        )
        return (self, merging)

    @property
    def begins_at_most(self) -> Rate | None:
        """No limit for parts: the rate applies to sets."""
        return None

    @property
    def call_timeout(self) -> timedelta | None:
        """No limit for parts: the function is called for sets."""
        return None

    @property
    def remembers(self) -> timedelta | None:
        """How long a complete set is remembered; None if that is not needed."""
        return None if self.late == "new" else self.remember

    def node(self) -> Node:
        """Return the station as it appears in a drawing."""
        by = f"by {path_text(self.path)}" if self.path else "by a function"
        whole = "" if self.complete is None else ", complete by a predicate"
        whole = whole if self.count is None else f", {self.count} parts"
        return msgspec.structs.replace(super().node(), note=f"{by}{whole}, within {self.within}")

    def turn(self, message: Message, sealing: Cipher | None) -> Settlement | Retry:
        """Return the settlement that adds the message to a set; the function is not called."""
        correlation = self._correlation(message)
        return Gather(
            self.sets,
            correlation,
            self.within,
            self.limit,
            Bury(
                f"{self}, message {message.id}: the set {correlation!r} has reached limit={self.limit} parts and is "
                "not complete"
            ),
            self.count,
            self.complete,
            self._late(message, correlation),
            self.remember,
        )

    def _end(self, message: Message, returned: Any) -> Settlement:
        raise AssertionError("a part of a set is settled by turn()")

    def _late(self, message: Message, correlation: str) -> Commit | Move | Bury | None:
        if self.late == "new":
            return None
        if self.late == "drop":
            return DROPPED
        if self.late is not None:
            return Move(self.late)
        return Bury(f"{self}, message {message.id}: it is late: the set {correlation!r} was already complete")

    def _correlation(self, message: Message) -> str:
        """Return what the messages of a set have in common, as text."""
        if self.path is not None:
            value, named = _at(message, self.path), path_text(self.path)
        else:
            assert callable(self.by)  # noqa: S101 - or there would be a path
            value, named = self.by(message), f"by={getattr(self.by, '__name__', 'a function')}"
        text = _as_text(value)
        if text is None:
            raise InvalidOutcome(
                f"{self}, message {message.id}: {named} must be text, a finite number or a boolean to identify a set, "
                f"not {shown(value)}"
            )
        return text


@dataclass(frozen=True)
class Merging(Station):
    """Handles the sets of a join, each as a message; it is not a separate station."""

    _: KW_ONLY
    join: Join

    def __str__(self) -> str:
        return str(self.join)

    @property
    def ways(self) -> Mapping[str, str]:
        """The only way out."""
        return {"": str(self.join.to)}

    def turn(self, message: Message, sealing: Cipher | None) -> Settlement | Retry:
        """Close a set that is due, or make one message from the parts of a complete set."""
        parts = messages_of(message.payload, Payloads(self.join.name, self._declared, sealing))
        if parts is None:
            return Close(message.payload[CORRELATION], self.join.remembers)
        if not parts:  # somebody removed the parts
            return DONE
        returned = self.function(parts)
        if isinstance(returned, Retry | Bury):
            return returned
        if (wrong := self._mistake(returned)) is not None:
            raise InvalidOutcome(f"{self}, set {message.id}: its function returned {wrong}")
        return self._merged(message, parts, returned)

    @cached_property
    def _declared(self) -> Declared[Any] | None:
        of: Any = self.join.payload
        return None if of is None else Declared(of, self.join.upgrades)

    def _end(self, message: Message, returned: Any) -> Settlement:
        raise AssertionError("a set ends together with its parts")

    def _merged(self, message: Message, parts: Sequence[Message], returned: Any) -> Commit:
        if returned is Drop:
            return DROPPED
        if returned is None and not self.join.null:
            raise self._odd(message, None, "return a payload or Drop, or pass null=True for JSON's null")
        merged = Draft(
            self._encoded(message, returned),
            headers=_of_all(message.id, parts) | self.join._crossing(str(self.join.to)),
            queue=str(self.join.to),
            group=_agreed([part.group for part in parts]),
            priority=_agreed([part.priority for part in parts]) or 0,
        )
        return Commit(then=(merged,))

    def _odd(self, message: Message, returned: Any, why: str) -> InvalidOutcome:
        correlation = message.payload[CORRELATION]
        return InvalidOutcome(
            f"{self}, set {shown(correlation)} (message {message.id}): {why}; its function returned "
            f"{shown(returned, 200)}"
        )


def _of_all(set_id: int, parts: Sequence[Message]) -> dict[str, Scalar]:
    """Return the headers that all parts agree on, plus those that name the parts and the set's message."""
    first = parts[0].headers
    shared = {
        name: value
        for name, value in first.items()
        if all(type(part.headers.get(name)) is type(value) and part.headers[name] == value for part in parts)
    }
    return {**shared, **joined(set_id, [part.id for part in parts]), HOPS: max(map(hops, parts)) + 1}


def _agreed(values: Sequence[Any]) -> Any:
    """Return the value if all are equal; None if they differ."""
    return values[0] if all(value == values[0] for value in values) else None


def _at(message: Message, path: Path) -> Any:
    """Return the value at a path in a message, fields of declared types included; None if there is none."""
    root, *names = path
    value = getattr(message, root)
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return value


def _as_text(value: Any) -> str | None:
    """Return different text for different values: text stays as it is, unless it looks like another value."""
    if isinstance(value, str) and value and not value[0].isdigit() and value[0] not in '-"' and value not in _WORDS:
        return value
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)  # JSON does not distinguish 1 from 1.0, and some programs write the latter
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        return None
    return None if text[0] in "[{n" else text


_WORDS: Final = ("true", "false", "null")

_EXACT: Final = 1 << 53
"""Below this, a float represents every integer exactly."""
