"""The pipeline: what happens to a module, station by station.

    library.module ─→ library.function ┬─→ library.gather ─→ library.import ─ whole ─→ library.entries
      (split)           (fork)         │      (join)           (switch) └─ again ─┘
                                       └─→ library.alike ─→ library.groups
                                              (frame)

A module is split to its functions. Each is measured, and what was found goes two ways: back together to the module it
came from, which then goes round a loop until all is known that its import brings along; and, without its names, into a
frame of Spark that groups functions of one shape, wherever in the library they stand.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from duerow import Bury, Fork, Frame, Join, Message, Pipeline, Split, Switch
from duerow.retry import fixed, limited
from examples.library import measures, modules
from examples.library.payloads import Entry, Journey, Measured, Module, Piece, Shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MODULE, FUNCTION, GATHER, IMPORT = "library.module", "library.function", "library.gather", "library.import"
ALIKE, ENTRIES, GROUPS = "library.alike", "library.entries", "library.groups"

SMALLEST: Final = 20
"""Nodes below which a function is like many others, and nobody wonders."""

LEASE: Final = timedelta(seconds=30)
"""After which what a killed run had taken is handed out again: far longer than a chunk takes."""

FOREVER: Final = timedelta(days=3650)


def pipeline() -> Pipeline:
    """Return the pipeline."""
    terms: dict[str, Any] = {"lease": LEASE, "retry": limited(5, fixed(timedelta(seconds=1)))}
    stations = [
        Split(MODULE, take_apart, to=FUNCTION, payload=Module, remember_keys=FOREVER, **terms),
        Fork(FUNCTION, measure, to=[GATHER, ALIKE], payload=Piece, **terms),
        Join(GATHER, put_together, to=IMPORT, by="payload.module", complete=is_whole, payload=Measured, **terms),
        Switch(IMPORT, follow, to={"again": IMPORT, "whole": ENTRIES}, payload=Journey, **terms),
        Frame(ALIKE, alike, to=GROUPS, payload=Shape, **terms),
    ]
    return Pipeline("library", stations, outputs=[ENTRIES, GROUPS])


def take_apart(message: Message[Module]) -> list[Piece]:
    """Return the pieces of a module."""
    try:
        return measures.pieces(message.payload.name)
    except SyntaxError as error:  # which no second attempt will change
        raise Bury(f"no Python: {error}") from error


def measure(message: Message[Piece]) -> dict[str, Measured | Shape]:
    """Send what was found of a function back to its module, and its shape to those that are like it."""
    piece = message.payload
    found: dict[str, Measured | Shape] = {GATHER: measures.measure(piece)}
    if piece.name:
        shape = measures.shape(piece)
        if shape.nodes >= SMALLEST:
            found[ALIKE] = shape
    return found


def is_whole(parts: list[Message[Measured]]) -> bool:
    """Tell whether all pieces of a module are there."""
    return len(parts) == parts[0].payload.of


def put_together(parts: list[Message[Measured]]) -> Journey:
    """Make one of the pieces of a module, and send it on its journey."""
    summary = measures.summary([part.payload for part in parts])
    return Journey(summary, [summary.module], [summary.module], 0)


def follow(message: Message[Journey]) -> tuple[str, Journey | Entry]:
    """Look what the newest modules import; go round again as long as that brings more."""
    journey = message.payload
    found = {one for name in journey.newest for one in modules.imports(name)} - {*journey.known}
    if not found:
        return "whole", Entry(journey.summary, len(journey.known) - 1, journey.rounds)
    known = sorted(found | {*journey.known})
    return "again", replace(journey, known=known, newest=sorted(found), rounds=journey.rounds + 1)


def alike(shapes: DataFrame) -> DataFrame:
    """Group functions by their shape: a shuffle, since those alike may have come from anywhere.

    A frame is one batch of the queue and not the whole of it. So groups of the same shape from two batches are two
    messages, and who reads them puts them together.
    """
    from pyspark.sql import functions as f

    places = f.sort_array(f.collect_list(f.struct("module", "name", "line")))
    return shapes.groupBy("shape").agg(f.max("nodes").alias("nodes"), places.alias("places"))
