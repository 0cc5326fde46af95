"""Conditions as filters for the server.

The server compares only values of the same type. It compares numbers exactly, whatever their type, and text by its
bytes, which is the order of code points. The fields for conditions contain no lists (see `documents`), so no filter
searches the members of one.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from duerow.clock import FIRST, LAST
from duerow.conditions.fields import KINDS, Path
from duerow.conditions.model import Compare, Condition, Every, In, IsNull, Like, Not, Some, Value
from duerow.store import Order
from duerow.stores.like import expression
from duerow.stores.mongodb.documents import SHADOWS, escaped, micro

NOTHING: Final[dict[str, Any]] = {"$nor": [{}]}
"""Matches no document."""

_OPERATORS: Final = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}


def filter_of(condition: Condition, turns: bool = False) -> dict[str, Any]:
    """Return the filter for a condition on messages, or on turns."""
    match condition:
        case Every(terms):
            return {"$and": [filter_of(term, turns) for term in terms]}
        case Some(terms):
            return {"$or": [filter_of(term, turns) for term in terms]}
        case Not(term):
            return {"$nor": [filter_of(term, turns)]}
        case Compare(path, "=", value):
            return _among(path, (value,), turns)
        case Compare(path, operator, value):
            kept = _kept(path, value)
            return {field_of(path, turns): {_OPERATORS[operator]: kept[0]}} if kept else NOTHING
        case In(path, values):
            return _among(path, values, turns)
        case Like(path, pattern):
            if path[0] in KINDS and KINDS[path[0]] != "text":
                return NOTHING
            return {field_of(path, turns): {"$regex": rf"^{expression(pattern)}\z", "$options": "s"}}
        case IsNull(path):
            return {field_of(path, turns): None}
    raise AssertionError(f"{condition!r} is not a condition")


def field_of(path: Path, turns: bool = False) -> str:
    """Return the field with the value at a path."""
    root, names = path[0], path[1:]
    if root in SHADOWS:
        return ".".join((SHADOWS[root], *map(escaped, names)))
    return "_id" if root == "id" and not turns else root


def order_after(order: Order) -> dict[str, Any]:
    """Return a filter for the documents after a place in an order; those without the field come last."""
    if order.after is None:
        return {}
    value, id_ = order.after
    behind = "$lt" if order.descending else "$gt"
    field = field_of((order.field,))
    if value is None:
        return {field: None, "_id": {behind: id_}}
    kept = micro(value) if isinstance(value, datetime) else value
    if field == "_id":
        return {"_id": {behind: kept}}
    later: dict[str, Any] = {field: {behind: kept}, "_id": {"$ne": id_}}
    tied: Any = kept
    if value in (FIRST, LAST):  # stands for all values beyond it
        tied = {"$lte" if value == FIRST else "$gte": kept}
        later[field]["$not"] = tied
    return {"$or": [later, {field: tied, "_id": {behind: id_}}, {field: None}]}


def _among(path: Path, values: tuple[Value, ...], turns: bool) -> dict[str, Any]:
    kept = [kept for value in values for kept in _kept(path, value)]
    return {field_of(path, turns): {"$in": kept}} if kept else NOTHING


def _kept(path: Path, value: Value) -> list[Any]:
    """Return the stored form of a value at this path; an empty list if nothing there can be compared with it."""
    moment = KINDS.get(path[0]) == "moment"
    if isinstance(value, datetime):
        return [micro(value)] if moment else []
    return [] if moment else [value]
