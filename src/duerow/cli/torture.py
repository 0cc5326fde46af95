"""The command that tortures a database, and checks what happened to its messages."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Final

import typer

from duerow.cli.options import AsJson
from duerow.cli.output import print_json, tell

BROKEN: Final = 8


def torture(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="A database that you can afford to lose, such as postgresql://app@localhost/spare."
        ),
    ],
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="The seed of an earlier run.")] = None,
    kills: Annotated[int, typer.Option(min=0, metavar="N", help="How many processes to kill.")] = 100,
    seconds: Annotated[
        float | None, typer.Option(min=0, metavar="N", help="End sooner, after this many seconds of faults.")
    ] = None,
    processes: Annotated[int, typer.Option(min=4, metavar="N", help="How many processes run at once.")] = 8,
    stops: Annotated[bool, typer.Option(help="Suspend processes for longer than their leases.")] = True,
    cuts: Annotated[bool, typer.Option(help="Cut connections, slow them down, leave them half-open.")] = True,
    exhaust: Annotated[
        bool, typer.Option(help="Briefly take all of the server's remaining connections; not with --shared.")
    ] = True,
    clocks: Annotated[
        bool, typer.Option("--clocks", help="Give processes wrong clocks, and set them forward and back.")
    ] = False,
    full_disk: Annotated[
        bool, typer.Option("--full-disk", help="Simulate a full disk for some processes; for SQLite.")
    ] = False,
    serializable: Annotated[
        bool, typer.Option("--serializable", help="Use SERIALIZABLE for transactions that are passed to within=.")
    ] = False,
    restart: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Restart the server now and then with this command line.")
    ] = None,
    upgrade_from: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Start with the tables of this earlier version, and upgrade them during the run."
        ),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="PYTHON", help="A Python interpreter with another version of duerow, to do half of the work."
        ),
    ] = None,
    shared: Annotated[bool, typer.Option("--shared", help="Accept a database that has other queues.")] = False,
    as_json: AsJson = False,
) -> None:
    """Kill and disturb processes that use every operation, and check every promise. Exit code 8: one is broken.

    Creates tables whose names begin with torture_, and drops them when it ends.
    """
    from duerow.testing.torture import Options, torture
    from duerow.testing.torture.options import any_seed

    options = Options(
        any_seed() if seed is None else seed,
        kills,
        seconds,
        processes,
        stops,
        cuts,
        exhaust,
        clocks,
        full_disk,
        serializable,
        restart,
        upgrade_from=upgrade_from,
        beside=beside,
    )
    tell(f"seed {options.seed}", err=True)
    report = torture(url, options, shared, tell=lambda text: tell(text, err=True))
    if as_json:
        print_json(asdict(report))
    else:
        tell(report)
    if report.broken:
        raise typer.Exit(BROKEN)
