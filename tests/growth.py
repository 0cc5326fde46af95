"""What a long run measures again and again, and what of it grows."""

from collections.abc import Mapping, Sequence

SAMPLES = 40
"""How many samples a run takes."""

WARM = SAMPLES // 4
"""Samples that are taken before things are expected to stay: caches, pools and tables are filled first."""

SLACK: Mapping[str, tuple[float, float]] = {
    "memory": (1.1, 16e6),
    "heap": (1.1, 16e6),
    "objects": (1.1, 20_000),
    "descriptors": (1.2, 20),
    "threads": (1.2, 4),
    "connections": (1.2, 10),
    "prepared": (1.5, 200),
}
"""By what factor, and by how much besides, a value may grow: pools of connections fill up slowly."""

TABLES_SLACK = (1.5, 2e6)
"""The same of tables and indexes, which vary with when they are vacuumed."""

Sample = dict[str, float]


def growing(samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """Return what grew: the most of the first half, without the time of warming up, and the least at the end."""
    middle = (WARM + len(samples)) // 2
    found = {}
    for name in samples[0]:
        before = max(one[name] for one in samples[WARM:middle])
        after = min(one[name] for one in samples[-WARM // 2 :])
        factor, more = SLACK.get(name, TABLES_SLACK)
        if after > factor * before + more:
            found[name] = (before, after)
    return found
