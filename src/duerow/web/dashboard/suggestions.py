"""Suggestions for the condition field: fields, and their values in the latest messages of a queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, get_args

from duerow.conditions.fields import FIELDS, Path, path_text
from duerow.conditions.model import Compare
from duerow.errors import DuerowError
from duerow.message import Message, Status
from duerow.web.api.common import check_searchable
from duerow.web.dashboard.visit import Visit
from duerow.web.refusals import Refusal
from duerow.web.web import Web

SAMPLE: Final = 50
"""How many of a queue's latest messages are read: those that are due last, which an index finds."""

SAMPLE_AGE: Final = 10.0
"""Seconds for which suggestions are reused."""

MOST_FIELDS: Final = 60
MOST_VALUES: Final = 8
DEEPEST: Final = 4
LONGEST: Final = 60
"""The most characters of a suggested text."""


async def suggestions(visit: Visit, name: str) -> dict[str, list[str]]:
    """Return fields of the messages of a queue in the syntax of conditions, each with values to compare it with."""
    handle = await visit.web.queue(name)

    async def sampled() -> list[Message[Any]]:
        return await handle.find(order="-due_at", limit=SAMPLE)

    try:
        latest = await visit.live.shared(("sample", name), sampled, SAMPLE_AGE, SAMPLE_AGE)
    except DuerowError:  # the list of messages shows the error
        return {}
    return fields_of(visit.web, name, latest)


def fields_of(web: Web, queue: str, messages: Iterable[Message[Any]]) -> dict[str, list[str]]:
    """Return the fields that may be searched, with values that people may see."""
    found: dict[Path, dict[str, None]] = {(one,): {} for one in FIELDS}
    found["status",] = {repr(one): None for one in get_args(Status)}
    for message in map(web.shown, messages):
        for one in ("key", "group", "kind"):
            _add(found, (one,), getattr(message, one))
        for part in ("headers", "payload"):
            for path, value in _leaves((part,), getattr(message, part)):
                if path in found or len(found) < MOST_FIELDS:
                    _add(found, path, value)
    return {path_text(path): list(values) for path, values in found.items() if _may_ask(web, queue, path)}


def _add(found: dict[Path, dict[str, None]], path: Path, value: Any) -> None:
    values = found.setdefault(path, {})
    if len(values) < MOST_VALUES and value is not None and not (isinstance(value, str) and len(value) > LONGEST):
        values.setdefault(str(Compare(path, "=", value)).removeprefix(f"{path_text(path)} = "))


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    """Yield the values in a payload that a condition can compare; it cannot reach those in lists."""
    if isinstance(value, Mapping):
        if len(path) <= DEEPEST:
            for name, one in value.items():
                yield from _leaves((*path, str(name)), one)
    elif value is None or isinstance(value, bool | int | float | str):
        yield path, value


def _may_ask(web: Web, queue: str, path: Path) -> bool:
    try:
        check_searchable(web, queue, None, path)
    except Refusal:
        return False
    return True
