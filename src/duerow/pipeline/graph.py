"""The graph of a pipeline as a value: what is drawn, and what is kept in the database for others to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from duerow.errors import ConfigurationError
from duerow.payload.encoding import SETS

PATIENCE: Final = 60
"""Seconds that Graphviz may take to draw."""

_MERMAID: Final[Mapping[str, tuple[str, str]]] = {
    "relay": ("[", "]"),
    "switch": ("{", "}"),
    "fork": ("[/", "\\]"),
    "split": ("[[", "]]"),
    "join": ("[\\", "/]"),
    "frame": ("{{", "}}"),
    "sink": ("([", "])"),
}
_DOT: Final[Mapping[str, str]] = {
    "relay": "box",
    "switch": "diamond",
    "fork": "trapezium",
    "split": "box3d",
    "join": "invtrapezium",
    "frame": "hexagon",
    "sink": "oval",
}


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """A station as a drawing has it.

    Attributes:
        name: the station's name and that of its queue.
        kind: relay, switch, fork, split, join, frame or sink.
        ways: the queues that messages can go to from here, by what the way is called.
        function: the name of its function.
        rate: at most so many messages in so many seconds; None: as many as there are.
        note: what else there is to say of it.
    """

    name: str
    kind: str
    ways: dict[str, str]
    function: str
    rate: tuple[int, float] | None = None
    note: str = ""

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that it works on."""
        return (self.name, f"{self.name}{SETS}") if self.kind == "join" else (self.name,)


class Graph(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pipeline without its functions: as it was declared, by whatever program.

    Attributes:
        name: what it is called.
        stations: all of them.
        outputs: queues that stations send to and no station reads.
        max_hops: how many queues a message may go through.
    """

    name: str
    stations: tuple[Node, ...]
    outputs: tuple[str, ...] = ()
    max_hops: int = 100

    def __str__(self) -> str:
        return f"pipeline {self.name!r}"

    @property
    def queues(self) -> list[str]:
        """The queues that its stations work on."""
        return [queue for station in self.stations for queue in station.queues]

    def mermaid(self) -> str:
        """Return the graph as Mermaid draws it."""
        names = _names(self)
        lines = ["flowchart LR"]
        for station in self.stations:
            opened, closed = _MERMAID[station.kind]
            lines.append(f'    {names[station.name]}{opened}"{station.name}"{closed}')
        lines += [f'    {names[output]}[("{output}")]' for output in self.outputs]
        for start, label, end in _edges(self):
            said = label.replace('"', "#quot;").replace("\n", " ")
            lines.append(f"    {names[start]} " + (f'-- "{said}" -->' if label else "-->") + f" {names[end]}")
        return "\n".join(lines) + "\n"

    def dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        names = _names(self)
        lines = [f"digraph {_quoted(self.name)} {{", "    rankdir=LR;", '    node [fontname="sans-serif"];']
        for station in self.stations:
            tip = _quoted("; ".join(filter(None, [station.kind, station.function, station.note, _per(station.rate)])))
            shape = _DOT[station.kind]
            lines.append(f"    {names[station.name]} [label={_quoted(station.name)} shape={shape} tooltip={tip}];")
        lines += [f"    {names[output]} [label={_quoted(output)} shape=cylinder];" for output in self.outputs]
        for start, label, end in _edges(self):
            said = f" [label={_quoted(label)}]" if label else ""
            lines.append(f"    {names[start]} -> {names[end]}{said};")
        return "\n".join([*lines, "}"]) + "\n"

    def svg(self) -> str:
        """Return the graph as a drawing in SVG, made by Graphviz's program `dot`.

        Raises:
            ConfigurationError: that program is not installed, or failed.
        """
        import shutil  # here, since few draw
        import subprocess

        program = shutil.which("dot")
        if program is None:
            raise ConfigurationError(
                f"to draw pipeline {self.name!r} as SVG takes Graphviz's program `dot`, which is not on the PATH: "
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
    """Return a graph as it is kept."""
    return _encode(graph).decode()


def read_graph(name: str, text: str) -> Graph:
    """Return a graph that was kept; raise ConfigurationError if another version of duerow wrote it differently."""
    try:
        return _decode(text)
    except msgspec.DecodeError as error:
        raise ConfigurationError(
            f"pipeline {name!r} cannot be read by this version of duerow: {error}; declare it again"
        ) from error


def removed(before: Graph, after: Graph) -> list[str]:
    """Return the queues that stations worked on, and that are neither a station's nor an output any more."""
    known = {*after.queues, *after.outputs}
    return [queue for queue in before.queues if queue not in known]


def _names(graph: Graph) -> dict[str, str]:
    """Return a name for each node that no language of drawings minds."""
    nodes = [*(station.name for station in graph.stations), *graph.outputs]
    return {name: f"q{place}" for place, name in enumerate(nodes)}


def _edges(graph: Graph) -> Sequence[tuple[str, str, str]]:
    """Return where each way begins, what it is called, and where it ends; a fork's ways go by the names of queues."""
    return [
        (station.name, "" if label == target else label, target)
        for station in graph.stations
        for label, target in station.ways.items()
    ]


def _quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{plain}"'


def _per(rate: tuple[int, float] | None) -> str:
    return "" if rate is None else f"at most {rate[0]} in {rate[1]:g} s"
