"""A pipeline: stations joined by queues of one database; a graph that is checked when it is made. No I/O here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from duerow.errors import ConfigurationError, NotSupported
from duerow.pipeline.frame import Frame
from duerow.pipeline.graph import Graph
from duerow.pipeline.host import check_face
from duerow.pipeline.join import Join
from duerow.pipeline.stations import Fork, Split, Station, check_name
from duerow.store import Capabilities

if TYPE_CHECKING:
    from duerow.pipeline.host import AwaitedHost, AwaitedPipelineRun, Host, PipelineRun
    from duerow.worker.run import Until


@dataclass(frozen=True)
class Pipeline:
    """Stations joined by queues: checked when it is made, the same on Spark and on plain workers.

    Every station that no other one sends to is an entry: push messages into the queue of its name. When it is run it is
    kept in the database, so that others can see it: `Database.pipelines()`.

    Args:
        name: what it is called.
        stations: all of them, in any order.
        outputs: queues that stations send to and no station reads.
        max_hops: how many queues a message may go through; beyond, it is buried with that reason.

    Raises:
        ConfigurationError: two stations, or a station and an output, have one name; a target is neither; a station
            cannot be reached from an entry; from a station no end can be reached. The message says which.
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
            raise ConfigurationError(f"{self}: max_hops is {self.max_hops!r:.80}; it is an integer of at least 1")
        _check_duplicates(self)
        _check_targets(self)
        _check_reached(self)
        _check_ways_out(self)

    def __str__(self) -> str:
        return f"pipeline {self.name!r}"

    @property
    def queues(self) -> list[str]:
        """The queues of the stations, in the order of the stations."""
        return [station.name for station in self.stations]

    @property
    def consumers(self) -> list[Station]:
        """What has a queue to be worked on: the stations, and the sets of the joins among them."""
        return [consumer for station in self.stations for consumer in station.consumers]

    @property
    def entries(self) -> list[str]:
        """The stations that no other one sends to."""
        fed = {target for station in self.stations for target in station.targets if target != station.name}
        return [name for name in self.queues if name not in fed]

    def station(self, name: str) -> Station:
        """Return the station of this name; raise ConfigurationError if there is none."""
        for station in self.stations:
            if station.name == name:
                return station
        raise ConfigurationError(f"{self} has no station {name!r:.120}; it has {', '.join(map(repr, self.queues))}")

    @property
    def graph(self) -> Graph:
        """The pipeline as a drawing has it, and as it is kept in the database."""
        nodes = tuple(station.node() for station in self.stations)
        return Graph(self.name, nodes, tuple(self.outputs), self.max_hops)

    def check_store(self, capabilities: Capabilities) -> None:
        """Raise NotSupported if it has stations that need a transaction over several messages, and there are none."""
        needing = [
            station
            for station in self.stations
            if isinstance(station, Fork | Split | Join) or (isinstance(station, Frame) and not station.rowwise)
        ]
        if needing and not capabilities.transactions:
            raise NotSupported(
                f"{self}: {', '.join(map(str, needing))} need a store that changes several messages together, and this "
                "one does not; use sqlite:// or postgresql://"
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
        """Run the pipeline in this process without Spark, on a plain worker for each station.

        Args:
            database: what `duerow.connect` returned.
            until: "idle" returns when nothing is due in the stations' queues; "empty" when no message with a due time
                is left there, which waits for delayed ones, for sets that wait for parts, and for those of others.
                None: runs until SIGTERM or SIGINT; to stop it from the program, see `worker`.
            rehome: where the messages of removed stations go; see `Database.declare_pipeline`.
            signals: whether those signals are taken; see `Worker.run`.

        Raises:
            ConfigurationError: a station was removed that has messages under way; not a blocking database.
            NotSupported: the store cannot do what forks, splits and joins need; or there are frames, which take Spark.
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
        """As `run`, on what `duerow.aio.connect` returned; the stations' functions run in threads."""
        await self.aworker(database, rehome=rehome).run(until, signals=signals)

    def worker(self, database: Host, *, rehome: Mapping[str, str] | None = None) -> PipelineRun:
        """Return what runs the pipeline on plain workers, with the `run` and `stop` of a worker.

        Args:
            database: what `duerow.connect` returned.
            rehome: where the messages of removed stations go; see `Database.declare_pipeline`.

        Raises:
            ConfigurationError: not a blocking database.
            NotSupported: the store cannot do what forks, splits and joins need; or there are frames, which take Spark.
        """
        check_face(self, database, awaited=False)
        return database.pipeline_worker(self, rehome)

    def aworker(self, database: AwaitedHost, *, rehome: Mapping[str, str] | None = None) -> AwaitedPipelineRun:
        """As `worker`, on what `duerow.aio.connect` returned: its `run` is awaited."""
        check_face(self, database, awaited=True)
        return database.pipeline_worker(self, rehome)

    def mermaid(self) -> str:
        """Return the graph as Mermaid draws it."""
        return self.graph.mermaid()

    def dot(self) -> str:
        """Return the graph as Graphviz draws it."""
        return self.graph.dot()

    def svg(self) -> str:
        """Return the graph as a drawing in SVG; see `Graph.svg`."""
        return self.graph.svg()


def _all_stations(pipeline: Pipeline) -> tuple[Station, ...]:
    given: object = pipeline.stations
    if not isinstance(given, Iterable):
        raise ConfigurationError(f"{pipeline}: its stations are a list, not {given!r:.120}")
    stations = tuple(given)
    if not stations:
        raise ConfigurationError(f"{pipeline} has no stations; give it at least one")
    for station in stations:
        if not isinstance(station, Station):
            raise ConfigurationError(
                f"{pipeline}: {station!r:.120} is no station; make it a Relay, Switch, Fork, Split, Join, Frame or Sink"
            )
    return stations


def _all_outputs(pipeline: Pipeline) -> tuple[str, ...]:
    given: object = pipeline.outputs
    if isinstance(given, str):
        raise ConfigurationError(f"{pipeline}: outputs is a list of queues; write outputs=[{given!r}]")
    if not isinstance(given, Iterable):
        raise ConfigurationError(f"{pipeline}: outputs is a list of queues, not {given!r:.80}")
    outputs = tuple(given)
    for output in outputs:
        check_name(f"an output of {pipeline}", output)
    return outputs


def _check_duplicates(pipeline: Pipeline) -> None:
    seen: set[str] = set()
    for name in (*(consumer.name for consumer in pipeline.consumers), *pipeline.outputs):
        if name in seen:
            raise ConfigurationError(
                f"{pipeline} has {name!r} twice; a station has a name of its own, and is no output as well"
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
                    f"or say outputs=[{target!r}]"
                )


def _check_reached(pipeline: Pipeline) -> None:
    """Refuse what no message can come to: loops that no entry leads into, outputs that nobody sends to."""
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
    """Refuse stations whose messages could only go round for ever."""
    ends = [station.name for station in pipeline.stations if not station.ways]
    back: dict[str, set[str]] = {}
    for station in pipeline.stations:
        for target in station.targets:
            back.setdefault(target, set()).add(station.name)
    leaving = _reachable([*ends, *pipeline.outputs], back)
    if caught := [name for name in pipeline.queues if name not in leaving]:
        raise ConfigurationError(
            f"{pipeline}: there is no way out of {', '.join(map(repr, caught))}; lead one to a Sink or an output"
        )


def _reachable(starts: Iterable[str], onwards: Mapping[str, set[str]]) -> set[str]:
    """Return what can be reached from these names, themselves included."""
    reached: set[str] = set()
    coming = list(starts)
    while coming:
        name = coming.pop()
        if name not in reached:
            reached.add(name)
            coming += onwards.get(name, ())
    return reached
