"""The result of a run, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from duerow.testing.torture.options import Options
from duerow.testing.torture.verdict import Verdict

STORIES: Final = 5
"""How many broken promises are reported, the shortest stories first."""

MOST_STORIES: Final = 200
"""From how many of them the shortest are picked."""


@dataclass(frozen=True)
class VersionShare:
    """What the processes of one version of duerow did in a run.

    Attributes:
        version: the version, and its Python.
        processes, killed: how many processes there were, and how many of them were killed.
        pushed: how many messages they pushed or replaced.
        turns: how many turns they began.
        effects: how many messages they took out of their queues: committed, moved, buried, popped or removed.
    """

    version: str
    processes: int
    killed: int
    pushed: int
    turns: int
    effects: int

    def __str__(self) -> str:
        return (
            f"{self.version}: {self.processes} processes, {self.killed} of them killed, pushed {self.pushed} messages, "
            f"began {self.turns} turns and finished {self.effects} messages"
        )


@dataclass(frozen=True)
class Report:
    """The result of a run.

    Attributes:
        seed: the run's seed: with the same seed, the processes make the same random choices.
        seconds: how long it took.
        killed: how many processes of each kind were killed.
        faults: which other faults happened, and how often.
        messages, turns: how many messages there were, and how many turns began.
        events: how many events in the stores were recorded and checked against the rules of the protocol.
        summary: the same in one line, with counts of the ledger and the history.
        broken: how many promises were broken.
        stories: what the ledger, the history and the tables say about the first broken promises.
        upgrade: how the tables were upgraded during the run, in words; "" if they were not.
        parts: what the processes of each version did, if there were two versions.
    """

    seed: int
    seconds: float
    killed: Mapping[str, int]
    faults: Mapping[str, int]
    messages: int
    turns: int
    events: int
    summary: str
    broken: int
    stories: tuple[str, ...]
    upgrade: str = ""
    parts: tuple[VersionShare, ...] = ()

    def __str__(self) -> str:
        counted = [
            f"{sum(self.killed.values())} killed",
            *(f"{times} {fault}" for fault, times in self.faults.items() if times),
        ]
        told = f"seed {self.seed}: {', '.join(counted)} in {self.seconds:.0f} s\n"
        told += "".join(f"{one}\n" for one in (self.upgrade, *self.parts) if one)
        told += f"{self.summary}; {self.events} events traced"
        if not self.broken:
            return f"{told}\nnothing was lost, duplicated, stuck or out of order"
        return "\n".join([told, f"{self.broken} promises were broken:", *self.stories])


def report_on(
    verdict: Verdict,
    options: Options,
    killed: Mapping[str, int],
    faults: Mapping[str, int],
    others: Sequence[str],
    events: int,
    seconds: float,
    upgrade: str = "",
    parts: Sequence[VersionShare] = (),
) -> Report:
    """Return the report on a verdict.

    Args:
        verdict: the verdict on the ledger.
        options: the options of the run.
        killed: how many processes of each kind were killed.
        faults: which other faults happened, and how often.
        others: further problems: broken rules of the protocol, and processes that ended unexpectedly.
        events: how many events the traces have.
        seconds: how long the run took.
        upgrade: see `Report`.
        parts: see `Report`.
    """
    broken = verdict.broken_promises()
    told = sorted(map(verdict.story, broken[:MOST_STORIES]), key=len)
    stories = (*others, *told)
    return Report(
        seed=options.seed,
        seconds=round(seconds, 1),
        killed=dict(killed),
        faults=dict(faults),
        messages=len(verdict.known),
        turns=verdict.turns_begun,
        events=events,
        summary=str(verdict),
        broken=len(others) + len(broken),
        stories=stories[:STORIES],
        upgrade=upgrade,
        parts=tuple(parts),
    )
