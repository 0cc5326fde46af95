"""What travels through the pipeline: a type for each queue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Module:
    """The name of a module."""

    name: str


@dataclass(frozen=True)
class Piece:
    """A function or a method of a module; the piece without a name stands for the module itself.

    Attributes:
        module: the name of the module.
        name: how the function is called there, such as `JSONEncoder.encode`.
        line: where it begins, from 1.
        lines: how long it is.
        of: of how many pieces the module is made, this one included.
        source: its text; none for a module.
    """

    module: str
    name: str
    line: int
    lines: int
    of: int
    source: str


@dataclass(frozen=True)
class Measured:
    """A piece, with what was found out of it instead of its text.

    Attributes:
        module: see Piece.
        name: see Piece.
        lines: see Piece.
        of: see Piece.
        branches: ways through it: one, and one more for each place where they part.
        documented: whether it has a docstring.
        annotated: whether anything of its signature has a type.
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
    """A function without its names: what is left is the same for functions that differ in nothing else.

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
    """Where a function stands."""

    module: str
    name: str
    line: int


@dataclass(frozen=True)
class Group:
    """Functions of one shape, of those that one batch of the frame station had."""

    shape: str
    nodes: int
    places: list[Place]


@dataclass(frozen=True)
class Summary:
    """What the pieces of a module come to.

    Attributes:
        module: its name.
        lines: of the whole file.
        functions: functions and methods.
        documented: of these, those with a docstring.
        annotated: those with a type.
        branches: of all functions.
        longest: the function with the most branches; none if there are no functions.
        longest_branches: how many that has.
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
    """A module on its way round the loop that finds out what its import brings along.

    Attributes:
        summary: of the module.
        known: the modules that are imported with it, itself included, as far as that is known.
        newest: those of them whose own imports nobody has looked at.
        rounds: how often the loop has found more.
    """

    summary: Summary
    known: list[str]
    newest: list[str]
    rounds: int


@dataclass(frozen=True)
class Entry:
    """All that is known of a module at the end.

    Attributes:
        summary: of the module.
        brings: how many modules of the library are imported with it.
        rounds: how many steps the one furthest away is away.
    """

    summary: Summary
    brings: int
    rounds: int
