"""Assertions about messages: that one like this was pushed, or that none was.

    assert_pushed(mail, like({"to": "ana"}, key="welcome-ana"))
    assert await mail.find() == [like({"to": "ana"}), like({"to": "bo"}, delay=hours(1))]

`like` equals every message that has the named values, and ignores the other fields. Compare it with any message, for
example in lists from `find`, `peek` or `pop_many` of either API, or in the result of `drain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from duerow import Queue
from duerow.errors import ConfigurationError, shown
from duerow.message import Message, Scalar

_LEFT_OUT: Final[Any] = object()

MOST_SHOWN: Final = 20
"""The maximum number of messages that a failure lists."""


class like:
    """Equals every message with these values.

    Args:
        payload: its payload, which may contain `unittest.mock.ANY`.
        queue: the name of its queue.
        kind: the name of its payload's type.
        key: its key; None: no key.
        headers: headers that it must have; it may have others.
        due: when it was first due.
        delay: how long after its push it was first due.
        status: "new", "error", "done" or "dead".
        attempts: how many times it has been handed out.
    """

    __hash__ = None  # type: ignore[assignment]  # like a list: equal to what it may be equal to

    def __init__(
        self,
        payload: Any = _LEFT_OUT,
        *,
        queue: str = _LEFT_OUT,
        kind: str = _LEFT_OUT,
        key: str | None = _LEFT_OUT,
        headers: Mapping[str, Scalar] = _LEFT_OUT,
        due: datetime = _LEFT_OUT,
        delay: timedelta = _LEFT_OUT,
        status: str = _LEFT_OUT,
        attempts: int = _LEFT_OUT,
    ) -> None:
        asked = {
            "payload": payload,
            "queue": queue,
            "kind": kind,
            "key": key,
            "headers": headers,
            "due": due,
            "delay": delay,
            "status": status,
            "attempts": attempts,
        }
        self._asked = {name: value for name, value in asked.items() if value is not _LEFT_OUT}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return all(_has(other, name, value) for name, value in self._asked.items())

    def __repr__(self) -> str:
        asked = [f"{name}={value!r}" for name, value in self._asked.items() if name != "payload"]
        if "payload" in self._asked:
            asked.insert(0, repr(self._asked["payload"]))
        return f"like({', '.join(asked)})"


def assert_pushed(
    where: Queue[Any] | Iterable[Message[Any]], wanted: like, *, times: int | None = None
) -> Message[Any]:
    """Return the first matching message; if there is none, raise an AssertionError that lists the messages.

    Args:
        where: a queue, or messages; for a queue of `duerow.aio`, pass `await queue.find()`.
        wanted: the message to look for.
        times: how many matching messages there must be; default: at least one.
    """
    found = _messages(where)
    matching = [message for message in found if wanted == message]
    if not matching or (times is not None and len(matching) != times):
        how_many = "at least 1 message" if times is None else f"{times} messages"
        raise AssertionError(f"expected {how_many} {wanted!r}, found {len(matching)} {_listed(found)}")
    return matching[0]


def assert_not_pushed(where: Queue[Any] | Iterable[Message[Any]], unwanted: like | None = None) -> None:
    """Raise AssertionError if there is a message like `unwanted`, or, without `unwanted`, any message."""
    found = _messages(where)
    matching = [message for message in found if unwanted is None or unwanted == message]
    if matching:
        what = "no message" if unwanted is None else f"no message {unwanted!r}"
        raise AssertionError(f"expected {what}, found {len(matching)} {_listed(found)}")


def _has(message: Message, name: str, value: Any) -> bool:
    match name:
        case "headers":
            return all(header in message.headers and message.headers[header] == value[header] for header in value)
        case "due":
            return bool(message.first_due_at == value)
        case "delay":
            return bool(message.first_due_at - message.created_at == value)
    return bool(value == getattr(message, name))


def _messages(where: Queue[Any] | Iterable[Message[Any]]) -> list[Message[Any]]:
    if isinstance(where, Queue):
        return _all(where)
    if not isinstance(where, Iterable):
        raise ConfigurationError(
            f"give a queue of duerow or messages, such as `await queue.find()`, not {shown(where)}"
        )
    return list(where)


def _all(queue: Queue[Any]) -> list[Message[Any]]:
    """Return all messages of a queue, page by page."""
    messages: list[Message[Any]] = []
    while page := queue.find(after=messages[-1].id if messages else None):
        messages += page
    return messages


def _listed(messages: list[Message[Any]]) -> str:
    if not messages:
        return "among no messages"
    lines = [
        f"  {message.queue} {message.id}: {shown(message.payload, 200)}"
        + (f", key {message.key!r}" if message.key is not None else "")
        + (f", headers {shown(dict(message.headers))}" if message.headers else "")
        + f", {message.status}, first due {message.first_due_at:%Y-%m-%d %H:%M:%S.%f}"
        for message in messages[:MOST_SHOWN]
    ]
    more = [f"  and {len(messages) - MOST_SHOWN} more"] if len(messages) > MOST_SHOWN else []
    return "\n".join([f"among {len(messages)}:", *lines, *more])
