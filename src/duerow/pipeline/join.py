"""The station that makes one message of many: parts are gathered to sets, and a whole set is merged.

A join is two consumers. That of its own queue makes each message a part of a set (`duerow.settlement.Gather`). That of
the queue of its sets is handed each set as one message: when it is due and not whole it is closed with the parts that
have come, and when it is whole the user's function makes one message of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import lru_cache
from math import isfinite
from typing import Any, ClassVar, Final

import msgspec

from duerow import where
from duerow.errors import ConfigurationError, InvalidCondition, InvalidOutcome
from duerow.lineage import joined
from duerow.message import Draft, Message, Scalar, check_span
from duerow.payload.encoding import SETS, Payloads, Sealing
from duerow.payload.types import Declared
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
    """Many messages in, one out: the function is handed the list of all messages of a set, oldest id first.

    Messages with the same correlation are one set. It is complete with `count` parts, when `complete` says so, or when
    its first part has waited for `within`: then with what has come. A part ends as done when it is part of a set. Once
    for each set that is complete the function makes one new message, with the headers, the group and the priority that
    all parts agree on, the header `parent` with the ids of up to 100 of them, `parents`, their number, and `set`, the
    id of the message of its set. If it fails, it is tried again with the same parts, as the retry policy says.

    Sets stand as messages in the queue "<name>/sets", where they can be looked at.

    Args:
        name: see Station.
        function: makes a payload of the list of messages, or returns `Drop`.
        to: the queue to go to.
        by: what messages of one set have in common: a field such as "payload.order", or a function of a message that
            returns text, a number or a boolean.
        count: so many parts are a set.
        complete: a function of the list of parts that says whether they are a set; called whenever one comes, in the
            transaction that takes it in, so it should be quick. At most one of `count` and `complete`; neither: sets
            are complete by age alone.
        within: how long after its first part a set is merged with what has come, also with `count`; default: an hour.
        limit: parts of a set at most; the next one is buried with that reason.
        late: what becomes of a part whose set was complete before: "new" begins another set, "drop" ends it as done, a
            queue's name moves it there. Default: it is buried with that reason.
        remember: for how long it is known that a set was complete; a later part begins another one. Without meaning
            for "new".
        null: whether the function may return None as JSON's null.
        retry: see Station.
        lease: see Station.
        payload: see Station.
        rate: at most so many sets merged in any span; see Station.
        history: how long the turns of parts and of whole sets are kept; see Station.
        remember_keys: see Station.

    Raises:
        ConfigurationError: as for Station; or `by`, `count`, `complete`, `limit` or `late` cannot be.
    """

    given: ClassVar[str] = "messages"
    to: str
    _: KW_ONLY
    by: str | where.Field | Callable[[Message], Any]
    count: int | None = None
    complete: Callable[[list[Message]], Any] | None = None
    within: timedelta = WITHIN
    limit: int = LIMIT
    late: str | None = None
    remember: timedelta = REMEMBER
    null: bool = False
    path: where.Path | None = field(init=False, repr=False, compare=False)
    """The field that `by` names; None if it is a function."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(f"the target of {self}", self.to)
        check_name(f"the queue of the sets of {self}", self.sets)
        if self.late not in (None, "new", "drop"):
            check_name(f"`late` of {self}", self.late)
        object.__setattr__(self, "path", self._read_by())
        self._check_completion()
        check_span(f"within of {self}", self.within, _SHORTEST)
        check_span(f"remember of {self}", self.remember, _SHORTEST)

    def _read_by(self) -> where.Path | None:
        by: object = self.by
        if isinstance(by, str | where.Field):
            try:
                return where.as_path(by)
            except InvalidCondition as error:
                raise ConfigurationError(
                    f"{self}: `by` says what the messages of a set have in common: {error}"
                ) from error
        if not callable(by) or is_async(by):
            raise ConfigurationError(
                f"{self}: by is {by!r:.80}; it is a field such as 'payload.order', or a plain function of a message"
            )
        check_call(f"{self}: by", by, "message")
        return None

    def _check_completion(self) -> None:
        if self.count is not None and self.complete is not None:
            raise ConfigurationError(f"{self}: give count or complete, not both; a predicate can count its parts")
        if type(self.limit) is not int or self.limit < 1:
            raise ConfigurationError(f"{self}: limit is {self.limit!r:.80}; it is an integer of at least 1")
        if self.count is not None and (type(self.count) is not int or not 1 <= self.count <= self.limit):
            raise ConfigurationError(
                f"{self}: count is {self.count!r:.80}; it is an integer from 1 to its limit of {self.limit} parts"
            )
        complete: object = self.complete
        if complete is not None and (not callable(complete) or is_async(complete)):
            raise ConfigurationError(f"{self}: complete is {complete!r:.80}; it is a plain function of the parts")
        if complete is not None:
            check_call(f"{self}: complete", complete, "parts")

    @property
    def sets(self) -> str:
        """The queue where its sets stand."""
        return f"{self.name}{SETS}"

    @property
    def ways(self) -> Mapping[str, str]:
        """The way on, and the one of late parts if they have one."""
        late = {} if self.late in (None, "new", "drop") else {"late": str(self.late)}
        return {"": self.to, **late}

    @property
    def consumers(self) -> Sequence[Station]:
        """What gathers the parts, and what merges the sets."""
        merging = Merging(
            self.sets,
            self.function,
            retry=self.policy,
            lease=self.lease,
            rate=self.rate,
            history=self.history,
            join=self,
        )
        return (self, merging)

    @property
    def begins_at_most(self) -> Rate | None:
        """As many parts as there are: it is sets that are counted."""
        return None

    @property
    def remembers(self) -> timedelta | None:
        """For how long it is known that a set was complete; None if nobody asks."""
        return None if self.late == "new" else self.remember

    def node(self) -> Node:
        """Return the station as a drawing has it."""
        by = f"by {where.path_text(self.path)}" if self.path else "by a function"
        whole = "" if self.complete is None else ", complete by a predicate"
        whole = whole if self.count is None else f", {self.count} parts"
        return msgspec.structs.replace(super().node(), note=f"{by}{whole}, within {self.within}")

    def _turn(self, message: Message, sealing: Sealing | None) -> Settlement | Retry:
        """Return that a message becomes a part; the function is not called for it."""
        correlation = self._correlation(message)
        return Gather(
            self.sets,
            correlation,
            self.within,
            self.limit,
            Bury(
                f"{self}, message {message.id}: the set {correlation!r} has limit={self.limit} parts, and is not whole"
            ),
            self.count,
            self.complete,
            self._late(message, correlation),
            self.remember,
        )

    def _end(self, message: Message, returned: Any) -> Settlement:
        raise AssertionError("a part ends as a part")

    def _late(self, message: Message, correlation: str) -> Commit | Move | Bury | None:
        if self.late == "new":
            return None
        if self.late == "drop":
            return DROPPED
        if self.late is not None:
            return Move(self.late)
        return Bury(f"{self}, message {message.id}: it comes late, the set {correlation!r} was complete before")

    def _correlation(self, message: Message) -> str:
        """Return what the messages of a set have in common, as text."""
        if self.path is not None:
            value, named = _at(message, self.path), where.path_text(self.path)
        else:
            assert callable(self.by)  # noqa: S101 - or there would be a path
            value, named = self.by(message), f"by={getattr(self.by, '__name__', 'a function')}"
        text = _as_text(value)
        if text is None:
            raise InvalidOutcome(
                f"{self}, message {message.id}: {named} is {value!r:.80}, which tells no set; it must be text, "
                "a finite number or a boolean"
            )
        return text


@dataclass(frozen=True)
class Merging(Station):
    """What is handed the sets of a join, each as a message; no station of its own."""

    _: KW_ONLY
    join: Join

    def __str__(self) -> str:
        return str(self.join)

    @property
    def ways(self) -> Mapping[str, str]:
        """The way on."""
        return {"": self.join.to}

    def _turn(self, message: Message, sealing: Sealing | None) -> Settlement | Retry:
        """Close a set whose time has come, or make one message of the parts of a whole one."""
        of: Any = self.join.payload
        declared = None if of is None else _declared(of)
        parts = messages_of(message.payload, Payloads(self.join.name, declared, sealing))
        if parts is None:
            return Close(message.payload[CORRELATION], self.join.remembers)
        if not parts:  # somebody took them away
            return DONE
        returned = self.function(parts)
        if isinstance(returned, Retry | Bury):
            return returned
        if (wrong := self._mistake(returned)) is not None:
            raise InvalidOutcome(f"{self}, set {message.id}: its function returned {wrong}")
        return self._merged(message, parts, returned)

    def _end(self, message: Message, returned: Any) -> Settlement:
        raise AssertionError("a set ends with its parts at hand")

    def _merged(self, message: Message, parts: Sequence[Message], returned: Any) -> Commit:
        if returned is Drop:
            return DROPPED
        if returned is None and not self.join.null:
            raise self._odd(message, None, "return a payload or Drop, or say null=True for JSON's null")
        merged = Draft(
            self._encoded(message, returned),
            headers=_of_all(message.id, parts),
            queue=self.join.to,
            group=_agreed([part.group for part in parts]),
            priority=_agreed([part.priority for part in parts]) or 0,
        )
        return Commit(then=(merged,))

    def _odd(self, message: Message, returned: Any, why: str) -> InvalidOutcome:
        correlation = message.payload[CORRELATION]
        return InvalidOutcome(
            f"{self}, set {correlation!r:.80} (message {message.id}): {why}; its function returned {returned!r:.200}"
        )


@lru_cache(maxsize=64)
def _declared(payload: Any) -> Declared[Any]:
    return Declared(payload)


def _of_all(set_id: int, parts: Sequence[Message]) -> dict[str, Scalar]:
    """Return the headers that all parts agree on, and those that name the parts and the message of their set."""
    first = parts[0].headers
    shared = {
        name: value
        for name, value in first.items()
        if all(type(part.headers.get(name)) is type(value) and part.headers[name] == value for part in parts)
    }
    return {**shared, **joined(set_id, [part.id for part in parts]), HOPS: max(map(hops, parts)) + 1}


def _agreed(values: Sequence[Any]) -> Any:
    """Return the value that all have; None if they differ."""
    return values[0] if all(value == values[0] for value in values) else None


def _at(message: Message, path: where.Path) -> Any:
    """Return what a path leads to in a message, also through fields of a declared type; None if it leads nowhere."""
    root, *names = path
    value = getattr(message, root)
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return value


def _as_text(value: Any) -> str | None:
    """Return text that tells a value from every other one: text as it is, unless it looks like another value."""
    if isinstance(value, str) and value and not value[0].isdigit() and value[0] not in '-"' and value not in _WORDS:
        return value
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)  # one number to JSON, which some programs write as 1.0
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        return None
    return None if text[0] in "[{n" else text


_WORDS: Final = ("true", "false", "null")

_EXACT: Final = 1 << 53
"""Below this each integer is a float."""
