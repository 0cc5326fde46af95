"""Look at queues and work on them from a terminal.

Exit codes: 0 it worked, 1 it did not and a line says why, 2 the command was not understood.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from sqlalchemy.exc import SQLAlchemyError
from typer.core import TyperGroup

from duerow.cli import change, copy, history, operate, pipeline, queue, schedule, schema, worker
from duerow.errors import DuerowError

FAILED = 1

UNREAD = 141
"""What a shell says of a program whose output nobody reads any more: 128, and the number of SIGPIPE."""


class Commands(TyperGroup):
    """Commands whose expected failures are a line, not a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more at its end
            raise typer.Exit(UNREAD) from error
        except (DuerowError, SQLAlchemyError, OSError) as error:
            typer.echo(f"duerow: {error}", err=True)
            raise typer.Exit(FAILED) from error


app = typer.Typer(
    cls=Commands,
    help=__doc__,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("migrate")(schema.migrate)
app.command("sql")(schema.sql)
app.command("stats")(queue.stats)
app.command("list")(queue.list_messages)
app.command("find")(change.find)
app.command("edit")(change.edit)
app.command("reschedule")(change.reschedule)
app.command("reprioritise")(change.reprioritise)
app.command("remove")(change.remove)
app.command("requeue")(change.requeue)
app.command("why")(operate.why)
app.command("pause")(operate.pause)
app.command("resume")(operate.resume)
app.command("drain")(operate.drain)
app.command("queues")(operate.queues)
app.command("redrive")(operate.redrive)
app.command("copy")(copy.copy)
app.command("history")(history.history)
app.command("replay")(history.replay)
app.command("worker")(worker.work)
app.add_typer(schedule.commands, name="schedule")
app.add_typer(pipeline.commands, name="pipeline")
