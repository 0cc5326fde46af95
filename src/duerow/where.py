r"""Conditions on messages: written as text or in Python, kept as small frozen values, understood by every store.

    payload.companyId = 3345 and attempts > 3
    status in ('new', 'error') and not headers."trace-id" is null
    (payload.customer.name like 'Jo%' or priority < 0) and due_at < '2026-03-01T00:00:00Z'

In Python, conditions are combined with `&`, `|` and `~`:

    (payload.companyId == 3345) & (field("attempts") > 3)

A condition is true or false, never unknown: a comparison with a value that is missing, null or of another type is
false, so its negation is true. `!=`, `not in` and `not like` are the negations of `=`, `in` and `like`. Integers and
floats compare with each other, exactly; text compares by code point; booleans compare only with booleans, false before
true. `like` is case-sensitive; in its pattern `%` matches any text, `_` matches one character and `\` escapes the next
character. In Python, times are compared with aware datetimes; in text, with ISO 8601 text. A time that a message does
not have (a stopped message has no `due_at`) is null. A path leads through objects only, not into lists.
"""

from __future__ import annotations

from typing import Final, cast

from duerow.conditions.fields import Path, Subject, UnknownField, check_comparable, check_subject
from duerow.conditions.model import Condition, Field, checked_again, path_of
from duerow.errors import InvalidCondition, shown

__all__ = [
    "Condition",
    "Field",
    "UnknownField",
    "as_condition",
    "as_path",
    "field",
    "headers",
    "parse",
    "parse_path",
    "payload",
]


def field(path: str) -> Field:
    """Return the field at a path given as text, such as `attempts`, `payload.companyId` or `headers."trace-id"`.

    Raises:
        InvalidCondition: messages have no such field.
    """
    return Field(parse_path(path))


payload: Final = Field(("payload",))
"""The payload: `payload.companyId == 3345`."""


headers: Final = Field(("headers",))
"""The headers: `headers.source == "shop"`."""


def as_condition(where: object, about: Subject = "message") -> Condition:
    """Return a condition given as text or as a condition; raise InvalidCondition if it is invalid.

    Args:
        where: the condition.
        about: the condition's subject, which must have all the fields that the condition names.
    """
    if isinstance(where, str):
        try:
            where = parse(where)
        except UnknownField as error:
            check_subject(error.path, about)
            raise
    if isinstance(where, Condition):
        return checked_again(where, about)
    raise InvalidCondition(f"a condition must be text or made with duerow.where.field, not {shown(where)}")


def as_path(by: object) -> Path:
    """Return the path of a field given as text or as a field; raise InvalidCondition if messages have no such field."""
    if isinstance(by, str):
        by = Field(parse_path(by))
    if isinstance(by, Field):
        path = check_comparable(path_of(by))
        check_subject(path, "message")
        return path
    raise InvalidCondition(
        f"a field must be text such as payload.companyId, or made with duerow.where, not {shown(by)}"
    )


def parse(text: str) -> Condition:
    """Parse a condition.

    Raises:
        InvalidCondition: it cannot be parsed, names a field that messages do not have, or is too long or too deep.
    """
    from duerow.conditions.parser import read  # here, so that the parser is loaded only if a condition is given as text

    return cast(Condition, read(text, "condition"))


def parse_path(text: str) -> Path:
    """Parse the path of a field; raise InvalidCondition if messages have no such field."""
    from duerow.conditions.parser import read

    return cast(Path, read(text, "field"))
