"""Torture SQLite and the tests' own servers, which are restarted as well: `make torture`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from duerow.testing.torture import Options, Report, torture
from duerow.testing.torture.options import any_seed
from duerow.testing.torture.shrink import script, shrink
from tests.processes import forking
from tests.servers import mariadb, mongodb, pgbouncer, postgresql
from tests.servers.restartable import Restartable, Wanted

FAMILIES = ("sqlite", "postgresql", "mariadb", "mongodb")

WITHOUT_LEVELS = ("mongodb",)
"""Those that have no SERIALIZABLE."""

LEVELS = ("repeatable read", "serializable")

DEFAULTS: dict[str, Callable[[str], str]] = {
    "postgresql": lambda level: f"default_transaction_isolation={level}",
    "mariadb": lambda level: f"--transaction-isolation={level.upper().replace(' ', '-')}",
}
"""How a server is told the level of transactions that name none."""

DISTURBED = ("postgresql", "mariadb")
"""The servers whose disk can be filled, and whose clock can be set."""

CONNECTIONS: dict[str, str] = {"postgresql": "max_connections=100", "mariadb": "--max-connections=100"}
"""How a server is told to take only so many, which suffice for a run, and are all taken in a moment."""


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="DATABASE", help=f"of {', '.join(FAMILIES)}; default: two")
    parser.add_argument("--kills", type=int, default=60, help="how many processes are killed on each")
    parser.add_argument("--seconds", type=float, help="how long the faults go on at most on each")
    parser.add_argument("--restarts", type=int, default=25, help="how many kills there are between two restarts")
    parser.add_argument("--seed", type=int, help="of an earlier run")
    parser.add_argument("--clocks", action="store_true", help="let the clocks of processes be wrong, and be set")
    parser.add_argument(
        "--full-disk", action="store_true", help="let the disk be full: of some processes on SQLite, else of the server"
    )
    parser.add_argument("--server-clock", action="store_true", help="set the clock of the server")
    parser.add_argument("--no-exhaust", action="store_true", help="never take all connections that the server has")
    parser.add_argument("--isolation", choices=LEVELS, help="the level of isolation that the server has by default")
    parser.add_argument("--pooler", choices=pgbouncer.MODES, help="put PgBouncer in front of PostgreSQL, in this mode")
    parser.add_argument("--upgrade-from", type=int, metavar="N", help="begin with the tables of this earlier version")
    parser.add_argument("--beside", metavar="PYTHON", help="an interpreter with another version of duerow")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="use only these operations")
    parser.add_argument(
        "--shrink", type=Path, metavar="FILE", help="write the smallest run that breaks a promise to this file"
    )
    asked = parser.parse_args()
    if unknown := set(asked.families) - set(FAMILIES):
        parser.error(f"no database is called {', '.join(sorted(unknown))}")
    able = [family for family in FAMILIES if is_able(family, asked)]
    if unable := set(asked.families) - set(able):
        parser.error(f"that cannot be done to {', '.join(sorted(unable))}")
    reports = [run(family, asked) for family in asked.families or [one for one in FAMILIES[:2] if one in able]]
    return 1 if any(report.broken for report in reports) else 0


def is_able(family: str, asked: argparse.Namespace) -> bool:
    """Return whether a database can have what is asked for."""
    return (
        (not asked.isolation or family in DEFAULTS)
        and (not asked.pooler or family == "postgresql")
        and (not asked.full_disk or family in ("sqlite", *DISTURBED))
        and (not asked.server_clock or family in DISTURBED)
    )


def run(family: str, asked: argparse.Namespace) -> Report:
    """Torture one database."""
    seed = any_seed() if asked.seed is None else asked.seed
    print(f"{family}, seed {seed}", flush=True)
    with ExitStack() as running:
        server = start(family, asked, running)
        url = (
            f"sqlite:///{Path(running.enter_context(TemporaryDirectory()), 'torture.db')}"
            if server is None
            else server.url
        )
        if asked.pooler:
            url = running.enter_context(pgbouncer.pooling(url, asked.pooler))
        levels = family not in WITHOUT_LEVELS and not asked.isolation
        options = Options(
            seed,
            asked.kills,
            asked.seconds,
            exhaust=not asked.no_exhaust,
            clocks=asked.clocks,
            full_disk=asked.full_disk and server is None,
            serializable=levels,
            restart=server and server.restart,
            restarts=asked.restarts,
            fill_disk=server and server.fill,
            free_disk=server and server.free,
            set_clock=server and server.set_clock,
            upgrade_from=asked.upgrade_from,
            beside=asked.beside,
            only=tuple(asked.only),
        )

        def tell(text: object) -> None:
            print(text, flush=True)

        def repeat(options: Options, show: Callable[[Report], None] | None = None) -> Report:
            return torture(url, options, tell=tell, context=forking(), show=show)

        report = repeat(options, tell)
        if report.broken and asked.shrink:
            asked.shrink.write_text(script(shrink(options, report, repeat), options))
        if server is not None and server.fill is not None:
            said, ended = server.complaints()
            print(f"the server said {said} times that it had no space, and ended {ended} times because of that")
    return report


def start(family: str, asked: argparse.Namespace, running: ExitStack) -> Restartable | None:
    """Start the server of a family; None: it has none."""
    settings = [DEFAULTS[family](asked.isolation)] if asked.isolation else []
    settings += [CONNECTIONS[family]] if family in CONNECTIONS else []
    wanted = Wanted(asked.full_disk, asked.server_clock)
    if family == "postgresql":
        return running.enter_context(postgresql.restartable(*settings, wanted=wanted))
    if family == "mariadb":
        return running.enter_context(mariadb.restartable(*settings, wanted=wanted))
    return running.enter_context(mongodb.restartable()) if family == "mongodb" else None


if __name__ == "__main__":
    sys.exit(main())
