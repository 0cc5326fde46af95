"""Bringing dead letters back: which headers they lose, and which queues may be their targets."""

from __future__ import annotations

from collections.abc import Mapping

from duerow.errors import CodecError, ConfigurationError
from duerow.message import Scalar
from duerow.payload.codec import decode_headers
from duerow.payload.dead_letter_headers import BEFORE, FROM, HEADERS, HOME, KEY, home, text_of


def restored(headers: Mapping[str, Scalar]) -> dict[str, Scalar | None]:
    """Return the changes that remove the dead-letter headers; those that the message had before come back."""
    changes: dict[str, Scalar | None] = {name: None for name in (*HEADERS, BEFORE) if name in headers}
    try:
        before = decode_headers(str(headers.get(BEFORE, "{}")))
    except CodecError:  # not written by duerow
        return changes
    changes |= {name: before[name] for name in HEADERS if name in before}
    if HOME in headers and FROM in headers:
        without = {name: value for name, value in before.items() if name in HEADERS}
        if home(str(headers[FROM]), text_of(headers.get(KEY)), without) == home("", None, headers):
            changes[HOME] = None
    return changes


def check_targets(targets: Mapping[str, str]) -> None:
    """Raise ConfigurationError if dead letters would go in a circle; `targets` maps each queue to its target."""
    for queue in targets:
        way = [queue]
        while (after := targets.get(way[-1])) is not None:
            way.append(after)
            if after in way[:-1]:
                circle = " -> ".join(map(repr, way))
                raise ConfigurationError(f"dead letters would go in a circle: {circle}; name another dead_letter queue")
