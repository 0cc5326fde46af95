"""The same work in a plain loop, without queues or Spark; the pipeline must produce the same result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from examples.library import measures, modules
from examples.library.findings import Findings, gather
from examples.library.payloads import Entry, Group, Place, Shape, Summary
from examples.library.stations import SMALLEST


def find(names: Iterable[str]) -> Findings:
    """Return the findings for these modules."""
    pieces = {name: measures.pieces(name) for name in names}
    entries = [_entry(name, measures.summary([measures.measure(one) for one in pieces[name]])) for name in pieces]
    shapes = [measures.shape(one) for parts in pieces.values() for one in parts if one.name]
    return gather(entries, _groups(shape for shape in shapes if shape.nodes >= SMALLEST))


def _entry(name: str, summary: Summary) -> Entry:
    """Find all modules that are imported with this one, nearest first, and how many steps away each of them is."""
    away = {name: 0}
    coming = [name]
    for one in coming:  # the list grows during the loop
        for other in modules.imports(one):
            if other not in away:
                away[other] = away[one] + 1
                coming.append(other)
    return Entry(summary, len(away) - 1, max(away.values()))


def _groups(shapes: Iterable[Shape]) -> Iterator[Group]:
    found: defaultdict[str, list[Shape]] = defaultdict(list)
    for one in shapes:
        found[one.shape].append(one)
    for shape, group in found.items():
        yield Group(shape, group[0].nodes, [Place(one.module, one.name, one.line) for one in group])
