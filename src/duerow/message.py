"""A message: a payload that is due at some moment, with its metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, Literal

import msgspec
from typing_extensions import TypeVar

from duerow.clock import EPOCH
from duerow.errors import InvalidMessage, shown
from duerow.phrases import Argument, Hint

Scalar = str | int | float | bool
Status = Literal["new", "error", "done", "dead"]
OnDuplicate = Literal["ignore", "replace", "earliest", "reject"]
Outcome = Literal["created", "updated", "ignored"]
Ending = Literal["done", "moved", "dropped", "dead", "failed"]

P_co = TypeVar("P_co", default=Any, covariant=True)
"""The declared type of a payload; `Any` if none is declared."""

PRIORITIES: Final = range(-(1 << 15), 1 << 15)
LIVE: Final[tuple[Status, ...]] = ("new", "error")
ON_DUPLICATE: Final[tuple[OnDuplicate, ...]] = ("ignore", "replace", "earliest", "reject")

QUEUE_NAME: Final = r"[A-Za-z0-9_.:/-]{1,100}"
"""The regular expression that the whole name of a queue or schedule must match."""

_QUEUE_NAME = re.compile(QUEUE_NAME)
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)
_LONGEST = timedelta(days=365_000)
_KEY_CHARACTERS, _KEY_BYTES = 255, 512


# Values without cycles are excluded from Python's garbage collection (`gc=False`), which would otherwise scan every
# value of a batch again and again: a third of a worker's time. Types that may hold an exception, and so a traceback,
# are not excluded.


class Failure(msgspec.Struct, frozen=True, gc=False):
    """Why an attempt failed: the error's type, the messages of its whole cause chain, and a truncated traceback."""

    type: str
    message: str
    traceback: str | None = None


class Message(msgspec.Struct, Generic[P_co], frozen=True, gc=False):
    """A message as a consumer receives it: a frozen value.

    Attributes:
        id: 64-bit integer, never reused; each producer sees its ids increase.
        queue: the queue's name.
        payload: equal to the payload that was pushed, with the same types.
        kind: name of the payload's type: "json", "bytes", or a declared type.
        key: unique within the queue among live messages, or None.
        headers: named scalars that travel with the message.
        group: messages in the same group are handed out one at a time, in the order of their ids; None: no group.
        priority: lower goes first, -32,768 to 32,767.
        status: "new" (no attempt has ended yet), "error" (the last attempt failed), "done" or "dead".
        due_at: when it is due; None: it will not be handed out. For a message that was just reserved, the due time
            that it had while it waited.
        first_due_at: the due time that it was pushed with.
        attempts: how many times it has been handed out, including this time.
        token: increases with every reservation and every write that ends one.
        leased_by: the consumer that holds the lease, as host:pid:worker/claim; None: it is not leased.
        leased_until: when that lease ends.
        created_at: when it was pushed.
        last_attempt_at: when it was last handed out.
        last_error: why the last attempt failed, if it did.
    """

    id: int
    queue: str
    payload: P_co
    kind: str
    key: str | None
    headers: Mapping[str, Scalar]
    group: str | None
    priority: int
    status: Status
    due_at: datetime | None
    first_due_at: datetime
    attempts: int
    token: int
    leased_by: str | None
    leased_until: datetime | None
    created_at: datetime
    last_attempt_at: datetime | None
    last_error: Failure | None


class Draft(msgspec.Struct, Generic[P_co], frozen=True, gc=False):
    """A message to be pushed.

    Args:
        payload: JSON (see `duerow.payload.codec`), bytes, or a value of the queue's declared type.
        key: unique among live messages of the queue, 1 to 255 characters.
        due: earliest time to hand it out, an aware datetime; give at most one of `due` and `delay`. Default: at once.
        delay: how long from now until it is due.
        headers: named scalars that travel with the message.
        queue: the queue to push to, if the call does not name one, as in `commit(then=[…])`.
        group: messages in the same group are handed out one at a time, in the order in which they were pushed.
        priority: lower goes first, -32,768 to 32,767.
    """

    payload: P_co
    key: str | None = msgspec.field(default=None)
    due: datetime | None = msgspec.field(default=None)
    delay: timedelta | None = msgspec.field(default=None)
    headers: Mapping[str, Scalar] | None = msgspec.field(default=None)
    queue: str | None = msgspec.field(default=None)
    group: str | None = msgspec.field(default=None)
    priority: int = msgspec.field(default=0)


class Pushed(msgspec.Struct, frozen=True, gc=False):
    """The result of a push: the id of the message, and whether it was created, updated or ignored."""

    id: int
    outcome: Outcome


def check_queue_name(name: object) -> str:
    """Return the name if it is a valid queue name, else raise InvalidMessage."""
    if not isinstance(name, str) or not _QUEUE_NAME.fullmatch(name):
        raise InvalidMessage(
            f"a queue cannot be called {shown(name, 120)}; use 1 to 100 characters: ASCII letters, digits, and _ . : / "
            "-"
        )
    return name


def check_key(key: object) -> str | None:
    """Return the key if it is valid, else raise InvalidMessage."""
    return _short_text("key", key)


def check_group(group: object) -> str | None:
    """Return the group if it is valid, else raise InvalidMessage."""
    return _short_text("group", group)


def are_plain(texts: Sequence[Any]) -> bool:
    """Return whether all of these are ASCII texts that are valid as keys and as groups."""
    if not {str}.issuperset(map(type, texts)):
        return False
    lengths, joined = set(map(len, texts)), "".join(texts)
    return joined.isascii() and "\0" not in joined and min(lengths) >= 1 and max(lengths) <= _KEY_CHARACTERS


def check_priority(priority: object) -> int:
    """Return the priority if it is valid, else raise InvalidMessage."""
    if type(priority) is not int or priority not in PRIORITIES:
        raise InvalidMessage(
            f"a priority must be an integer from {PRIORITIES[0]} to {PRIORITIES[-1]}, not {shown(priority)}"
        )
    return priority


def _short_text(what: str, text: object) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidMessage(f"a {what} must be text, not {type(text).__name__}; convert it to text")
    if not 1 <= len(text) <= _KEY_CHARACTERS or "\0" in text:
        raise InvalidMessage(
            f"a {what} must have 1 to {_KEY_CHARACTERS} characters, none of them U+0000; this one has {len(text)}"
        )
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidMessage(f"a {what} cannot contain a lone surrogate") from None
    if size_bytes > _KEY_BYTES:
        raise InvalidMessage(f"a {what} can have at most {_KEY_BYTES} bytes in UTF-8; this one has {size_bytes}")
    return text


def check_moment(name: str, moment: object) -> datetime | None:
    """Return the moment in UTC, or None for None; raise InvalidMessage unless it is an aware datetime in range."""
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        raise InvalidMessage(
            Argument(name), f" must be an aware datetime, not {type(moment).__name__} ({shown(moment)})"
        )
    if moment.utcoffset() is None:
        in_utc = Hint(f"{name}.replace(tzinfo=UTC)", f"{moment.isoformat()}Z")
        raise InvalidMessage(Argument(name), f" has no time zone: {moment.isoformat()}; add one, as in ", in_utc)
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        moment = _LATEST + timedelta(days=1)
    if not EPOCH <= moment <= _LATEST:
        raise InvalidMessage(
            Argument(name), f" is out of range: {moment.isoformat()}; it must lie between the years 1970 and 9999"
        )
    return moment


def check_span(name: str, span: object, minimum: timedelta = timedelta(0)) -> timedelta:
    """Return the timedelta if it lies between the minimum and 365,000 days, else raise InvalidMessage."""
    if not isinstance(span, timedelta):
        raise InvalidMessage(Argument(name), f" must be a timedelta, not {type(span).__name__} ({shown(span)})")
    if not minimum <= span <= _LONGEST:
        least = "negative" if minimum == timedelta(0) else f"below {minimum}"
        raise InvalidMessage(Argument(name), f" cannot be {least} or above {_LONGEST.days:,} days: {span}")
    return span


def check_due(due: object, delay: object) -> tuple[datetime | None, timedelta | None]:
    """Return `due` and `delay`, checked; raise InvalidMessage if both are given or one is out of bounds."""
    if due is not None and delay is not None:
        raise InvalidMessage(
            "give ", Argument("due"), " or ", Argument("delay"), f", not both: {due!s:.80}, {delay!s:.80}"
        )
    return check_moment("due", due), None if delay is None else check_span("delay", delay)


def check_on_duplicate(mode: object) -> OnDuplicate:
    """Return the mode if it is one of the four modes, else raise InvalidMessage."""
    for known in ON_DUPLICATE:
        if mode == known:
            return known
    raise InvalidMessage(
        Argument("on_duplicate"), f" cannot be {shown(mode)}; use one of {', '.join(map(repr, ON_DUPLICATE))}"
    )
