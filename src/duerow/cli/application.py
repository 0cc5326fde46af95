"""Inspect queues and run workers from a terminal.

Exit codes: 0 success; 1 failure, with the reason on standard error; 2 incorrect usage; 3 the worker left messages of
kinds that it does not know; 4 the database cannot be reached; 5 no such queue, message, schedule or pipeline; 6
`doctor` has warnings; 7 `doctor` has errors; 8 `torture` found a broken promise; 70 a bug in duerow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import typer

import duerow
from duerow.cli import (
    audit,
    change,
    copy,
    dashboard,
    declare,
    doctor,
    history,
    init,
    limits,
    message,
    minutes,
    operations,
    pipeline,
    queue,
    schedule,
    schema,
    shell,
    torture,
    transfer,
    worker,
)
from duerow.cli.failures import Commands
from duerow.cli.help import DocumentedCommand, epilog

app = typer.Typer(
    cls=Commands,
    help=__doc__,
    no_args_is_help=True,
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
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            envvar="DUEROW_BY", metavar="NAME", help="The name recorded for changes; default: your user name."
        ),
    ] = None,
) -> None:
    """Read the options that come before a command."""
    audit.CHANGER.set(by)


app.command("init")(init.init)
app.command("migrate")(schema.migrate)
app.command("sql")(schema.sql)
app.command("stats")(queue.stats)
app.command("minutes")(minutes.minutes)
app.command("queues")(operations.queues)
app.command("declare")(declare.declare)
app.command("workers")(operations.workers)
app.command("push")(message.push)
app.command("list")(queue.list_messages)
app.command("find")(change.find)
app.command("show")(message.show)
app.command("stack")(message.stack)
app.command("why")(operations.why)
app.command("edit")(change.edit)
app.command("reschedule")(change.reschedule)
app.command("reprioritise")(change.reprioritise)
app.command("remove")(change.remove)
app.command("cancel")(change.cancel)
app.command("requeue")(change.requeue)
app.command("transfer")(transfer.transfer)
app.command("pause")(operations.pause)
app.command("resume")(operations.resume)
app.command("drain")(operations.drain)
app.command("limit")(limits.limit)
app.command("purge")(operations.purge)
app.command("redrive")(operations.redrive)
app.command("copy")(copy.copy)
app.command("history")(history.history)
app.command("replay")(history.replay)
app.command("doctor")(doctor.doctor)
app.command("maintain")(operations.maintain)
app.command("torture")(torture.torture)
app.command("worker")(worker.work)
app.command("shell")(shell.shell)
app.command("audit")(audit.audit)
app.add_typer(dashboard.commands, name="dashboard", epilog=epilog("dashboard"))
app.add_typer(schedule.commands, name="schedule")
app.add_typer(pipeline.commands, name="pipeline")

_GROUPS: Final[Mapping[str, typer.Typer]] = {
    "": app,
    "dashboard user ": dashboard.users,
    "schedule ": schedule.commands,
    "pipeline ": pipeline.commands,
}
for _group, _commands in _GROUPS.items():
    for _command in _commands.registered_commands:
        _command.cls, _command.epilog = DocumentedCommand, epilog(f"{_group}{_command.name}")
