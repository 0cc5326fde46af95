"""The example's command line: `python -m examples.library --help`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from sqlalchemy import make_url

import duerow
from duerow import Draft, spark
from duerow.cli.help import SingleCommand
from duerow.errors import DuerowError
from examples.library import findings, modules, plain_loop, report
from examples.library.findings import Findings
from examples.library.payloads import Module
from examples.library.stations import MODULE, pipeline

FAILED, NOT_THE_SAME = 1, 3
"""Exit codes besides 0 (done, with the same findings as a plain loop) and 2 (incorrect usage)."""

DEFAULT: Final = "sqlite:///build/library.db"

ASIDE: Final = Console(stderr=True)
"""Everything except the report goes here."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(cls=SingleCommand)
def library(
    db: Annotated[str, typer.Option(metavar="URL", help="The database; the example creates its tables.")] = DEFAULT,
    only: Annotated[
        list[str] | None, typer.Option(metavar="PACKAGE", help="Use only this package or module; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Send the modules of Python's standard library through a pipeline on Spark, and report what is in them.

    You can kill it at any time; when started again, it continues where it stopped. Once it is done, it only reports.

    Exit codes: 0 the findings are the same as those of a plain loop, 1 an error, 2 incorrect usage, 3 they differ.
    """
    names = modules.names(tuple(only or ()))
    if not names:
        raise typer.BadParameter(f"this Python's library has no {' or '.join(only or ())}", param_hint="--only")
    try:
        found = run(db, names)
    except (DuerowError, OSError, ValueError) as error:
        line = str(error).partition("\n")[0]
        ASIDE.print(f"[red]{type(error).__name__}[/red]: {escape(line)}", soft_wrap=True)
        raise typer.Exit(FAILED) from None
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        report.show(Console(), found)
    if found != plain_loop.find(names):
        ASIDE.print(
            "[red]A plain loop has different findings.[/red] Was this database filled by another version of Python, or "
            "with other modules?"
        )
        raise typer.Exit(NOT_THE_SAME)
    ASIDE.print("A plain loop, without queues or Spark, has exactly the same findings.")


def run(url: str, names: list[str]) -> Findings:
    """Send the modules that have not been sent yet through the pipeline; return the findings about all modules."""
    _make_room(url)
    whole = pipeline()
    with duerow.connect(url, migrate=True) as database:
        # Each module's key is its name, and keys are remembered. So a second run pushes only modules that are new.
        drafts = [Draft(Module(name), key=name) for name in names]
        pushed = whole.station(MODULE).queue(database).push_many(drafts)
        ASIDE.print(
            f"{sum(one.outcome == 'created' for one in pushed):,} of {len(names):,} modules are new; starting Spark …"
        )
        began = time.monotonic()
        spark.run(whole, url, spark.session(app="library"), until="empty")
        ASIDE.print(f"The pipeline finished after {time.monotonic() - began:.0f} s; counting …")
        return findings.read(database)


def main() -> None:
    """Run the command."""
    app(prog_name="python -m examples.library")


def _make_room(url: str) -> None:
    """Create the folder of an SQLite file, so that the example needs no preparation."""
    parts = make_url(url)
    if parts.get_backend_name() == "sqlite" and parts.database:
        Path(parts.database).parent.mkdir(parents=True, exist_ok=True)
