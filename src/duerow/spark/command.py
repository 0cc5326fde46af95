"""`python -m duerow.spark MODULE:PIPELINE`: run a pipeline on Spark and print a report."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Annotated

import typer
from sqlalchemy.exc import SQLAlchemyError

from duerow.cli.failures import code_of, line_of
from duerow.cli.help import SingleCommand
from duerow.cli.options import PREFIX, AsJson, MaybeUrl, Prefix, Schema, Until, connected, encryption
from duerow.cli.output import print_json, print_table, tell
from duerow.cli.pipeline import Named, find_pipeline, moves_of
from duerow.cli.worker import LEFT, log_to_stderr
from duerow.errors import DuerowError
from duerow.spark.observed import observed_text
from duerow.spark.options import url_of
from duerow.spark.report import Line, Report
from duerow.spark.runner import MESSAGES_PER_CHUNK
from duerow.spark.runner import run as run_on_spark

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(cls=SingleCommand)
def run(
    named: Named,
    url: MaybeUrl = None,
    urlenv: Annotated[
        str | None, typer.Option(metavar="NAME", help="Instead of --db: the environment variable with the URL.")
    ] = None,
    urlfile: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Instead of --db: the file with the URL, such as a mounted secret."),
    ] = None,
    until: Until = "empty",
    chunk: Annotated[
        int, typer.Option(min=1, help="How many messages a task claims and settles at once.")
    ] = MESSAGES_PER_CHUNK,
    parallelism: Annotated[
        int | None,
        typer.Option(min=1, help="How many tasks of a station run at once; default: as many as Spark can run."),
    ] = None,
    rehome: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Move the messages of a removed station to another station. Repeatable."),
    ] = None,
    new_columns: Annotated[
        list[str] | None,
        typer.Option(metavar="STATION", help="Run this frame station although its columns have changed. Repeatable."),
    ] = None,
    lineage: Annotated[
        bool, typer.Option("--lineage", help="Report to OpenLineage what each station reads and writes.")
    ] = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also log each message that is done.")] = False,
) -> None:
    """Run a pipeline on Spark, and print the work done in its queues, as the database counted it.

    Uses the session of spark-submit or the server in SPARK_REMOTE, otherwise a session on this machine. At SIGTERM it
    finishes the messages that are being handled and ends.
    """
    log_to_stderr(as_json, verbose)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # otherwise it logs each connection to Java when it closes
    ways = {name: way for name, way in (("urlenv", urlenv), ("urlfile", urlfile)) if way is not None}
    if not ways and url is None:
        raise typer.BadParameter("say where the queues are: with --db, --urlenv, --urlfile or DUEROW_URL")
    where = url_of(ways or {"url": str(url)})
    pipeline, moves = find_pipeline(named), moves_of(rehome or ())
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda signum, frame: stop.set())
    with connected(where, prefix, schema) as database:
        report = Report(pipeline, database)
        tallies = run_on_spark(
            pipeline,
            where,
            until=None if until == "stopped" else until,
            chunk=chunk,
            parallelism=parallelism,
            stop=stop,
            rehome=moves,
            new_columns=new_columns or (),
            lineage=lineage,
            prefix=prefix,
            schema=schema,
            encryption=encryption(),
        )
        lines = report.lines(tallies)
    if as_json:
        print_json(lines)
    else:
        _print(lines)
    if until != "stopped" and any(one.left for one in tallies.values()):
        raise typer.Exit(LEFT)  # the log names the kinds and queues


def _print(lines: Sequence[Line]) -> None:
    names = ("done", "moved", "failed", "dead")
    rows = [
        (one.queue, one.station, *(f"{getattr(one.ended, name):,}" for name in names), f"{one.left:,}", f"{one.dead:,}")
        for one in lines
    ]
    columns = ("queue", "station", "done", "moved", "failed", "given up", "left", "dead")
    print_table(columns, rows, numbers=columns[2:])
    for one in lines:
        if one.observed:
            tell(f"{one.queue}: observed {observed_text(one.observed)} in the last batch")


def main() -> None:
    """Run the command; report an error as one line on standard error, without a traceback."""
    try:
        app(prog_name="python -m duerow.spark")
    except (DuerowError, SQLAlchemyError, OSError) as error:
        tell(f"duerow: {line_of(error)}", err=True)
        sys.exit(code_of(error))
