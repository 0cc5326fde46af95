"""Torture SQLite and the tests' own servers, of which PostgreSQL is restarted as well: `make torture`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from duerow.testing.torture import Options, Report, torture
from duerow.testing.torture.options import any_seed
from tests.processes import forking
from tests.servers import mariadb, mongodb, postgresql

FAMILIES = ("sqlite", "postgresql", "mariadb", "mongodb")

WITHOUT_LEVELS = ("mongodb",)
"""Those that have no SERIALIZABLE."""


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="DATABASE", help=f"of {', '.join(FAMILIES)}; default: two")
    parser.add_argument("--kills", type=int, default=60, help="how many processes are killed on each")
    parser.add_argument("--seconds", type=float, help="how long the faults go on at most on each")
    parser.add_argument("--restarts", type=int, default=25, help="how many kills there are between two restarts")
    parser.add_argument("--seed", type=int, help="of an earlier run")
    asked = parser.parse_args()
    if unknown := set(asked.families) - set(FAMILIES):
        parser.error(f"no database is called {', '.join(sorted(unknown))}")
    reports = [run(family, asked) for family in asked.families or FAMILIES[:2]]
    return 1 if any(report.broken for report in reports) else 0


def run(family: str, asked: argparse.Namespace) -> Report:
    """Torture one database."""
    seed = any_seed() if asked.seed is None else asked.seed
    print(f"{family}, seed {seed}", flush=True)
    with server(family) as (url, restart):
        levels = family not in WITHOUT_LEVELS
        options = Options(
            seed, asked.kills, asked.seconds, serializable=levels, restart=restart, restarts=asked.restarts
        )
        report = torture(url, options, tell=lambda text: print(text, flush=True), context=forking())
    print(report, flush=True)
    return report


@contextmanager
def server(family: str) -> Iterator[tuple[str, Callable[[], None] | None]]:
    """Yield the URL of an empty database, and what restarts its server, if anything does."""
    with ExitStack() as running:
        if family == "sqlite":
            yield f"sqlite:///{Path(running.enter_context(TemporaryDirectory()), 'torture.db')}", None
        elif family == "postgresql":
            yield running.enter_context(postgresql.restartable())
        else:
            yield running.enter_context((mariadb if family == "mariadb" else mongodb).running()), None


if __name__ == "__main__":
    sys.exit(main())
