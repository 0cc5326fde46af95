"""Checks of the values that programs send for raw operations of the store, which does not check them itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import UNSET

from duerow.conditions.model import Condition
from duerow.errors import InvalidMessage, shown
from duerow.message import check_group, check_key, check_moment, check_priority, check_queue_name
from duerow.payload import codec
from duerow.store import Entry, Indexed, Joined, Moved, Query
from duerow.store.consumer_id import check_consumer
from duerow.store.wire import calls

MOST_AT_ONCE: Final = 10_000
"""How many messages an operation reserves or deletes at most."""

LONGEST_TEXT: Final = 300
"""The most characters of a name that no other check limits."""

_LONGEST: Final = timedelta(days=365_000)
_INTEGERS: Final = range(-(1 << 63), 1 << 63)

_JSON: Final = ("payload", "headers", "error", "why", "definition", "waiting", "handling")
"""The members that contain JSON as text."""


def check(call: Any) -> None:
    """Raise InvalidMessage or one of its subclasses unless this call can be passed to a store."""
    _check(call, "")
    limit = getattr(getattr(call, "query", call), "limit", None)
    bounded = isinstance(call, calls.ReserveCall | calls.PurgeCall | calls.PruneCall)
    if limit is not None and (limit < 0 or (bounded and limit > MOST_AT_ONCE)):
        raise InvalidMessage(f"over HTTP, limit must be from 0 to {MOST_AT_ONCE:,}, not {limit}")
    if isinstance(call, calls.ReserveCall):
        check_consumer(call.consumer)
        _check_short(call.consumer)


def _check(value: Any, name: str) -> None:
    """Check a value and all of its parts."""
    if value is None or value is UNSET or isinstance(value, bool | float | Condition):
        return
    if isinstance(value, str):
        _check_text(value, name)
    elif isinstance(value, int):
        if value not in _INTEGERS:
            raise InvalidMessage(f"{name or 'an integer'} has more than 64 bits")
    elif isinstance(value, datetime):
        check_moment(name or "a time", value)
    elif isinstance(value, timedelta):
        if not -_LONGEST <= value <= _LONGEST:
            raise InvalidMessage(f"{name or 'a span'} is {value}: at most {_LONGEST.days:,} days are allowed")
    elif isinstance(value, msgspec.Struct):
        _check_struct(value)
    elif isinstance(value, dict):
        for key, member in value.items():
            _check(key, name)
            _check(member, name)
    else:
        for member in value:
            _check(member, name)


def _check_text(text: str, name: str) -> None:
    if codec.storable(text) != text:
        raise InvalidMessage(f"{name or 'text'} contains U+0000 or a lone surrogate")
    if name in _JSON:
        value = codec.decode_json(text, name)
        _check_json(value, name)
        if name == "headers":
            codec.encode_headers(codec.decode_headers(text), limited=False)
    elif name in ("queue", "queues", "to", "sets", "dead_letter"):
        check_queue_name(text)
    elif name == "key":
        check_key(text)
    elif name == "group":
        check_group(text)
    else:
        _check_short(text)


def _check_short(text: str) -> None:
    if len(text) > LONGEST_TEXT:
        raise InvalidMessage(f"{shown(text)} has {len(text):,} characters; at most {LONGEST_TEXT} are allowed")


def _check_json(value: Any, name: str) -> None:
    """Raise InvalidMessage if a value within JSON cannot be stored by every database."""
    if isinstance(value, str):
        if "\0" in value:
            raise InvalidMessage(f"{name} contains U+0000, which not every database can store")
    elif isinstance(value, int):
        if value not in _INTEGERS:
            raise InvalidMessage(f"{name} contains an integer beyond 64 bits")
    elif isinstance(value, dict):
        for key, member in value.items():
            _check_json(key, name)
            _check_json(member, name)
    elif isinstance(value, list):
        for member in value:
            _check_json(member, name)


def _check_struct(value: msgspec.Struct) -> None:
    if isinstance(value, Entry | Moved | calls.Alteration) and value.priority is not UNSET:
        check_priority(value.priority)
    if isinstance(value, Entry | Moved) and value.due is not None and value.delay is not None:
        raise InvalidMessage("give due or delay, not both")
    if isinstance(value, Entry) and not value.kind:
        raise InvalidMessage("a message must have a kind")
    if isinstance(value, Joined) and value.complete is not None:
        raise InvalidMessage("a function cannot be sent: give count instead of complete")
    # The values in a group, a path or an order are not fields of a message.
    others = {"path", "by", "where", "order"} if isinstance(value, Indexed | Query) else {"by", "where"}
    for name in value.__struct_fields__:
        member = getattr(value, name)
        if name == "group" and isinstance(member, tuple):
            check_queue_name(member[0])
            check_group(member[1])
        elif name == "keys" and member is not None and not isinstance(member, timedelta):
            for key in member:
                check_key(key)
        else:
            _check(member, "" if name in others else name)
