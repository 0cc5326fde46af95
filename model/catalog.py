"""Which models there are, at which sizes they are explored, and which mistakes Spin must find in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent

Bounds = Mapping[str, int]
"""The values of a model's macros."""


@dataclass(frozen=True)
class Model:
    """One model: the file `NAME.pml`.

    Attributes:
        name: the name of the file, and of its section in `docs/explanation/model.md`.
        short: the bounds within which every run explores all states.
        full: further bounds, for `SIZE=full`.
        swarm: bounds too large to explore all states: many searches, each in a random order, look at a part of them.
        endless: whether its processes never end.
        broken: the mistakes that Spin must find, each by the name of its macro without `BROKEN_`, and the bounds.
    """

    name: str
    short: tuple[Bounds, ...]
    broken: Mapping[str, Bounds]
    full: tuple[Bounds, ...] = ()
    swarm: tuple[Bounds, ...] = ()
    endless: bool = False

    @property
    def path(self) -> Path:
        """The model."""
        return FOLDER / f"{self.name}.pml"


_PROGRESS = {"PROGRESS": 1}
"""Kills and delays end at some time: then everything that waits must come to its end."""

_LEASES_LAST = {"NO_LEASE_ENDS": 1}

MODELS = (
    Model(
        "leases",
        short=({}, {**_PROGRESS, "MESSAGES": 1}),
        full=({"WORKERS": 3},),
        broken={
            "NO_FENCE": {},
            "CLAIM_WITHOUT_LOCK": {},
            "EXTEND_BY_ID": {},
            "TOKEN_KEPT": {},
            "RETRIES_FOR_EVER": {**_PROGRESS, "MESSAGES": 1},
        },
    ),
    Model(
        "groups",
        short=({"BATCH": 1}, {"BATCH": 1, "POPS": 1}, _LEASES_LAST, {**_LEASES_LAST, "POPS": 1}),
        full=({}, {"POPS": 1}, {**_LEASES_LAST, "ROWS": 4}),
        swarm=({"ROWS": 4}, {"ROWS": 4, "CHANGES": 2, "POPS": 1}),
        broken={
            "NO_TURN_INDEX": {"BATCH": 1},
            "NO_SHARE_LOCK": {"BATCH": 1},
            "NO_PROMOTION": {"BATCH": 1},
            "BEHIND_KEEPS_TOKEN": {"BATCH": 1},
            "POP_UNMARKED": {"BATCH": 1, "POPS": 1},
            "PROMOTES_FIRST_OR_NONE": _LEASES_LAST,
            "PROMOTES_NONE_IF_GONE": _LEASES_LAST,
        },
    ),
    Model("floors", short=({},), full=({"ROWS": 5},), broken={"PASSES_LOCKED_ROWS": {}, "SLEEPS_WITHOUT_LOOKING": {}}),
    Model(
        "keys",
        short=({}, {"PRODUCERS": 3}),
        broken={"LOOKS_AT_MEMORY_FIRST": {}, "MOVE_READS_HOLDER": {}},
    ),
    Model(
        "joins",
        short=({},),
        full=({"PARTS": 4},),
        broken={"NO_SET_LOCK": {}, "NOT_IN_ONE_TRANSACTION": {}, "CLOSE_WITHOUT_FENCE": {}},
    ),
    Model(
        "batches",
        short=({},),
        broken={"NO_NAME": {}, "PUSHES_BEFORE_TURNS_END": {}, "IGNORES_REFUSED_TURNS": {}},
    ),
    Model("schedules", short=({}, {"PROCESSES": 3}), broken={"NO_VERSION": {}, "PUSH_OUTSIDE": {}}),
    Model(
        "permits",
        short=({}, _PROGRESS),
        endless=True,
        broken={"COUNTS_FROM_THE_ANSWER": {}, "LOOKS_TOO_LATE": {}, "KEEPS_DEAD_PERMITS": _PROGRESS},
    ),
)
