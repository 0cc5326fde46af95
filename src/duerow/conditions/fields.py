"""The fields that a condition may use: those of messages, those of turns in history, and paths into JSON."""

from __future__ import annotations

import re
from typing import Final, Literal

from duerow.errors import InvalidCondition, shown

Path = tuple[str, ...]
"""A field of a message or turn; `payload`, `headers` and `error` may be followed by names that lead into them."""


Kind = Literal["integer", "text", "moment"]


FIELDS: Final[dict[str, Kind]] = {
    "id": "integer",
    "queue": "text",
    "key": "text",
    "kind": "text",
    "status": "text",
    "priority": "integer",
    "group": "text",
    "due_at": "moment",
    "first_due_at": "moment",
    "created_at": "moment",
    "last_attempt_at": "moment",
    "leased_by": "text",
    "leased_until": "moment",
    "attempts": "integer",
}
"""The fields of a message that a condition may use, in addition to `payload` and `headers`."""


JSON: Final = ("payload", "headers")


PAST: Final[dict[str, Kind]] = {
    "id": "integer",
    "token": "integer",
    "queue": "text",
    "key": "text",
    "kind": "text",
    "group": "text",
    "priority": "integer",
    "outcome": "text",
    "moved_to": "text",
    "attempts": "integer",
    "created_at": "moment",
    "first_due_at": "moment",
    "due_at": "moment",
    "started_at": "moment",
    "finished_at": "moment",
    "worker": "text",
}
"""The fields of a turn in a queue's history that a condition may use, in addition to those in `PAST_JSON`."""


PAST_JSON: Final = (*JSON, "error")


KINDS: Final = FIELDS | PAST
"""All fields of messages and of turns; a field that both have is of the same kind in both."""


Subject = Literal["message", "turn"]
"""The subject of a condition: a message, or a turn in a queue's history."""


LONGEST_PATH: Final = 64
"""How many names a path may have; payloads are nested no deeper."""


_NAME = re.compile(r"[^\W\d]\w*")


class UnknownField(InvalidCondition):
    """A condition uses a field that its subject does not have.

    Attributes:
        path: the path of that field.
    """

    def __init__(self, text: str, path: Path = ()) -> None:
        self.path = path
        super().__init__(text)


def path_text(path: Path) -> str:
    """Return a path as text."""
    return ".".join(name if _NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"' for name in path)


def check_path(path: Path) -> Path:
    """Return the path if messages or turns may have it, else raise InvalidCondition."""
    for name in path:
        if not isinstance(name, str):
            raise InvalidCondition(f"a path is made of names, not {shown(name)}; list elements cannot be addressed")
    root, names = path[0], path[1:]
    if root not in KINDS and root not in PAST_JSON:
        check_subject(path, "message")
    if names and root in KINDS:
        raise InvalidCondition(f"{shown(path_text(path), 120)}: {root} has no parts; only payload and headers have")
    if root == "headers" and len(names) > 1:
        raise InvalidCondition(
            f'{shown(path_text(path), 120)}: a header has no parts; put a name with dots in quotes: headers."a.b"'
        )
    if len(names) > LONGEST_PATH:
        raise InvalidCondition(f"a path can have at most {LONGEST_PATH} names; this one has {len(names)}")
    for name in names:
        check_text(name)
    return path


def check_comparable(path: Path) -> Path:
    """Return the path if it leads to a value, else raise InvalidCondition."""
    if path == ("headers",):
        raise InvalidCondition("name a header, as in headers.source")
    if path == ("error",):
        raise InvalidCondition("name a part of the error: error.type or error.message")
    return path


def check_subject(path: Path, about: Subject) -> None:
    """Raise UnknownField if the subject (messages, or turns in history) has no such field."""
    fields, documents = (FIELDS, JSON) if about == "message" else (PAST, PAST_JSON)
    if path[0] not in fields and path[0] not in documents:
        known = ", ".join([*fields, *(f"{name}.…" for name in documents)])
        where = " in history" if about == "turn" else ""
        raise UnknownField(f"a {about}{where} has no field {shown(path[0])}; the fields are {known}", path)


def check_text(text: str) -> str:
    """Return the text if a message can contain it, else raise InvalidCondition."""
    if "\0" in text:
        raise InvalidCondition(f"{shown(text)} contains U+0000, which no message can contain")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidCondition(f"{shown(text)} contains a lone surrogate, which no message can contain") from None
    return text
