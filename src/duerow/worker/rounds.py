"""Functions around each round of a frame station, which handles a batch of messages as a data frame: for telemetry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from decimal import Decimal
from typing import Any, Final

import msgspec


class FrameRound(msgspec.Struct):
    """A batch that a frame station handles.

    Attributes:
        queue: the queue of its messages.
        messages: how many there are.
        failed: how many of them have failed so far.
        observed: the values that the station's `observe` found in the last finished part of the batch, by name.
    """

    queue: str
    messages: int
    failed: int = 0
    observed: dict[str, Any] = {}


AROUND: Final[list[Callable[[FrameRound], AbstractContextManager[None]]]] = []
"""The functions; the first is the outermost."""


@contextmanager
def entered(one: FrameRound) -> Iterator[FrameRound]:
    """Run a block inside all of the functions."""
    with ExitStack() as within:
        for layer in AROUND:
            within.enter_context(layer(one))
        yield one


def numbers_of(observed: Mapping[str, Any]) -> dict[str, float]:
    """Return only the values that are numbers, by name."""
    return {name: float(value) for name, value in observed.items() if type(value) in (int, float, Decimal)}
