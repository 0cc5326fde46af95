"""Conditions as text: a small subset of SQL's expressions, read by a grammar that contains nothing else.

What is not in the grammar cannot be expressed: there are no functions, no subqueries, and no names except the fields of
messages. Every value becomes a value of the condition and so, in the end, a bound parameter.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, Literal, NoReturn, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput, VisitError

from duerow.conditions.fields import Path, UnknownField, check_comparable, check_path
from duerow.conditions.model import Condition, IsNull, comparison, every, membership, negation, pattern_match, some
from duerow.errors import InvalidCondition, shown

LONGEST_TEXT: Final = 10_000
"""Characters of a condition's text."""

EXAMPLES: Final = {
    "condition": "payload.companyId = 3345 and attempts > 3",
    "field": 'attempts, payload.companyId or payload."odd key"',
}

_SHOWN = 30
_LONGEST_INTEGER = 30

# A keyword ends where a name would continue, and counts only where a keyword is allowed: `payload.in` is a path.
_GRAMMAR: Final = r"""
?condition: every (OR every)*       -> either
?every: single (AND single)*        -> both
?single: NOT single                 -> negated
    | "(" condition ")"
    | field OPERATOR value          -> compared
    | field NOT? IN "(" (value ("," value)*)? ")"  -> contained
    | field NOT? LIKE value         -> matched
    | field IS NOT? NULL            -> absent

field: name ("." name)*
name: NAME | QUOTED
value: STRING | NUMBER | TRUE | FALSE | NULL

OPERATOR: "=" | "!=" | "<>" | "<=" | ">=" | "<" | ">"
OR.2: /or(?!\w)/i
AND.2: /and(?!\w)/i
NOT.2: /not(?!\w)/i
IN.2: /in(?!\w)/i
IS.2: /is(?!\w)/i
LIKE.2: /like(?!\w)/i
NULL.2: /null(?!\w)/i
TRUE.2: /true(?!\w)/i
FALSE.2: /false(?!\w)/i
NAME: /[^\W\d]\w*/
QUOTED: /"[^"]*(?:""[^"]*)*"/
STRING: /'[^']*(?:''[^']*)*'/
NUMBER: /[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?!\w)/
%ignore /\s+/
"""


def read(text: str, what: Literal["condition", "field"]) -> Condition | Path:
    """Return the condition, or the path of a field, that a text describes.

    Raises:
        InvalidCondition: it cannot be read, names a field that messages do not have, or is too long or too deep.
    """
    if not isinstance(text, str):
        raise InvalidCondition(f"a {what} must be text, not {shown(text)}; write for example {EXAMPLES[what]}")
    if len(text) > LONGEST_TEXT:
        raise InvalidCondition(f"the {what} has {len(text):,} characters; at most {LONGEST_TEXT:,} are allowed")
    try:
        found: Any = _parser().parse(text, start=what)  # the transformer makes no trees
    except UnexpectedInput as error:
        _refuse(text, what, error)
    except UnknownField as refused:
        refused.at = _place_of(text, refused.path)
        raise
    except VisitError as error:
        raise error.orig_exc from None
    return cast("Condition | Path", found)


@cache
def _parser() -> Lark:
    """Return the parser; its tables are built once, in a few milliseconds. It never recurses, however deep a text."""
    return Lark(_GRAMMAR, parser="lalr", start=["condition", "field"], transformer=_Reader(), maybe_placeholders=False)


def _refuse(text: str, what: str, error: UnexpectedInput) -> NoReturn:
    """Raise an error that tells where the text stops being valid."""
    place: int | None = getattr(error, "pos_in_stream", None)
    token = getattr(error, "token", None)
    if place is None or place >= len(text.rstrip()) or (token is not None and token.type == "$END"):
        where, place = "it ends too early" if text.strip() else "it is empty", len(text.rstrip())
    else:
        where = f"it is not valid from character {place + 1} on: {text[place : place + _SHOWN]!r}"
    refusal = InvalidCondition(f"{shown(text, 120)} is not a {what}: {where}; write for example {EXAMPLES[what]}")
    refusal.at = place
    raise refusal from None


def _place_of(text: str, path: Path) -> int | None:
    """Return where a text first names a field."""
    found = re.search(rf'(?<![\w."]){re.escape(path[0])}(?!\w)', text) if path else None
    return None if found is None else found.start()


class _Reader(Transformer[Token, Any]):
    """Builds conditions from what the grammar found; each method has the name of the grammar rule that it converts."""

    def either(self, parts: list[Any]) -> Condition:
        return some(*parts[::2])

    def both(self, parts: list[Any]) -> Condition:
        return every(*parts[::2])

    def negated(self, parts: list[Any]) -> Condition:
        return negation(parts[-1])

    def compared(self, parts: list[Any]) -> Condition:
        path, operator, value = parts
        if operator in ("!=", "<>"):
            return negation(comparison(path, "=", value))
        return comparison(path, operator.value, value)

    def contained(self, parts: list[Any]) -> Condition:
        path, *words = parts
        values = words[[_kind(word) for word in words].index("IN") + 1 :]
        return _perhaps_not(words, membership(path, values))

    def matched(self, parts: list[Any]) -> Condition:
        return _perhaps_not(parts, pattern_match(parts[0], parts[-1]))

    def absent(self, parts: list[Any]) -> Condition:
        return _perhaps_not(parts, IsNull(check_comparable(parts[0])))

    def field(self, names: list[str]) -> Path:
        return check_path(tuple(names))

    def name(self, parts: list[Token]) -> str:
        token = parts[0]
        return token[1:-1].replace('""', '"') if token.type == "QUOTED" else token.value

    def value(self, parts: list[Token]) -> Any:
        token = parts[0]
        match token.type:
            case "STRING":
                return token[1:-1].replace("''", "'")
            case "NUMBER":
                return _number(token.value)
        return {"TRUE": True, "FALSE": False, "NULL": None}[token.type]


def _perhaps_not(parts: list[Any], condition: Condition) -> Condition:
    return negation(condition) if any(_kind(part) == "NOT" for part in parts) else condition


def _kind(part: Any) -> str | None:
    """Return the name of a token; anything already converted is a value or a path."""
    return part.type if isinstance(part, Token) else None


def _number(text: str) -> int | float:
    if not text.lstrip("+-").isdigit():
        return float(text)
    if len(text) > _LONGEST_INTEGER:
        raise InvalidCondition(f"{text:.40}… is not a 64-bit integer")
    return int(text)
