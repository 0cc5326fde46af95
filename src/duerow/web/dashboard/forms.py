"""Values of forms: times, spans, numbers, JSON and names of queues."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from duerow.errors import ConfigurationError, InvalidMessage, shown
from duerow.message import check_queue_name

UNITS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def when(values: Mapping[str, str]) -> tuple[datetime | None, timedelta | None]:
    """Return a due time or a delay from a form: `now`, `stop`, a span such as `10m`, or a time.

    Raises:
        InvalidMessage: it is none of these.
    """
    text = values.get("when", "").strip()
    if text in ("now", ""):
        return None, timedelta(0)
    if text == "stop":
        return None, None
    if (found := _span(text)) is not None:
        return None, found
    at = _moment(text)
    if at is None:
        raise InvalidMessage(
            f"{shown(text)} is not a due time: write now, stop, a span such as 30s, 10m, 2h or 1d, or a time such as "
            "2026-03-01T12:00Z"
        )
    return at, None


def moment(text: str, name: str) -> datetime:
    """Return a time such as 2026-03-01T12:00Z, by default in UTC; raise InvalidMessage if it is invalid."""
    at = _moment(text)
    if at is None:
        raise InvalidMessage(f"{name} must be a time such as 2026-03-01T12:00Z, not {shown(text)}")
    return at


def _moment(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def _span(text: str) -> timedelta | None:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(digits) :].strip()
    if unit not in UNITS or not digits.replace(".", "", 1).isdecimal():
        return None
    try:
        return timedelta(seconds=float(digits) * UNITS[unit])
    except OverflowError:
        return None


def span(text: str, name: str) -> timedelta:
    """Return a span such as `30s`, `10m`, `2h` or `1d`; raise InvalidMessage if it is invalid."""
    found = _span(text.strip())
    if found is None:
        raise InvalidMessage(f"{name} must be a span such as 30s, 10m, 2h or 1d, not {shown(text)}")
    return found


def edited(values: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of `edit` from a form: a payload, a patch, headers.

    Raises:
        InvalidMessage: one of them is not JSON.
        ConfigurationError: there is nothing to change.
    """
    given = {
        name: as_json(values[name], name) for name in ("payload", "patch", "headers") if values.get(name, "").strip()
    }
    if not given:
        raise ConfigurationError("there is nothing to change: give a payload, a patch or headers")
    return given


def as_json(text: str, name: str) -> Any:
    """Return the value of JSON text; raise InvalidMessage with the position of an error."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidMessage(
            f"the {name} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise InvalidMessage(f"the {name} is nested too deeply") from None


def integer(text: str, name: str) -> int:
    """Return an integer from a form; raise InvalidMessage if it is invalid."""
    plain = text.strip()
    if not plain.lstrip("+-").isdecimal() or len(plain) > 19:
        raise InvalidMessage(f"{name} must be an integer, not {shown(text)}")
    return int(plain)


def queue_name(values: Mapping[str, str], name: str = "to") -> str:
    """Return the queue name in a field of a form; raise InvalidMessage if it is invalid."""
    return check_queue_name(values.get(name, "").strip())


def rate_of(values: Mapping[str, str]) -> float | None:
    """Return a rate per second from a form; None: as fast as possible."""
    text = values.get("rate", "").strip()
    if not text:
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e9:
        raise ConfigurationError(f"a rate must be a number of messages per second above 0, not {shown(text)}")
    return rate
