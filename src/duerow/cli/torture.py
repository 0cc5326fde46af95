"""The command that tortures a database, and checks what happened to its messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from duerow.cli.options import AsJson
from duerow.cli.output import print_json, tell

if TYPE_CHECKING:
    from duerow.testing.torture import Options, Report

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
    processes: Annotated[int, typer.Option(min=2, metavar="N", help="How many processes run at once.")] = 8,
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
    fill_disk: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Fill the server's disk now and then with this command line.")
    ] = None,
    free_disk: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Give the space back with this command line.")
    ] = None,
    set_clock: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Set the server's clock with this command line, which gets the seconds at its end."
        ),
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
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Use only this operation, or all of messages, pipelines or rows; can be repeated."
        ),
    ] = None,
    shrink: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="If a promise breaks, search for the smallest run that breaks it, and write it to this Python file.",
        ),
    ] = None,
    shared: Annotated[bool, typer.Option("--shared", help="Accept a database that has other queues.")] = False,
    as_json: AsJson = False,
) -> None:
    """Kill and disturb processes that use every operation, and check every promise. Exit code 8: a promise is broken.

    Creates tables whose names begin with torture_, and drops them when it ends.
    """
    from duerow.testing.torture import Options, torture
    from duerow.testing.torture.options import any_seed

    if shrink is not None and not shrink.parent.is_dir():
        raise typer.BadParameter(f"the folder {shrink.parent} does not exist", param_hint="--shrink")
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
        fill_disk=fill_disk,
        free_disk=free_disk,
        set_clock=set_clock,
        upgrade_from=upgrade_from,
        beside=beside,
        only=tuple(only or ()),
    )
    tell(f"seed {options.seed}", err=True)

    def run(options: Options, show: Callable[[Report], None] | None = None) -> Report:
        return torture(url, options, shared, tell=lambda text: tell(text, err=True), show=show)

    report = run(options, lambda report: print_json(asdict(report)) if as_json else tell(report))
    if report.broken:
        if shrink is not None:
            _shrink(options, report, run, shrink, shared)
        raise typer.Exit(BROKEN)


def _shrink(options: Options, report: Report, run: Callable[[Options], Report], file: Path, shared: bool) -> None:
    """Search for the smallest run that breaks the promise, and write it to a file."""
    from duerow.testing.torture.shrink import described, script, shrink

    tell("searching for a smaller run that breaks the same promise; Ctrl-C ends the search", err=True)
    shrunk = shrink(options, report, run, tell=lambda text: tell(text, err=True))
    file.write_text(script(shrunk, options, shared))
    tell(f"{file} repeats the smallest run that was found: {described(shrunk.options)}", err=True)
