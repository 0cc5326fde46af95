"""Both faces of entity queues, presented with blocking calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.ext.asyncio import create_async_engine

from duerow.aio.entity import EntityQueue as AwaitedEntityQueue
from duerow.clock import Clock
from duerow.entity import EntityQueue
from duerow.testing.faces import AwaitedFace, Face, presented
from tests.entity.models import engine_of


@contextmanager
def engine_of_face(face: Face, url: str) -> Iterator[Any]:
    """An engine of the face's own kind."""
    if isinstance(face, AwaitedFace):
        engine = create_async_engine(url)
        yield engine
        face.run(engine.dispose())
    else:
        blocking = engine_of(url)
        yield blocking
        blocking.dispose()


def queue_of_face(face: Face, state: Any, engine: Any, clock: Clock | None, terms: dict[str, Any]) -> Any:
    """An entity queue of the face."""
    if isinstance(face, AwaitedFace):
        return presented(AwaitedEntityQueue(state, engine, clock=clock, **terms), face)
    return EntityQueue(state, engine, clock=clock, **terms)
