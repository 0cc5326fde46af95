"""What a measurement found: a figure, what stood beside it, the bar, and whether it was reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

Samples = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Result:
    """One line of the table.

    Attributes:
        scenario: what was measured.
        unit: of `value` and `beside_value`.
        value: duerow's figure, or a peer's own where a line only informs.
        beside: what stood beside it in the same run: "floor", a peer's name, …
        beside_value: its figure.
        ratio: value / beside_value.
        bar: what the ratio, or without one the value, must reach; None: the line only informs.
        at_most: the bar is an upper limit.
        samples: the figures of all rounds, by name.
        note: settings and what else helps to read the line.
    """

    scenario: str
    unit: str
    value: float
    beside: str | None = None
    beside_value: float | None = None
    ratio: float | None = None
    bar: float | None = None
    at_most: bool = False
    samples: Samples = field(default_factory=dict)
    note: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether the bar was reached; None without a bar."""
        if self.bar is None:
            return None
        compared = self.value if self.ratio is None else self.ratio
        return compared <= self.bar if self.at_most else compared >= self.bar

    @property
    def worst(self) -> float | None:
        """The figure of duerow's worst round; None if the rounds were not kept, or there was only one."""
        rounds = self.samples.get("duerow", ())
        if len(rounds) < 2:
            return None
        return max(rounds) if self.at_most else min(rounds)


def against(
    scenario: str,
    samples: Samples,
    beside: str,
    bar: float | None,
    *,
    unit: str = "messages/s",
    at_most: bool = False,
    note: str = "",
) -> Result:
    """The median of duerow's rounds as a share of the median of another's, which must reach the bar or stay below."""
    ours, theirs = median(samples["duerow"]), median(samples[beside])
    kept = {"duerow": samples["duerow"], beside: samples[beside]}
    return Result(scenario, unit, ours, beside, theirs, ours / theirs, bar, at_most, kept, note)


def limit(
    scenario: str, unit: str, value: float, at_most: float | None, samples: Samples | None = None, note: str = ""
) -> Result:
    """A figure that may be at most the bar."""
    return Result(scenario, unit, value, bar=at_most, at_most=True, samples=samples or {}, note=note)


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that `percent` of all lie at or below (nearest rank)."""
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * percent // 100))
    return ordered[int(rank) - 1]
