"""The progress that a handler reports: written for people while it works, and deleted some time later.

The latest report on a message is a separate message, in the queue `NAME/progress`, with the message's id in its key.
It is due when it may be deleted; see `duerow.queue.beside`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import isfinite
from typing import Any, Final

import msgspec

from duerow.errors import ConfigurationError, shown
from duerow.message import Draft
from duerow.payload.codec import storable
from duerow.queue.beside import PROGRESS, marked, own_key

KEPT: Final = timedelta(days=1)
"""How long the progress of a message is kept after it was last written."""

LONGEST: Final = 500
"""How many characters of a text are kept."""


class Progress(msgspec.Struct, frozen=True, gc=False):
    """The progress of a message's handler, as it was last reported.

    Attributes:
        fraction: how much is done, from 0 to 1; None: not reported.
        text: what the handler is doing, for people; None: not reported.
        attempt: the attempt that reported it.
        at: when it was written, by the worker's clock; None: it has not been written yet.
    """

    fraction: float | None
    text: str | None
    attempt: int
    at: datetime | None = None

    @property
    def shown(self) -> str:
        """The progress in one line, for people: `40 %, page 4 of 10 (attempt 1)`."""
        parts = [] if self.fraction is None else [f"{self.fraction:.0%}".replace("%", " %")]
        return f"{', '.join([*parts, *filter(None, [self.text])])} (attempt {self.attempt})"


def said(fraction: object, text: object, attempt: int) -> Progress:
    """Return the progress that a handler reports.

    Raises:
        ConfigurationError: the fraction is not a number from 0 to 1, the text is not a string, or both are missing.
    """
    if fraction is None and text is None:
        raise ConfigurationError("progress takes a fraction from 0 to 1, a text, or both")
    if fraction is not None and (
        isinstance(fraction, bool)
        or not isinstance(fraction, int | float)
        or not isfinite(fraction)
        or not 0 <= fraction <= 1
    ):
        raise ConfigurationError(f"progress must be a fraction from 0 to 1, not {shown(fraction)}")
    if text is not None and not isinstance(text, str):
        raise ConfigurationError(f"the text of progress must be a string, not {type(text).__name__}")
    return Progress(
        None if fraction is None else float(fraction), None if text is None else storable(text)[:LONGEST], attempt
    )


def draft(id: int, progress: Progress, now: datetime) -> Draft:
    """Return the message that stores the reported progress of a message."""
    payload = marked(PROGRESS, msgspec.to_builtins(msgspec.structs.replace(progress, at=now)))
    return Draft(payload, key=own_key(id), delay=KEPT)


def progress_of(payload: Any) -> Progress:
    """Return the progress that was written as a payload."""
    return msgspec.convert(payload, Progress)
