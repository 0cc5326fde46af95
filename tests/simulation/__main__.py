"""Simulate workers on a store: python -m tests.simulation --interleavings 1000000 --seed 1

    python -m tests.simulation sqlite --interleavings 100000
    python -m tests.simulation memory --seed 4711 --interleavings 1 --story
    python -m tests.simulation --broken 2000

Each interleaving has a seed of its own, counted from the first one. One that breaks a promise is shrunk to a short
program and printed. With `--broken`, the mistakes of `tests/mutations` are made one by one, and have to be noticed
within so many interleavings; those that no simulated operation meets are named as well.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.mutations.seeds import STORES
from tests.simulation.broken import broken
from tests.simulation.places import PLACES
from tests.simulation.script import program
from tests.simulation.shrink import shrunk
from tests.simulation.world import simulate

SHOWN_EVERY = 60.0
"""Seconds between two lines about how far it is."""


def main() -> int:
    """Run the command line; the exit code is 0 if no promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__.splitlines()[0])
    parser.add_argument("places", nargs="*", default=list(PLACES), help=f"of {', '.join(PLACES)}; default: all")
    parser.add_argument("--interleavings", type=int, default=10_000, help="how many on each; default: 10,000")
    parser.add_argument("--seed", type=int, help="the first seed; default: chosen by the time")
    parser.add_argument("--story", action="store_true", help="tell what happens in each")
    parser.add_argument("--broken", type=int, metavar="N", help="try the mistakes on purpose, N interleavings each")
    chosen = parser.parse_args()
    seed = int(time.time()) if chosen.seed is None else chosen.seed
    if chosen.broken:
        return max([try_mistakes(name, seed, chosen.broken) for name in chosen.places])
    return max([try_place(name, seed, chosen.interleavings, chosen.story) for name in chosen.places])


def try_place(name: str, first: int, interleavings: int, story: bool = False) -> int:
    """Simulate on one store; print and return whether a promise was broken."""
    print(f"{name}: {interleavings:,} interleavings from seed {first}", flush=True)
    began, shown = time.monotonic(), time.monotonic()
    used = time.process_time()
    for number in range(interleavings):
        script, failed = simulate(name, first + number, print if story else None)
        if failed is not None:
            print(f"seed {first + number}: {failed}", "a shorter program that does it:", "", sep="\n")
            print(program(shrunk(script, failed.rule), failed.rule))
            return 1
        if time.monotonic() - shown > SHOWN_EVERY:
            shown = time.monotonic()
            print(f"  {number + 1:,} after {shown - began:.0f} s", flush=True)
    seconds, used = time.monotonic() - began, time.process_time() - used
    print(
        f"{name}: no promise was broken in {interleavings:,} interleavings; {seconds:.0f} s, "
        f"{interleavings / seconds * 3600:,.0f} an hour ({interleavings / used:,.0f} a second of processor time)",
        flush=True,
    )
    return 0


def try_mistakes(name: str, first: int, interleavings: int) -> int:
    """Make each mistake in turn; print which were noticed, and return whether fewer than half were."""
    if rule := _first_broken(name, first, interleavings):
        print(f"{name}: without any mistake: {rule}")
        return 1
    found = 0
    for mutation in STORES[name]:
        with broken(mutation):
            rule = _first_broken(name, first, interleavings)
        found += rule is not None
        print(f"  {'found ' if rule else 'missed'}  {mutation.says:60} {rule or ''}", flush=True)
    print(f"{name}: {found} of {len(STORES[name])} mistakes found within {interleavings:,} interleavings each")
    return int(found * 2 < len(STORES[name]))


def _first_broken(name: str, first: int, interleavings: int) -> str | None:
    """Return the first rule that is broken, and the seed that does it."""
    return next((rule for seed in range(first, first + interleavings) if (rule := _broken_by(name, seed))), None)


def _broken_by(name: str, seed: int) -> str | None:
    _, failed = simulate(name, seed)
    return None if failed is None else f"{failed.rule} (seed {seed})"


if __name__ == "__main__":
    sys.exit(main())
