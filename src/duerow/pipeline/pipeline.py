"""A pipeline: stations connected by queues; a graph that is checked when it is created. No I/O here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from duerow.errors import ConfigurationError, NotSupported, shown
from duerow.pipeline.crossing import Crossing, crossing
from duerow.pipeline.elsewhere import Elsewhere, by_name
from duerow.pipeline.frame import Frame
from duerow.pipeline.graph import Graph
from duerow.pipeline.host import check_face
from duerow.pipeline.join import Join
from duerow.pipeline.stations import Fork, Split, Station, check_name
from duerow.pipeline.table import TableSource, check_compaction
from duerow.store import Capabilities

if TYPE_CHECKING:
    from duerow.pipeline.host import AwaitedHost, AwaitedPipelineRun, Host, PipelineRun
    from duerow.worker.run import Until


@dataclass(frozen=True)
class Pipeline:
    """Stations connected by queues: checked when created, the same on Spark and on plain workers.

    Every station to which no other station sends is an entry: push messages into the queue with its name. Running a
    pipeline stores it in the database, so that other programs can see it: `Database.pipelines()`.

    Args:
        name: its name.
        stations: all of them, in any order. For each queue in another database to which they send, the pipeline adds a
            station in whose queue the messages wait.
        outputs: queues that stations send to but no station reads.
        max_hops: the maximum number of queues that a message may go through; a message that would exceed this limit is
            buried with that reason.

    Raises:
        ConfigurationError: two stations, or a station and an output, share a name; a target is neither a station nor an
            output; a station cannot be reached from an entry; a station cannot reach an end. The error names the
            culprit.
    """

    name: str
    stations: Sequence[Station]
    outputs: Sequence[str] = ()
    _: KW_ONLY
    max_hops: int = 100

    def __post_init__(self) -> None:
        check_name("a pipeline", self.name)
        object.__setattr__(self, "stations", _all_stations(self))
        object.__setattr__(self, "outputs", _all_outputs(self))
        if type(self.max_hops) is not int or self.max_hops < 1:
            raise ConfigurationError(f"{self}: max_hops must be an integer of at least 1, not {shown(self.max_hops)}")
        _check_duplicates(self)
        _check_targets(self)
        _check_reached(self)
        _check_ways_out(self)
        check_compaction(self.stations)

    def __str__(self) -> str:
        return f"pipeline {self.name!r}"

    @property
    def queues(self) -> list[str]:
        """The queues of the stations, in the order of the stations."""
        return [station.name for station in self.stations]

    @property
    def consumers(self) -> list[Station]:
        """Everything that reads a queue: the stations, and the second consumers of joins and table sinks."""
        return [consumer for station in self.stations for consumer in station.consumers]

    @property
    def crossings(self) -> list[Crossing]:
        """The stations whose queues hold the messages that wait for other databases."""
        return [station for station in self.stations if isinstance(station, Crossing)]

    @property
    def entries(self) -> list[str]:
        """The stations to which no other station sends."""
        fed = {target for station in self.stations for target in station.targets if target != station.name}
        return [name for name in self.queues if name not in fed]

    def station(self, name: str) -> Station:
        """Return the station with this name; raise ConfigurationError if there is none."""
        for station in self.stations:
            if station.name == name:
                return station
        raise ConfigurationError(f"{self} has no station {shown(name)}; it has {', '.join(map(repr, self.queues))}")

    @property
    def graph(self) -> Graph:
        """The pipeline in the form in which it is drawn and stored in the database."""
        nodes = tuple(station.node() for station in self.stations)
        return Graph(self.name, nodes, tuple(self.outputs), self.max_hops)

    def check_store(self, capabilities: Capabilities) -> None:
        """Raise NotSupported if a station needs a transaction that the store does not support."""
        needing = [
            station
            for station in self.stations
            if isinstance(station, Fork | Split | Join | TableSource)
            or (isinstance(station, Frame) and not station.rowwise)
        ]
        if needing and not capabilities.transactions:
            need = "need" if len(needing) > 1 else "needs"
            raise NotSupported(
                f"{self}: {', '.join(map(str, needing))} {need} a store that can change several messages together, and "
                "this one cannot; use sqlite:// or postgresql://"
            )
        deciding = [one for one in needing if isinstance(one, Join) and one.complete is not None]
        if deciding and not capabilities.interactive:
            call = "call" if len(deciding) > 1 else "calls"
            raise NotSupported(
                f"{self}: {', '.join(map(str, deciding))} {call} a function inside the database's transaction, which "
                "this store does not support; give count= instead of complete=, or connect to the database itself"
            )

    def is_on_a_loop(self, station: Station) -> bool:
        """Return whether a message that leaves a station can come back to it."""
        onwards = {one.name: set(one.targets) for one in self.stations}
        return station.name in _reachable(station.targets, onwards)

    def run(
        self,
        database: Host,
        until: Until = "idle",
        *,
        rehome: Mapping[str, str] | None = None,
        signals: bool | None = None,
    ) -> None:
        """Run the pipeline in this process without Spark, with a plain worker for each station.

        Args:
            database: what `duerow.connect` returned.
            until: "idle" returns when nothing is due in the stations' queues; "empty" returns when they hold no message
                with a due time, so it waits for delayed messages, for sets that wait for parts, and for messages that
                others have reserved. None: run until SIGTERM or SIGINT; to stop it from the program, see `worker`.
            rehome: where the messages of removed stations go; see `Database.declare_pipeline`.
            signals: whether to handle those signals; see `Worker.run`.

        Raises:
            ConfigurationError: a removed station still has unfinished messages; or the database is not a blocking one.
            NotSupported: the store lacks what forks, splits and joins need; or a station needs Spark.
        """
        self.worker(database, rehome=rehome).run(until, signals=signals)

    async def arun(
        self,
        database: AwaitedHost,
        until: Until = "idle",
        *,
        rehome: Mapping[str, str] | None = None,
        signals: bool | None = None,
    ) -> None:
        """Like `run`, but takes the result of `duerow.aio.connect`; the stations' functions run in threads."""
        await self.aworker(database, rehome=rehome).run(until, signals=signals)

    def worker(self, database: Host, *, rehome: Mapping[str, str] | None = None) -> PipelineRun:
        """Return an object that runs the pipeline on plain workers; it has a worker's `run` and `stop`.

        Args:
            database: what `duerow.connect` returned.
            rehome: where the messages of removed stations go; see `Database.declare_pipeline`.

        Raises:
            ConfigurationError: the database is not a blocking one.
            NotSupported: the store lacks what forks, splits and joins need; or a station needs Spark.
        """
        check_face(self, database, awaited=False)
        return database.pipeline_worker(self, rehome)

    def aworker(self, database: AwaitedHost, *, rehome: Mapping[str, str] | None = None) -> AwaitedPipelineRun:
        """Like `worker`, but takes the result of `duerow.aio.connect`, and its `run` is awaited."""
        check_face(self, database, awaited=True)
        return database.pipeline_worker(self, rehome)

    def mermaid(self) -> str:
        """Return the graph as Mermaid source."""
        return self.graph.mermaid()

    def dot(self) -> str:
        """Return the graph in Graphviz's DOT language."""
        return self.graph.dot()

    def svg(self) -> str:
        """Return the graph as an SVG drawing; see `Graph.svg`."""
        return self.graph.svg()


def _all_stations(pipeline: Pipeline) -> tuple[Station, ...]:
    given: object = pipeline.stations
    if not isinstance(given, Iterable):
        raise ConfigurationError(f"{pipeline}: its stations must be a list, not {shown(given)}")
    stations = tuple(given)
    if not stations:
        raise ConfigurationError(f"{pipeline} has no stations; give it at least one")
    for station in stations:
        if not isinstance(station, Station):
            raise ConfigurationError(
                f"{pipeline}: {shown(station)} is not a station; use a Relay, Switch, Fork, Split, Join, Frame, Sink, "
                "TableSink or TableSource"
            )
    return (*stations, *map(crossing, _elsewhere(stations)))


def _elsewhere(stations: Iterable[Station]) -> Iterable[Elsewhere]:
    """Return the queues of other databases to which stations send, each once."""
    return by_name(there for station in stations for there in station.elsewhere.values() if there is not None).values()


def _all_outputs(pipeline: Pipeline) -> tuple[str, ...]:
    given: object = pipeline.outputs
    if isinstance(given, str):
        raise ConfigurationError(f"{pipeline}: outputs must be a list of queues; write outputs=[{shown(given)}]")
    if not isinstance(given, Iterable):
        raise ConfigurationError(f"{pipeline}: outputs must be a list of queues, not {shown(given)}")
    outputs = tuple(given)
    for output in outputs:
        check_name(f"an output of {pipeline}", output)
    return outputs


def _check_duplicates(pipeline: Pipeline) -> None:
    seen: set[str] = set()
    for name in (*(consumer.name for consumer in pipeline.consumers), *pipeline.outputs):
        if name in seen:
            raise ConfigurationError(
                f"{pipeline} has {name!r} twice; each station needs its own name, and cannot also be an output"
            )
        seen.add(name)


def _check_targets(pipeline: Pipeline) -> None:
    known = {*pipeline.queues, *pipeline.outputs}
    for station in pipeline.stations:
        for label, target in station.ways.items():
            if target not in known:
                on = f" for label {label!r}" if label else ""
                raise ConfigurationError(
                    f"{pipeline}: {station} sends to the unknown queue {target!r}{on}; add a station of that name, "
                    f"or pass outputs=[{target!r}]"
                )


def _check_reached(pipeline: Pipeline) -> None:
    """Refuse what no message can reach: loops without an entry, and outputs to which no station sends."""
    onwards = {station.name: set(station.targets) for station in pipeline.stations}
    reached = _reachable(pipeline.entries, onwards)
    if lost := [name for name in pipeline.queues if name not in reached]:
        raise ConfigurationError(
            f"{pipeline}: no entry leads to {', '.join(map(repr, lost))}; an entry is a station that no other one "
            "sends to, so put one before the loop"
        )
    if lost := [name for name in pipeline.outputs if name not in reached]:
        raise ConfigurationError(f"{pipeline}: no station sends to the output {', '.join(map(repr, lost))}")


def _check_ways_out(pipeline: Pipeline) -> None:
    """Refuse stations whose messages could only circulate forever."""
    ends = [station.name for station in pipeline.stations if not station.ways]
    back: dict[str, set[str]] = {}
    for station in pipeline.stations:
        for target in station.targets:
            back.setdefault(target, set()).add(station.name)
    leaving = _reachable([*ends, *pipeline.outputs], back)
    if caught := [name for name in pipeline.queues if name not in leaving]:
        raise ConfigurationError(
            f"{pipeline}: there is no way out of {', '.join(map(repr, caught))}; make one of them send to a Sink or an "
            "output"
        )


def _reachable(starts: Iterable[str], onwards: Mapping[str, set[str]]) -> set[str]:
    """Return everything that can be reached from these names, the names included."""
    reached: set[str] = set()
    coming = list(starts)
    while coming:
        name = coming.pop()
        if name not in reached:
            reached.add(name)
            coming += onwards.get(name, ())
    return reached
