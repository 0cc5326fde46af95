"""Look at queues and work on them from a terminal.

Exit codes: 0 it worked, 1 it did not and a line says why, 2 the command was not understood, 3 a worker left what it
does not know, 4 the database cannot be reached, 5 there is no such queue, message, schedule or pipeline, 70 a fault of
duerow's own.
"""

from __future__ import annotations

from typing import Annotated

import typer

import duerow
from duerow.cli import change, copy, history, message, operate, pipeline, queue, schedule, schema, worker
from duerow.cli.failures import Commands

app = typer.Typer(
    cls=Commands,
    help=__doc__,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"duerow {duerow.__version__}")
        raise typer.Exit


@app.callback(help=__doc__)
def main(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version, and end.")
    ] = False,
) -> None:
    """What stands before all commands."""


app.command("migrate")(schema.migrate)
app.command("sql")(schema.sql)
app.command("stats")(queue.stats)
app.command("queues")(operate.queues)
app.command("workers")(operate.workers)
app.command("push")(message.push)
app.command("list")(queue.list_messages)
app.command("find")(change.find)
app.command("show")(message.show)
app.command("why")(operate.why)
app.command("edit")(change.edit)
app.command("reschedule")(change.reschedule)
app.command("reprioritise")(change.reprioritise)
app.command("remove")(change.remove)
app.command("requeue")(change.requeue)
app.command("pause")(operate.pause)
app.command("resume")(operate.resume)
app.command("drain")(operate.drain)
app.command("purge")(operate.purge)
app.command("redrive")(operate.redrive)
app.command("copy")(copy.copy)
app.command("history")(history.history)
app.command("replay")(history.replay)
app.command("worker")(worker.work)
app.add_typer(schedule.commands, name="schedule")
app.add_typer(pipeline.commands, name="pipeline")
