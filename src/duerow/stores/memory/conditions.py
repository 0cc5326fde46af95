"""Decides whether a message matches a condition; the reference for all stores."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import lru_cache
from math import inf, isfinite
from typing import Any, Final

import msgspec

from duerow.conditions.fields import PAST_JSON, Path
from duerow.conditions.model import Compare, Condition, Every, In, IsNull, Like, Not, Operator, Some, Value
from duerow.payload.codec import UNREADABLE
from duerow.store import HistoryRow, Record
from duerow.stores.like import expression

_MISSING: Final = object()
_decode = msgspec.json.Decoder().decode


def holds(condition: Condition, record: Record | HistoryRow) -> bool:
    """Return whether a message or a finished turn matches a condition."""
    match condition:
        case Every(terms):
            return all(holds(term, record) for term in terms)
        case Some(terms):
            return any(holds(term, record) for term in terms)
        case Not(term):
            return not holds(term, record)
        case Compare(path, operator, value):
            return _compares(at(record, path), operator, value)
        case In(path, values):
            found = at(record, path)
            return any(_compares(found, "=", value) for value in values)
        case Like(path, pattern):
            found = at(record, path)
            return isinstance(found, str) and _pattern(pattern).fullmatch(found) is not None
        case IsNull(path):
            return at(record, path) is None
    raise AssertionError(f"{condition!r} is not a condition")


def at(record: Record | HistoryRow, path: Path) -> Any:
    """Return the value at a path of a message or a finished turn; None if it is missing or null."""
    root, names = path[0], path[1:]
    if root not in PAST_JSON:
        return getattr(record, root)
    value = _document(getattr(record, root))
    for name in names:
        value = value.get(name, _MISSING) if isinstance(value, dict) else _MISSING
    return None if value is _MISSING else value


def _document(text: str | None) -> Any:
    """Return the value of JSON text, which, if duerow did not write it, may have numbers that exceed floats."""
    if text is None:
        return _MISSING
    try:
        return _decode(text)
    except UNREADABLE:
        return _foreign(text)


def _foreign(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _MISSING


def _compares(found: Any, operator: Operator, value: Value) -> bool:
    found = _storable(found)
    if not _alike(found, value):
        return False
    match operator:
        case "=":
            return bool(found == value)
        case "<":
            return bool(found < value)
        case "<=":
            return bool(found <= value)
        case ">":
            return bool(found > value)
        case ">=":
            return bool(found >= value)


def _storable(found: Any) -> Any:
    """Return a value; an integer beyond 64 bits, which duerow never writes, becomes the nearest float."""
    if type(found) is int and not -(1 << 63) <= found < 1 << 63:
        try:
            return float(found)
        except OverflowError:
            return inf if found > 0 else -inf
    return found


def _alike(found: Any, value: Value) -> bool:
    """Return whether two values have types that can be compared."""
    for kind in (bool, str, datetime):
        if isinstance(found, kind) or isinstance(value, kind):
            return isinstance(found, kind) and isinstance(value, kind)
    return isinstance(found, int) or (isinstance(found, float) and isfinite(found))


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(expression(pattern), re.DOTALL)
