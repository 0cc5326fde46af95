"""How messages and turns are stored: as one document each.

Times are 64-bit integers: microseconds since 1970. An empty field is absent, never null, so that partial indexes skip
the message. Payload and headers are stored twice: as the text that is returned, and as subdocuments (`fields` and
`labels`) that conditions search.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from math import isfinite
from typing import Any, Final

import msgspec
from bson import Int64

from duerow.clock import FIRST, LAST, micros
from duerow.clock import moment as moment_of
from duerow.message import LIVE
from duerow.store import ABSENT, UNFIT, HistoryRow, Record, Shapes, examined, mended

SHADOWS: Final = {"payload": "fields", "headers": "labels", "error": "faults"}
"""The field that conditions search, for each field with JSON text."""

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_decode = msgspec.json.Decoder().decode


class CollectionNames:
    """The names of the collections.

    Args:
        prefix: their common prefix.
    """

    def __init__(self, prefix: str) -> None:
        self.schema = f"{prefix}schema"
        self.messages = f"{prefix}message"
        self.counters = f"{prefix}counter"
        self.history = f"{prefix}history"
        self.keys = f"{prefix}key"
        self.queues = f"{prefix}queue"
        self.consumers = f"{prefix}consumer"
        self.schedules = f"{prefix}schedule"
        self.pipelines = f"{prefix}pipeline"
        self.counts = f"{prefix}count"
        self.lifetimes = f"{prefix}lifetime"
        self.sets = f"{prefix}set"
        self.parts = f"{prefix}part"
        self.staged = f"{prefix}staged"
        self.noted = f"{prefix}noted"

    @property
    def all(self) -> list[str]:
        """Return all names."""
        return list(vars(self).values())


def micro(moment: datetime) -> Int64:
    """Return the stored form of a time."""
    return Int64(micros(moment))


def maybe_moment(stored: int | None) -> datetime | None:
    """Return a stored time, or None."""
    return None if stored is None else told_moment(stored)


def told_moment(stored: Any) -> datetime:
    """Return a stored time; FIRST or LAST if it is invalid or outside Python's range of years."""
    try:
        return moment_of(stored)
    except UNFIT:
        return FIRST if isinstance(stored, int | float) and stored < 0 else LAST


def document(record: Record, place: datetime | None = None) -> dict[str, Any]:
    """Return the document of a message.

    It has these fields in addition to those of `Record`: `live_key` and `line_group` are the key and the group while
    the message is live; `lent_group` is the group while it is leased; `place` is the due time that it had in line when
    it was last leased; `line_at` is its due time, and is absent while it waits behind another one of its group.
    """
    live, lent = record.status in LIVE, record.leased_by is not None
    fields = {
        "_id": Int64(record.id),
        "queue": record.queue,
        "priority": record.priority,
        "due_at": record.due_at and micro(record.due_at),
        "line_at": record.due_at and micro(record.due_at),
        "status": record.status,
        "key": record.key,
        "live_key": record.key if live else None,
        "group": record.group,
        "line_group": record.group if live else None,
        "lent_group": record.group if live and lent else None,
        "kind": record.kind,
        "payload": record.payload,
        "headers": record.headers,
        "first_due_at": micro(record.first_due_at),
        "attempts": record.attempts,
        "token": Int64(record.token),
        "leased_by": record.leased_by,
        "leased_until": record.leased_until and micro(record.leased_until),
        "place": place and micro(place),
        "created_at": micro(record.created_at),
        "last_attempt_at": record.last_attempt_at and micro(record.last_attempt_at),
        "last_error": record.last_error,
    }
    return {name: value for name, value in fields.items() if value is not None}


def whole(record: Record, behind: bool = False) -> dict[str, Any]:
    """Return the document of a new message, with the fields for conditions; `behind`: it waits for its group."""
    kept = document(record) | shadow("payload", record.payload) | shadow("headers", record.headers)
    if behind:
        kept.pop("line_at", None)
    return kept


def whole_batch(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield the documents of new messages: the first of each group is in line, the others wait behind it."""
    groups: set[tuple[str, str]] = set()
    for record in records:
        group = None if record.group is None or record.status not in LIVE else (record.queue, record.group)
        yield whole(record, behind=group in groups)
        if group is not None:
            groups.add(group)


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the update that turns one document into the other."""
    changed = {name: value for name, value in after.items() if name not in before or before[name] != value}
    gone = [name for name in before if name not in after]
    for text in ("payload", "headers"):
        if text in changed:
            shown = shadow(text, changed[text])
            changed |= shown
            gone += [] if shown else [SHADOWS[text]]
    gone += [SHADOWS[name] for name in gone if name in SHADOWS]
    update: dict[str, Any] = {"$set": changed} if changed else {}
    return update | ({"$unset": dict.fromkeys(gone, "")} if gone else {})


def record_of(found: Mapping[str, Any]) -> Record:
    """Return a stored message; its `damage` says what is wrong if duerow cannot have written it."""
    values = _values(found)
    sound = _SOUND.fit(values)
    for place in _MOMENTS:
        values[place] = maybe_moment(values[place])
    if not sound:
        named = zip(_NAMES, values, strict=True)
        return mended([ABSENT if value is None and name in _NEEDED else value for name, value in named])
    values[0], values[_TOKEN] = int(values[0]), int(values[_TOKEN])
    return examined(values)


def is_sound(found: Mapping[str, Any]) -> bool:
    """Return whether a stored message has all required fields with the right types."""
    return _SOUND.fit(_values(found))


def _values(found: Mapping[str, Any]) -> list[Any]:
    return list(map(found.get, _KEPT))


_NAMES: Final = Record.__struct_fields__[:-1]
_KEPT: Final = ("_id", *_NAMES[1:])
_MOMENTS: Final = tuple(place for place, name in enumerate(_NAMES) if name.endswith(("_at", "_until")))
_TOKEN: Final = _NAMES.index("token")
_NEEDED: Final = frozenset(
    ("queue", "payload", "kind", "priority", "status", "first_due_at", "attempts", "token", "created_at")
)
_NUMBERS: Final = frozenset(("id", "priority", "attempts", "token", *(_NAMES[place] for place in _MOMENTS)))


def _types(name: str) -> frozenset[type]:
    known: tuple[type, ...] = (int, Int64) if name in _NUMBERS else (str,)
    return frozenset(known if name in _NEEDED or name == "id" else (*known, type(None)))


_SOUND: Final = Shapes(*map(_types, _NAMES))


PLAIN: Final = {"fields": 0, "labels": 0}
"""The projection with which messages are read: without the fields for conditions."""


def history_document(past: HistoryRow) -> dict[str, Any]:
    """Return the document of a finished turn, without its expiry."""
    fields: dict[str, Any] = {
        name: micro(value) if isinstance(value, datetime) else value
        for name, value in msgspec.structs.asdict(past).items()
        if value is not None
    }
    fields |= {"id": Int64(past.id), "token": Int64(past.token)}
    for name in SHADOWS:
        fields |= shadow(name, fields.get(name))
    return fields


def history_row_of(found: Mapping[str, Any]) -> HistoryRow:
    """Return a stored turn."""
    return HistoryRow(
        id=int(found["id"]),
        token=int(found["token"]),
        queue=found["queue"],
        key=found.get("key"),
        kind=found["kind"],
        payload=found["payload"],
        headers=found.get("headers"),
        group=found.get("group"),
        priority=found["priority"],
        outcome=found["outcome"],
        moved_to=found.get("moved_to"),
        attempts=found["attempts"],
        created_at=told_moment(found.get("created_at")),
        first_due_at=told_moment(found.get("first_due_at")),
        due_at=told_moment(found.get("due_at")),
        started_at=told_moment(found.get("started_at")),
        finished_at=told_moment(found.get("finished_at")),
        worker=found.get("worker"),
        error=found.get("error"),
    )


# The fields that conditions search.


def shadow(field: str, text: str | None) -> dict[str, Any]:
    """Return the field in which conditions search a JSON text's value; no field if the text is null or invalid."""
    if text is None:
        return {}
    try:
        shown = _shown(read_json(text))
    except (ValueError, RecursionError):
        return {}
    return {} if shown is None else {SHADOWS[field]: shown}


def read_json(text: str) -> Any:
    """Return the value of JSON text, which may contain numbers too large for a float.

    Raises ValueError if it is not JSON, and RecursionError if it is nested too deeply.
    """
    try:
        return _decode(text)
    except msgspec.DecodeError:
        return json.loads(text)


def escaped(name: str) -> str:
    """Return the name of a JSON member as a valid field name: escaped if it is empty or has dots or dollars."""
    if not name:
        return "%"
    name = name.replace("%", "%25").replace(".", "%2E").replace("$", "%24").replace("\0", "%00")
    return name if _is_text(name) else repr(name)


def _shown(value: Any) -> Any:
    """Return a value in a form in which conditions match only the value at the end of their path.

    The server would search the members of a list, and match the list if one of them matches, so lists are replaced by
    `%list`. Values that duerow's codecs never write are replaced by `%odd`: numbers outside the range of finite floats,
    and text that is not valid Unicode. Escaping a name never results in `%list` or `%odd`.
    """
    if isinstance(value, dict):
        return {escaped(name): _shown(member) for name, member in value.items()}
    if isinstance(value, list):
        return {"%list": True}
    if isinstance(value, int) and not isinstance(value, bool) and not _LEAST <= value <= _MOST:
        return _far(value)
    if (isinstance(value, float) and not isfinite(value)) or (isinstance(value, str) and not _is_text(value)):
        return {"%odd": True}
    return value


def _far(value: int) -> Any:
    """Return an integer beyond 64 bits, which duerow never writes, as the nearest float, if there is one."""
    try:
        return float(value)
    except OverflowError:
        return {"%odd": True}


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
