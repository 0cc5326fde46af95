"""What a pipeline needs from a database, blocking or async, to run on plain workers; this module imports neither."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from duerow.errors import ConfigurationError
from duerow.worker.run import Until, is_async


class PipelineRun(Protocol):
    """Runs a pipeline in threads; `duerow.sync.stations.PipelineWorker`."""

    def run(self, until: Until = None, *, signals: bool | None = None) -> None:
        """Run until nothing is left to do, or until `stop` is called."""
        ...

    def stop(self) -> None:
        """Ask the run to stop."""
        ...


class AwaitedPipelineRun(Protocol):
    """Runs a pipeline on an event loop; `duerow.aio.stations.PipelineWorker`."""

    async def run(self, until: Until = None, *, signals: bool | None = None) -> None:
        """Run until nothing is left to do, or until `stop` is called."""
        ...

    def stop(self) -> None:
        """Ask the run to stop."""
        ...


class Host(Protocol):
    """A blocking database; `duerow.Database`."""

    def pipeline_worker(self, pipeline: Any, rehome: Mapping[str, str] | None = None) -> PipelineRun:
        """Return an object that runs a pipeline on plain workers."""
        ...


class AwaitedHost(Protocol):
    """An async database; `duerow.aio.Database`."""

    def pipeline_worker(self, pipeline: Any, rehome: Mapping[str, str] | None = None) -> AwaitedPipelineRun:
        """Return an object that runs a pipeline on plain workers."""
        ...


class Queues(Protocol):
    """Gives a station its queue: a database, blocking or async."""

    @property
    def queue(self) -> Callable[..., Any]:
        """Return the queue with this name; see `duerow.Database.queue`."""
        ...


def check_face(pipeline: object, database: object, awaited: bool) -> None:
    """Raise ConfigurationError unless the database is of the required kind: async if `awaited`, else blocking."""
    face = type(database)
    declares = getattr(face, "declare_pipeline", None)
    if declares is not None and is_async(declares) == awaited:
        return
    way = "arun() takes the result of duerow.aio.connect()" if awaited else "run() takes the result of duerow.connect()"
    raise ConfigurationError(
        f"{pipeline}: {way}, not {face.__module__}.{face.__qualname__}; use {'run' if awaited else 'arun'}() for that"
    )
