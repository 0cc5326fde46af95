"""Random texts of conditions, many of them wrong, and messages of which some and not all fit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from duerow import Draft
from duerow.testing.clock import START
from duerow.testing.conditions import NAMES, NUMBERS, WORDS

FIELDS: Final = (*("id", "attempts", "priority", "key", "status") * 3, "group", "kind", "queue", "leased_by")
MOMENTS: Final = ("due_at", "first_due_at", "created_at", "last_attempt_at", "leased_until")
OPERATORS: Final = ("=", "!=", "<>", "<", "<=", ">", ">=")
SHARDS: Final = (
    *(
        "'",
        '"',
        "''",
        "\\",
        "%",
        "--",
        "/*",
        "*/",
        ";",
        "(",
        ")",
        ",",
        ".",
        "=",
        "==",
        "::",
        ":x",
        "?",
        "$1",
        "@",
        "\0",
    ),
    *(
        "null",
        "NULL",
        "select 1",
        "drop table duerow_message",
        "union",
        "or 1=1",
        "' or '1'='1",
        "1e999",
        "0x1f",
        "\ud800",
    ),
    *(
        "not",
        "and",
        "or",
        "in",
        "like",
        "is",
        "between",
        "true",
        "payload",
        "payload.",
        "9223372036854775808",
        "é",
        "\n",
    ),
)
"""What is thrown into a text to break it, or to break out of it."""


def drafts(chance: random.Random, number: int) -> list[Draft]:
    """Messages whose payloads and fields vary."""
    return [
        Draft(
            _payload(chance, 3),
            key=f"{chance.choice(WORDS)}-{n}" if n % 3 else None,
            group=chance.choice(["g", "h"]) if n % 4 == 0 else None,
            priority=chance.randrange(-2, 3),
            delay=timedelta(minutes=chance.randrange(90)),
            headers={"source": chance.choice(["shop", "web"]), "odd.name": chance.choice([1, 2.5, True])}
            if n % 2
            else None,
        )
        for n in range(number)
    ]


def text(chance: random.Random) -> str:
    """A condition, in one of four cases with something thrown in or cut off."""
    whole = _condition(chance, chance.choice([0, 0, 0, 1, 1, 2, 3]))
    if chance.random() < 3 / 4:
        return whole
    at = chance.randrange(len(whole) + 1)
    match chance.randrange(4):
        case 0:
            return whole[:at]
        case 1:
            return whole[:at] + whole[at + chance.randrange(1, 4) :]
        case 2:
            return chance.choice(SHARDS).join([whole[:at], whole[at:]])
    return " ".join([whole, chance.choice(SHARDS), chance.choice(["", _condition(chance, 0)])])


def _condition(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return _leaf(chance)
    word = chance.choice([" and ", " or ", " AND ", "\nOr "])
    parts = [_condition(chance, depth - 1) for _ in range(chance.randrange(1, 4))]
    joined = word.join(parts)
    return chance.choice([joined, f"({joined})", f"not ({joined})", f"NOT not {parts[0]}"])


def _leaf(chance: random.Random) -> str:
    if chance.random() < 0.1:
        return f"{chance.choice(MOMENTS)} {chance.choice(OPERATORS)} '{_moment(chance)}'"
    path = _path(chance)
    match chance.randrange(10):
        case 0:
            return f"{path} {chance.choice(['in', 'not in', 'IN'])} ({', '.join(_values(chance))})"
        case 1:
            return f"{path} {chance.choice(['like', 'not like'])} {_quoted(_pattern(chance))}"
        case 2 | 3:
            return f"{path} is {chance.choice(['null', 'not null'])}"
    return f"{path} {chance.choice(OPERATORS)} {_value(chance)}"


def _path(chance: random.Random) -> str:
    match chance.randrange(10):
        case 0 | 1:
            return chance.choice(FIELDS)
        case 2:
            return chance.choice(["headers.source", 'headers."odd.name"', "headers.none"])
        case 3:
            return "payload." + ".".join(_name(chance) for _ in range(2))
    return f"payload.{_name(chance)}"


def _name(chance: random.Random) -> str:
    name = chance.choice(NAMES) if chance.random() < 0.15 else chance.choice("ab")
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def _value(chance: random.Random) -> str:
    match chance.randrange(5):
        case 0:
            return _quoted(chance.choice(WORDS))
        case 1:
            return chance.choice(["true", "false", "TRUE"])
        case 2:
            return repr(chance.choice(NUMBERS))
    return str(chance.randrange(-3, 4))


def _values(chance: random.Random) -> Sequence[str]:
    return [_value(chance) for _ in range(chance.randrange(5))]


def _pattern(chance: random.Random) -> str:
    parts = ["%", "_", "\\%", "\\_", "\\\\", "a", "b", "A", "é", "*", "[", "]", "?", "1"]
    return "".join(chance.choice(parts) for _ in range(chance.randrange(4)))


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


def _moment(chance: random.Random) -> str:
    return (START + timedelta(minutes=chance.randrange(90))).isoformat()


def _payload(chance: random.Random, depth: int) -> Any:
    return {name: _member(chance, depth) for name in ("a", "b", *chance.sample(NAMES, 2)) if chance.random() < 0.85}


def _member(chance: random.Random, depth: int) -> Any:
    match chance.randrange(10):
        case 0:
            return chance.choice(NUMBERS)
        case 1 | 2:
            return chance.choice(WORDS)
        case 3:
            return chance.choice([True, False])
        case 4 if depth:
            return _payload(chance, depth - 1)
        case 5:
            return chance.choice([None, [], [1, "a"], {}])
    return chance.randrange(-3, 4)
