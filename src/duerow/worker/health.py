"""Whether a worker is alive and ready to work, for the probes of its process manager."""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from duerow.worker.run import Run

SILENT: Final = 60.0
"""Seconds without maintenance after which a worker counts as hanging; maintenance runs at least every 10 s."""


class Health(NamedTuple):
    """The state of a worker.

    Attributes:
        alive: False if it hangs and should be killed and restarted.
        ready: whether it runs and its database answers.
        why: the reason in words; `ok` if it is ready.
    """

    alive: bool
    ready: bool
    why: str


def health_of(run: Run | None) -> Health:
    """Return the health of a run; None: the worker is not running."""
    if run is None:
        return Health(True, False, "the worker is not running")
    silent = monotonic() - run.looked_after_at
    if silent > SILENT:
        return Health(False, False, f"the worker on {run.queue} has not checked its database for {silent:.0f} s")
    if run.over:
        return Health(True, False, f"the worker on {run.queue} is stopping")
    if not run.reaches:
        return Health(True, False, f"the database of the worker on {run.queue} does not answer")
    return Health(True, True, "ok")


def health_of_all(each: Iterable[Health]) -> Health:
    """Return the health of several workers: the worst of them."""
    return min(each, key=lambda one: (one.alive, one.ready), default=health_of(None))
