"""The findings, in a form that does not depend on whether the pipeline or the plain loop produced them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from duerow import Database
from examples.library.payloads import Entry, Group, Place
from examples.library.stations import ENTRIES, GROUPS

PAGE: Final = 1_000


@dataclass(frozen=True)
class Findings:
    """The findings about all modules.

    Attributes:
        entries: the entries of the modules, by name.
        alike: the places of the functions that have the same shape, by shape.
        nodes: how many nodes the functions of each shape have.
    """

    entries: dict[str, Entry]
    alike: dict[str, list[Place]]
    nodes: dict[str, int]

    @property
    def copied(self) -> list[list[Place]]:
        """Groups of functions of one shape in more than one module, sorted by the nodes in all copies, most first."""
        groups = [shape for shape, places in self.alike.items() if len({place.module for place in places}) > 1]
        groups.sort(key=lambda shape: (-self.nodes[shape] * len(self.alike[shape]), shape))
        return [self.alike[shape] for shape in groups]


def gather(entries: Iterable[Entry], groups: Iterable[Group]) -> Findings:
    """Return the findings; groups of one shape may come from several batches.

    Raises:
        ValueError: a module or a function occurs twice, which must never happen.
    """
    by_name: dict[str, Entry] = {}
    for entry in entries:
        if entry.summary.module in by_name:
            raise ValueError(f"{entry.summary.module} occurs twice")
        by_name[entry.summary.module] = entry
    places: defaultdict[str, list[Place]] = defaultdict(list)
    nodes: dict[str, int] = {}
    for group in groups:
        places[group.shape] += group.places
        nodes[group.shape] = group.nodes
    alike = {shape: sorted(places[shape], key=_in_order) for shape in sorted(places)}
    for found in alike.values():
        if len(set(found)) < len(found):
            raise ValueError(f"a function occurs twice in {found}")
    return Findings(dict(sorted(by_name.items())), alike, nodes)


def read(database: Database) -> Findings:
    """Read the findings from the outputs of the pipeline, without removing the messages."""
    return gather(_payloads(database, ENTRIES, Entry), _payloads(database, GROUPS, Group))


def _payloads(database: Database, queue: str, of: type[Any]) -> Iterator[Any]:
    after = None
    while page := database.queue(queue, payload=of).find(limit=PAGE, after=after):
        yield from (message.payload for message in page)
        after = page[-1].id


def _in_order(place: Place) -> tuple[str, str, int]:
    return place.module, place.name, place.line
