"""How much is measured: `full` is what the bars are stated for, `small` gives a first idea, `smoke` only has to run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Counts of messages, rounds and seconds.

    Attributes:
        rounds: interleaved rounds; the table shows their medians.
        pushes: single pushes a round.
        bulk: messages of a bulk push.
        drain: messages drained by batches.
        singly: messages drained one transaction at a time.
        latency: messages sent to an idle worker.
        busy_seconds: how long the eight producers push.
        idle_seconds: how long an idle worker is watched.
        snapshot: messages of each of the five rounds under a held snapshot.
        pairs: how often those five rounds are repeated.
        backlog: delayed messages beside those that are due.
        spark: messages through the Spark station.
        memory: messages handled by the worker whose memory is watched.
        steps: messages sent through three Spark stations, one a second.
        looks: how often the stats of a crowded queue are read.
        history: finished turns beside it.
        waiting: due messages in the queue whose growth is measured, one size after the other.
        repeats: how often a drain is repeated to find its bad runs.
        sustained_seconds: how long a load is sustained.
        peer_share: peers that handle one message at a time get this share of `drain`.
    """

    rounds: int
    pushes: int
    bulk: int
    drain: int
    singly: int
    latency: int
    busy_seconds: float
    idle_seconds: float
    snapshot: int
    pairs: int
    backlog: int
    spark: int
    memory: int
    steps: int
    looks: int
    history: int
    waiting: tuple[int, ...]
    repeats: int
    sustained_seconds: float
    peer_share: float = 0.02


SIZES = {
    "smoke": Size(
        rounds=1,
        pushes=100,
        bulk=1_000,
        drain=2_000,
        singly=100,
        latency=20,
        busy_seconds=1,
        idle_seconds=2,
        snapshot=500,
        pairs=1,
        backlog=5_000,
        spark=2_000,
        memory=10_000,
        steps=3,
        looks=20,
        history=2_000,
        waiting=(1_000, 10_000),
        repeats=2,
        sustained_seconds=6,
    ),
    "small": Size(
        rounds=3,
        pushes=2_000,
        bulk=50_000,
        drain=20_000,
        singly=2_000,
        latency=200,
        busy_seconds=8,
        idle_seconds=10,
        snapshot=10_000,
        pairs=3,
        backlog=200_000,
        spark=50_000,
        memory=200_000,
        steps=20,
        looks=200,
        history=500_000,
        waiting=(10_000, 100_000, 1_000_000),
        repeats=20,
        sustained_seconds=120,
    ),
    "full": Size(
        rounds=5,
        pushes=5_000,
        bulk=100_000,
        drain=50_000,
        singly=5_000,
        latency=500,
        busy_seconds=20,
        idle_seconds=30,
        snapshot=20_000,
        pairs=5,
        backlog=1_000_000,
        spark=200_000,
        memory=1_000_000,
        steps=60,
        looks=500,
        history=5_000_000,
        waiting=(10_000, 100_000, 1_000_000, 10_000_000),
        repeats=200,
        sustained_seconds=3_600,
    ),
}
