"""Steps for stored pipelines: one function for each, called with the state and the time."""

from __future__ import annotations

from datetime import datetime

from duerow.store import StoredPipeline
from duerow.stores.memory.state import State


def find(state: State, now: datetime, name: str | None) -> list[StoredPipeline]:
    """Return all pipelines ordered by name, or the one with the given name."""
    return [state.pipelines[known] for known in sorted(state.pipelines) if name in (None, known)]


def change(state: State, now: datetime, name: str, version: int | None, after: StoredPipeline | None) -> bool:
    """Save a pipeline if it still has the version that was read."""
    known = state.pipelines.get(name)
    if version != (None if known is None else known.version):
        return False
    state.assign(state.pipelines, name, after)
    return True
