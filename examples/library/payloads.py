"""The payloads of the pipeline: one type for each queue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Module:
    """A module, by its name."""

    name: str


@dataclass(frozen=True)
class Piece:
    """A function or a method of a module; the piece without a name stands for the module itself.

    Attributes:
        module: the name of the module.
        name: the name of the function in the module, such as `JSONEncoder.encode`.
        line: the line where the function begins, from 1.
        lines: the number of lines.
        of: how many pieces the module has, including this one.
        source: the source text; empty for the module itself.
    """

    module: str
    name: str
    line: int
    lines: int
    of: int
    source: str


@dataclass(frozen=True)
class Measured:
    """A piece, with its measurements instead of its text.

    Attributes:
        module: see Piece.
        name: see Piece.
        lines: see Piece.
        of: see Piece.
        branches: the number of paths through the function: one, plus one for each branching point.
        documented: whether it has a docstring.
        annotated: whether any part of its signature has a type.
    """

    module: str
    name: str
    lines: int
    of: int
    branches: int
    documented: bool
    annotated: bool


@dataclass(frozen=True)
class Shape:
    """The shape of a function, without its names; functions that differ only in their names have the same shape.

    Attributes:
        module: see Piece.
        name: see Piece.
        line: see Piece.
        nodes: how many nodes its syntax tree has.
        shape: a digest of that tree.
    """

    module: str
    name: str
    line: int
    nodes: int
    shape: str


@dataclass(frozen=True)
class Place:
    """The location of a function."""

    module: str
    name: str
    line: int


@dataclass(frozen=True)
class Group:
    """The functions of one shape in one batch of the frame station."""

    shape: str
    nodes: int
    places: list[Place]


@dataclass(frozen=True)
class Summary:
    """The totals of a module.

    Attributes:
        module: the name of the module.
        lines: the number of lines in the file.
        functions: the number of functions and methods.
        documented: how many of them have a docstring.
        annotated: how many of them have a type.
        branches: the number of branches in all functions.
        longest: the function with the most branches; empty if there are no functions.
        longest_branches: how many branches that function has.
    """

    module: str
    lines: int
    functions: int
    documented: int
    annotated: int
    branches: int
    longest: str
    longest_branches: int


@dataclass(frozen=True)
class Journey:
    """A module in the loop that finds its transitive imports.

    Attributes:
        summary: the summary of the module.
        known: the modules found so far that are imported with this one, including itself.
        newest: the known modules whose own imports have not been looked up yet.
        rounds: how many rounds of the loop have found more modules.
    """

    summary: Summary
    known: list[str]
    newest: list[str]
    rounds: int


@dataclass(frozen=True)
class Entry:
    """The final result for a module.

    Attributes:
        summary: the summary of the module.
        brings: how many modules of the library are imported with it.
        rounds: how many steps away the most distant of these imports is.
    """

    summary: Summary
    brings: int
    rounds: int
