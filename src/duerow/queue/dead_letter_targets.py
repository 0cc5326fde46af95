"""Bringing dead letters back: which headers they lose, and which queues dead letters may go to."""

from __future__ import annotations

from collections.abc import Mapping

from duerow.errors import CodecError, ConfigurationError
from duerow.message import Scalar
from duerow.payload.codec import decode_headers
from duerow.payload.dead_letter_headers import BEFORE, FROM, HEADERS, HOME, KEY, home, text_of


def restored(headers: Mapping[str, Scalar]) -> dict[str, Scalar | None]:
    """Return the changes that remove the dead-letter headers and restore those that the message had before."""
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


class DeadLetterTargets:
    """Where queues with a handle in this process send their dead letters."""

    def __init__(self) -> None:
        self._by_queue: dict[str, str] = {}

    def add(self, queue: str, target: str) -> None:
        """Record the target of a queue; raise ConfigurationError if dead letters would go in circles."""
        targets = {**self._by_queue, queue: target}
        check_targets(targets)
        self._by_queue = targets

    def take(self, queue: str) -> bool:
        """Return whether a queue is the target of another queue."""
        return queue in self._by_queue.values()

    def check(self, stored: Mapping[str, str | None], queue: str, target: str | None) -> None:
        """Raise ConfigurationError if this target would close a circle with stored and recorded targets."""
        targets = {**stored, **self._by_queue, queue: target}
        check_targets({name: one for name, one in targets.items() if one is not None})


def check_targets(targets: Mapping[str, str]) -> None:
    """Raise ConfigurationError if dead letters would go in circles; `targets` maps each queue to its target."""
    for queue in targets:
        way = [queue]
        while (after := targets.get(way[-1])) is not None:
            way.append(after)
            if after in way[:-1]:
                circle = " -> ".join(map(repr, way))
                raise ConfigurationError(f"dead letters would go in circles: {circle}; name another dead_letter queue")
