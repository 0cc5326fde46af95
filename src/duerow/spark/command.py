"""`python -m duerow.spark MODULE:PIPELINE`: run a pipeline on Spark, and say what has happened."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Annotated, Literal

import typer
from sqlalchemy.exc import SQLAlchemyError

from duerow.cli.failures import code_of, line_of
from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, connected, encryption
from duerow.cli.output import print_json, print_table, tell
from duerow.cli.pipeline import Named, find_pipeline, moves_of
from duerow.cli.worker import log_to_stderr
from duerow.errors import DuerowError
from duerow.spark.report import Line, Report
from duerow.spark.runner import CHUNK
from duerow.spark.runner import run as run_on_spark

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    url: Url,
    named: Named,
    until: Annotated[
        Literal["idle", "empty", "stopped"],
        typer.Option(help="End when nothing is due now, when nothing will be, or when it is stopped by a signal."),
    ] = "empty",
    chunk: Annotated[int, typer.Option(min=1, help="Messages that a task claims and settles at once.")] = CHUNK,
    parallelism: Annotated[
        int | None, typer.Option(min=1, help="Tasks of a station at once; default: as many as Spark runs at once.")
    ] = None,
    rehome: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Where the messages of a removed station go; may be repeated."),
    ] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each message that is done as well.")] = False,
) -> None:
    """Run a pipeline on Spark; print what has happened in its queues, by the database's own counts.

    The session is the one of spark-submit or of the server that SPARK_REMOTE names, else one on this machine.
    SIGTERM ends it once what is begun is done.
    """
    log_to_stderr(as_json, verbose)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it tells of each connection to Java that it closes
    pipeline, moves = find_pipeline(named), moves_of(rehome or ())
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda signum, frame: stop.set())
    with connected(url, prefix, schema) as database:
        report = Report(pipeline, database)
        run_on_spark(
            pipeline,
            url,
            until=None if until == "stopped" else until,
            chunk=chunk,
            parallelism=parallelism,
            stop=stop,
            rehome=moves,
            prefix=prefix,
            schema=schema,
            encryption=encryption(),
        )
        lines = report.lines()
    if as_json:
        print_json(lines)
    else:
        _print(lines)


def _print(lines: Sequence[Line]) -> None:
    names = ("done", "moved", "failed", "dead")
    rows = [
        (one.queue, one.station, *(f"{getattr(one.ended, name):,}" for name in names), f"{one.left:,}", f"{one.dead:,}")
        for one in lines
    ]
    columns = ("queue", "station", "done", "moved", "failed", "given up", "left", "dead")
    print_table(columns, rows, numbers=columns[2:])


def main() -> None:
    """Run the command; what is wrong is a line on standard error, not a traceback."""
    try:
        app(prog_name="python -m duerow.spark")
    except (DuerowError, SQLAlchemyError, OSError) as error:
        tell(f"duerow: {line_of(error)}", err=True)
        sys.exit(code_of(error))
