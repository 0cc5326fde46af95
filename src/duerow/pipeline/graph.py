"""The graph of a pipeline as a value: it is drawn, and stored in the database for other programs to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from duerow.errors import ConfigurationError
from duerow.payload.encoding import BATCHES, SETS
from duerow.phrases import Hint

PATIENCE: Final = 60
"""How many seconds Graphviz may take to draw a graph."""

_MERMAID: Final[Mapping[str, tuple[str, str]]] = {
    "relay": ("[", "]"),
    "switch": ("{", "}"),
    "fork": ("[/", "\\]"),
    "split": ("[[", "]]"),
    "join": ("[\\", "/]"),
    "frame": ("{{", "}}"),
    "sink": ("([", "])"),
    "crossing": ("[/", "/]"),
    "table": ("[(", ")]"),
    "source": ("[(", ")]"),
}
_DOT: Final[Mapping[str, str]] = {
    "relay": "box",
    "switch": "diamond",
    "fork": "trapezium",
    "split": "box3d",
    "join": "invtrapezium",
    "frame": "hexagon",
    "sink": "oval",
    "crossing": "parallelogram",
    "table": "tab",
    "source": "folder",
}

_INNER: Final[Mapping[str, str]] = {"join": SETS, "table": BATCHES}
"""The suffix of the name of a station's second queue, by the kind of the station."""

SENDS_TO_ALL: Final = frozenset({"fork"})
"""The kinds of stations that make one message for each of their ways."""


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """A station as it appears in a drawing.

    Attributes:
        name: the name of the station and of its queue.
        kind: relay, switch, fork, split, join, frame, sink, table, source, or crossing, where messages wait for another
            database.
        ways: the queues that messages can go to from here, by label.
        function: the name of its function.
        rate: at most this many messages in this many seconds; None: no limit.
        note: anything else to show.
        elsewhere: the queue in another database to which messages go from here; empty: none.
        payload: the name of the type that a frame station declares for its payloads; empty: none.
        columns: the columns of a frame station's payloads as the last run on Spark read them: a mapping of paths to
            types; empty: the payload is text; None: not known.
    """

    name: str
    kind: str
    ways: dict[str, str]
    function: str
    rate: tuple[int, float] | None = None
    note: str = ""
    elsewhere: str = ""
    payload: str = ""
    columns: dict[str, str] | None = None

    @property
    def sends_to_all(self) -> bool:
        """Whether a message leaves along all of the station's ways, as in a fork, instead of along one of them."""
        return self.kind in SENDS_TO_ALL

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that the station reads."""
        inner = _INNER.get(self.kind)
        return (self.name,) if inner is None else (self.name, f"{self.name}{inner}")

    @property
    def reads_table(self) -> bool:
        """Whether it is a source that reads the table of a database; its position is the only message of its queue."""
        return self.kind == "source" and self.note.startswith("jdbc ")

    @property
    def described(self) -> str:
        """The station in errors, such as "join 'pair'"; for a crossing, with the queue to which it sends."""
        return f"{self.kind} {self.name!r}" + (f" to {self.elsewhere}" if self.elsewhere else "")

    def does_the_same_as(self, other: Node) -> bool:
        """Whether two stations treat the messages of their queue alike, as far as their definitions tell."""
        alike = (msgspec.structs.replace(one, rate=None, columns=None) for one in (self, other))
        return len({*map(_encode, alike)}) == 1


class Graph(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pipeline without its functions, as a program declared it.

    Attributes:
        name: its name.
        stations: all of them.
        outputs: queues that stations send to but no station reads.
        max_hops: the maximum number of queues that a message may go through.
    """

    name: str
    stations: tuple[Node, ...]
    outputs: tuple[str, ...] = ()
    max_hops: int = 100

    def __str__(self) -> str:
        return f"pipeline {self.name!r}"

    @property
    def queues(self) -> list[str]:
        """The queues that the stations read."""
        return [*self.readers]

    @property
    def readers(self) -> dict[str, Node]:
        """The station that reads each of these queues."""
        return {queue: station for station in self.stations for queue in station.queues}

    def mermaid(self) -> str:
        """Return the graph as Mermaid source."""
        names = _names(self)
        lines = ["flowchart LR"]
        for station in self.stations:
            opened, closed = _MERMAID[station.kind]
            lines.append(f'    {names[station.name]}{opened}"{station.name}"{closed}')
        lines += [f'    {names[output]}[("{output}")]' for output in self.outputs]
        lines += [f'    {far}[("{_plain(station.elsewhere)}")]' for far, station in _crossings(self, names)]
        for start, label, end in _edges(self):
            lines.append(f"    {names[start]} " + (f'-- "{_plain(label)}" -->' if label else "-->") + f" {names[end]}")
        lines += [f"    {names[station.name]} -.-> {far}" for far, station in _crossings(self, names)]
        return "\n".join(lines) + "\n"

    def dot(self) -> str:
        """Return the graph in Graphviz's DOT language."""
        names = _names(self)
        lines = [f"digraph {_quoted(self.name)} {{", "    rankdir=LR;", '    node [fontname="sans-serif"];']
        for station in self.stations:
            tip = _quoted("; ".join(filter(None, [station.kind, station.function, station.note, _per(station.rate)])))
            shape = _DOT[station.kind]
            lines.append(f"    {names[station.name]} [label={_quoted(station.name)} shape={shape} tooltip={tip}];")
        lines += [f"    {names[output]} [label={_quoted(output)} shape=cylinder];" for output in self.outputs]
        far = _crossings(self, names)
        lines += [f"    {one} [label={_quoted(station.elsewhere)} shape=cylinder];" for one, station in far]
        for start, label, end in _edges(self):
            said = f" [label={_quoted(label)}]" if label else ""
            lines.append(f"    {names[start]} -> {names[end]}{said};")
        lines += [f"    {names[station.name]} -> {one} [style=dashed];" for one, station in far]
        return "\n".join([*lines, "}"]) + "\n"

    def svg(self) -> str:
        """Return the graph as an SVG drawing, made by Graphviz's program `dot`.

        Raises:
            ConfigurationError: `dot` is not installed, or it failed.
        """
        import shutil  # imported here because it is rarely needed
        import subprocess

        program = shutil.which("dot")
        if program is None:
            raise ConfigurationError(
                f"drawing pipeline {self.name!r} as SVG needs Graphviz's program `dot`, which is not on the PATH; "
                "install Graphviz (apt-get install graphviz, brew install graphviz), or use mermaid() or dot()"
            )
        try:
            drawn = subprocess.run(  # noqa: S603 - the program that was found, and no shell
                [program, "-Tsvg"],
                input=self.dot(),
                capture_output=True,
                encoding="utf-8",
                timeout=PATIENCE,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            raise ConfigurationError(f"{program} could not draw pipeline {self.name!r}: {error.stderr:.400}") from error
        except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{program} could not draw pipeline {self.name!r}: {error}") from error
        return drawn.stdout


_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(Graph).decode


def graph_text(graph: Graph) -> str:
    """Return the text that is stored for a graph."""
    return _encode(graph).decode()


def read_graph(name: str, text: str) -> Graph:
    """Return a stored graph; raise ConfigurationError if another version of duerow wrote it in a different form."""
    try:
        graph = _decode(text)
        _check(graph)
    except (msgspec.DecodeError, ValueError) as error:
        raise ConfigurationError(
            f"pipeline {name!r} cannot be read by this version of duerow: {error}; upgrade duerow, or delete the "
            "pipeline with ",
            Hint(f"forget_pipeline({name!r})", f"duerow pipeline forget {name}"),
            " and declare it again",
        ) from error
    return graph


def _check(graph: Graph) -> None:
    """Raise ValueError if a station is of an unknown kind, or sends to a queue that the graph does not have."""
    queues = {*(station.name for station in graph.stations), *graph.outputs}
    for station in graph.stations:
        if station.kind not in _MERMAID:
            raise ValueError(f"its station {station.name!r} is of an unknown kind, {station.kind!r}")
        if unknown := set(station.ways.values()) - queues:
            raise ValueError(f"its station {station.name!r} sends to {min(unknown)!r}, which is not one of its queues")


def removed(before: Graph, after: Graph) -> list[str]:
    """Return the queues that stations used to read and that now are neither a station's queue nor an output."""
    known = {*after.queues, *after.outputs}
    return [queue for queue in before.queues if queue not in known]


def _names(graph: Graph) -> dict[str, str]:
    """Return a name for each node that is valid in every drawing language."""
    nodes = [*(station.name for station in graph.stations), *graph.outputs]
    return {name: f"q{place}" for place, name in enumerate(nodes)}


def _edges(graph: Graph) -> Sequence[tuple[str, str, str]]:
    """Return the start, label and end of each way; a fork's ways are labeled with the names of the queues."""
    return [
        (station.name, "" if label == target else label, target)
        for station in graph.stations
        for label, target in station.ways.items()
    ]


def _crossings(graph: Graph, names: Mapping[str, str]) -> list[tuple[str, Node]]:
    """Return a drawing name for each queue in another database, with the station whose messages go there."""
    return [(f"{names[one.name]}x", one) for one in graph.stations if one.elsewhere]


def _plain(text: str) -> str:
    """Return text that is safe in a Mermaid label."""
    return text.replace('"', "#quot;").replace("\n", " ")


def _quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{plain}"'


def _per(rate: tuple[int, float] | None) -> str:
    return "" if rate is None else f"at most {rate[0]} in {rate[1]:g} s"
