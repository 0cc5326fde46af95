"""The pipeline that a module goes through, station by station.

    library.module ─→ library.function ┬─→ library.gather ─→ library.import ─ whole ─→ library.entries
      (split)           (fork)         │      (join)           (switch) └─ again ─┘
                                       └─→ library.alike ─→ library.groups
                                              (frame)

A module is split into its functions. Each function is measured, and the results take two paths. On one path, they are
joined into the module again, which then loops until all its transitive imports are known. On the other path, the shapes
of functions, without their names, enter a Spark frame that groups functions of the same shape from the whole library.
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
"""Functions with fewer nodes are ignored, because it is no surprise that many of them are alike."""

LEASE: Final = timedelta(seconds=30)
"""After this time, the messages of a killed run are handed out again; far longer than a chunk takes."""

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
    except SyntaxError as error:  # a second attempt would not help
        raise Bury(f"not valid Python: {error}") from error


def measure(message: Message[Piece]) -> dict[str, Measured | Shape]:
    """Send the measurements of a function to the join of its module, and its shape to the frame station."""
    piece = message.payload
    found: dict[str, Measured | Shape] = {GATHER: measures.measure(piece)}
    if piece.name:
        shape = measures.shape(piece)
        if shape.nodes >= SMALLEST:
            found[ALIKE] = shape
    return found


def is_whole(parts: list[Message[Measured]]) -> bool:
    """Return whether all pieces of a module have arrived."""
    return len(parts) == parts[0].payload.of


def put_together(parts: list[Message[Measured]]) -> Journey:
    """Combine the pieces of a module, and start its journey through the loop."""
    summary = measures.summary([part.payload for part in parts])
    return Journey(summary, [summary.module], [summary.module], 0)


def follow(message: Message[Journey]) -> tuple[str, Journey | Entry]:
    """Look up the imports of the newest modules; loop again if that finds more modules."""
    journey = message.payload
    found = {one for name in journey.newest for one in modules.imports(name)} - {*journey.known}
    if not found:
        return "whole", Entry(journey.summary, len(journey.known) - 1, journey.rounds)
    known = sorted(found | {*journey.known})
    return "again", replace(journey, known=known, newest=sorted(found), rounds=journey.rounds + 1)


def alike(shapes: DataFrame) -> DataFrame:
    """Group functions by their shape. This needs a shuffle, because similar functions may come from anywhere.

    A frame is one batch, not the whole queue. If functions of the same shape are in two batches, they form two groups,
    which are merged when the findings are read.
    """
    from pyspark.sql import functions as f

    places = f.sort_array(f.collect_list(f.struct("module", "name", "line")))
    return shapes.groupBy("shape").agg(f.max("nodes").alias("nodes"), places.alias("places"))
