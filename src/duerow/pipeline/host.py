"""What a pipeline needs of a database, of either face, to run on plain workers: no face is imported for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from typing import Any, Protocol

from duerow.errors import ConfigurationError
from duerow.worker.run import Until


class PipelineRun(Protocol):
    """What runs a pipeline in threads; `duerow.sync.stations.PipelineWorker`."""

    def run(self, until: Until = None, *, signals: bool | None = None) -> None:
        """Run until nothing is left to do, or for as long as nobody stops it."""
        ...

    def stop(self) -> None:
        """Ask it to stop."""
        ...


class AwaitedPipelineRun(Protocol):
    """What runs a pipeline on an event loop; `duerow.aio.stations.PipelineWorker`."""

    async def run(self, until: Until = None, *, signals: bool | None = None) -> None:
        """Run until nothing is left to do, or for as long as nobody stops it."""
        ...

    def stop(self) -> None:
        """Ask it to stop."""
        ...


class Host(Protocol):
    """A database of the blocking face; `duerow.Database`."""

    def pipeline_worker(self, pipeline: Any, rehome: Mapping[str, str] | None = None) -> PipelineRun:
        """Return what runs a pipeline on plain workers."""
        ...


class AwaitedHost(Protocol):
    """A database of the awaited face; `duerow.aio.Database`."""

    def pipeline_worker(self, pipeline: Any, rehome: Mapping[str, str] | None = None) -> AwaitedPipelineRun:
        """Return what runs a pipeline on plain workers."""
        ...


class Queues(Protocol):
    """What gives a station its queue: a database of either face."""

    @property
    def queue(self) -> Callable[..., Any]:
        """Return the queue of a name; see `duerow.Database.queue`."""
        ...


def check_face(pipeline: object, database: object, awaited: bool) -> None:
    """Raise ConfigurationError unless this is a database of the awaited face, or of the blocking one."""
    face = type(database)
    declares = getattr(face, "declare_pipeline", None)
    if declares is not None and iscoroutinefunction(declares) == awaited:
        return
    way = "arun() awaits what duerow.aio.connect() returns" if awaited else "run() takes what duerow.connect() returns"
    raise ConfigurationError(
        f"{pipeline}: {way}, not {face.__module__}.{face.__qualname__}; use {'run' if awaited else 'arun'}() for that"
    )
