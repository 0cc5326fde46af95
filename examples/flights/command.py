"""The demo's command line: `python -m examples.flights --help`."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.markup import escape
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

import duerow
from duerow import Database
from duerow.cli.help import SingleCommand
from duerow.errors import DuerowError
from examples.flights import ledger, producer, report, screen, totals, window
from examples.flights.ledger import FLIGHT, SMS
from examples.flights.totals import Totals
from examples.flights.work import LEASE, Job, is_under_way, work

FAILED, NOT_EXACT, INTERRUPTED = 1, 3, 130
"""Exit codes besides 0 (everything is done, and the totals are exact) and 2 (incorrect usage)."""

ALL: Final = 336_776
SOME: Final = 20_000
DEFAULT: Final = "sqlite:///build/demo.db"

ASIDE: Final = Console(stderr=True)
"""Everything except the totals goes here, so that a program can read the totals from standard output."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(cls=SingleCommand)
def demo(
    db: Annotated[str, typer.Option(metavar="URL", help="The database, in which the demo creates tables.")] = DEFAULT,
    count: Annotated[
        int, typer.Option("--flights", min=1, max=ALL, help="How many of the 336,776 flights to handle in all runs.")
    ] = SOME,
    everything: Annotated[bool, typer.Option("--all", help="Handle all flights.")] = False,
    page: Annotated[Path, typer.Option("--report", metavar="PATH", help="Where to write the report.")] = Path(
        "build/demo.html"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print the totals as JSON.")] = False,
    local: Annotated[bool, typer.Option("--local", help="Run the pipeline in threads instead of on Spark.")] = False,
    lease: Annotated[
        float, typer.Option(min=1, help="Seconds until the messages of a killed run are handed out again.")
    ] = LEASE.total_seconds(),
    dashboard: Annotated[
        bool | None, typer.Option(help="Serve the dashboard while the demo runs; default: yes, unless you give --json.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what the workers do.")] = False,
) -> None:
    """Run the flights that left New York in 2013 through queues, a pipeline on Spark and a worker.

    You can stop or kill it at any time. When you start it again, it continues where it stopped.

    Exit codes: 0 all done and exact, 1 an error, 2 incorrect usage, 3 the totals are not exact, 130 interrupted.
    """
    _log(verbose)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        job = Job(db, ALL if everything else count, timedelta(seconds=lease), not local)
        found = _run(job, page, not as_json if dashboard is None else dashboard)
    except KeyboardInterrupt:
        ASIDE.print("[yellow]Interrupted.[/yellow] Run the same command again to continue.")
        raise typer.Exit(INTERRUPTED) from None
    except (DuerowError, SQLAlchemyError, OSError) as error:
        line = str(error).partition("\n")[0]
        ASIDE.print(f"[red]{type(error).__name__}[/red]: {escape(line)}", soft_wrap=True)
        raise typer.Exit(FAILED) from None
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        screen.show(Console(), found)
    ASIDE.print(f"The report is [bold]{escape(str(page))}[/bold]", soft_wrap=True)
    if not found.exact:
        raise typer.Exit(NOT_EXACT)


def main() -> None:
    """Run the command."""
    app(prog_name="python -m examples.flights")


def _run(job: Job, page: Path, dashboard: bool) -> Totals:
    began = time.monotonic()
    engine = ledger.open_engine(job.url)
    _make_room(engine)
    try:
        with duerow.connect(job.url, migrate=True) as database, _window(job.url, dashboard):
            ledger.prepare(engine)
            _work(job, database, engine)
            ASIDE.print(f"[dim]Counting, after {time.monotonic() - began:.0f} s …[/dim]")
            found = totals.count(database, engine)
            report.write(page, found, engine)
    finally:
        engine.dispose()
    return found


@contextmanager
def _window(url: str, wanted: bool) -> Iterator[None]:
    """Serve the dashboard while a block runs, and print its address."""
    if not wanted:
        yield
        return
    with ExitStack() as served:
        try:
            address = served.enter_context(window.window(url))
        except ImportError as error:
            ASIDE.print(f"[dim]No dashboard: it needs {error.name}; run pip install 'duerow\\[dashboard]'[/dim]")
        else:
            ASIDE.print(f"Watch it at [bold]{address}[/bold] while it runs", soft_wrap=True)
        yield


def _work(job: Job, database: Database, engine: Engine) -> None:
    with engine.connect() as connection:
        pushed = producer.pushed(connection)
        recorded = connection.scalar(select(func.count()).select_from(FLIGHT)) or 0
        alerts = connection.scalar(select(func.count()).select_from(SMS)) or 0
    if pushed >= job.flights and not is_under_way(database, totals.QUEUES):
        ASIDE.print(f"All {pushed:,} flights were handled in earlier runs: nothing is left to do.")
        return
    if pushed:
        ASIDE.print(f"Continuing: {pushed:,} flights have been pushed, and {recorded:,} are through the pipeline.")
    with screen.Bars(ASIDE, database, max(job.flights, pushed), recorded, alerts) as bars:
        work(job, database, engine, bars)


def _log(verbose: bool) -> None:
    """Show everything that the workers log, or, without `verbose`, only warnings that are not about one message."""
    handler = RichHandler(console=ASIDE, show_path=False)
    if not verbose:
        handler.addFilter(lambda line: not hasattr(line, "message_id"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(message)s", handlers=[handler])


def _make_room(engine: Engine) -> None:
    """Create the folder of an SQLite file, so that the demo needs no preparation."""
    if engine.dialect.name == "sqlite" and engine.url.database:
        Path(engine.url.database).parent.mkdir(parents=True, exist_ok=True)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
