"""Commands about schedules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from duerow.cli.failures import Commands
from duerow.cli.options import (
    PREFIX,
    AsJson,
    Create,
    Prefix,
    Schema,
    Url,
    connected,
    json_of,
    moment,
    queue_in,
    span,
)
from duerow.cli.output import payload_text, print_json, print_table, short, tell
from duerow.errors import UnknownName
from duerow.queue.schedule import Missed, Schedule
from duerow.sync.database import Database
from duerow.sync.directory import nearest

commands = typer.Typer(cls=Commands, no_args_is_help=True, help="Look at schedules, add and remove them.")

MOST_TICKS = 1_000
"""How many ticks `next` shows at most: each has to be worked out from the one before."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]


@commands.command("list")
def list_schedules(url: Url, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """List the schedules with their next ticks."""
    with connected(url, prefix, schema) as database:
        schedules = database.schedules()
    if as_json:
        print_json(schedules)
    elif not schedules:
        tell("no schedules")
    else:
        columns = ("name", "queue", "when", "zone", "next (UTC)", "last (UTC)", "missed", "payload")
        print_table(columns, [_row(schedule) for schedule in schedules])


@commands.command("add")
def add(
    url: Url,
    name: Name,
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="Where the messages go.")],
    payload: Annotated[str, typer.Argument(metavar="JSON", help="What each message carries.")] = "null",
    cron: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="Minute, hour, day of the month, month, day of the week.")
    ] = None,
    every: Annotated[float | None, typer.Option(metavar="SECONDS", help="An interval.")] = None,
    daily: Annotated[
        list[str] | None, typer.Option(metavar="HH:MM", help="A time of each day; may be repeated.")
    ] = None,
    zone: Annotated[str | None, typer.Option(metavar="ZONE", help="Their time zone, such as Europe/Zagreb.")] = None,
    start: Annotated[
        str | None, typer.Option(metavar="TIME", help="No tick is earlier; as 2027-01-01T08:00+01:00.")
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="NAME", help="The group that the messages are in.")] = None,
    priority: Annotated[int, typer.Option(metavar="N", help="Their priority; lower ones go first.")] = 0,
    missed: Annotated[Missed, typer.Option(help="What becomes of ticks that nobody pushed in time.")] = "once",
    grace: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="How late a tick may be.")] = 60.0,
    create: Create = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Add a schedule, or declare the one of that name anew; say one of --cron, --every and --daily."""
    with connected(url, prefix, schema) as database:
        queue_in(database, queue, create)
        schedule = database.schedule(
            name,
            queue=queue,
            payload=json_of("JSON", payload),
            cron=cron,
            every=None if every is None else span("--every", every),
            daily=daily or None,
            zone=zone,
            start=moment("--start", start),
            group=group,
            priority=priority,
            missed=missed,
            grace=span("--grace", grace),
        )
    if as_json:
        print_json(schedule)
    else:
        tell(f"{name} ticks next at {_shown(schedule.next_at)} UTC")


@commands.command("remove")
def remove(url: Url, name: Name, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Remove a schedule; the messages that it has pushed stay."""
    with connected(url, prefix, schema) as database:
        if not database.unschedule(name):
            raise _unknown(database, name)
    if as_json:
        print_json({"removed": True})
    else:
        tell(f"removed {name}")


@commands.command("next")
def next_ticks(
    url: Url,
    name: Name,
    count: Annotated[int, typer.Option(min=1, max=MOST_TICKS, help="How many.")] = 5,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Show the next ticks of a schedule, in UTC and in its own time zone."""
    with connected(url, prefix, schema) as database:
        found = [schedule for schedule in database.schedules() if schedule.name == name]
        if not found:
            raise _unknown(database, name)
    ticks, zone = found[0].ticks(count), ZoneInfo(found[0].zone or "UTC")
    if as_json:
        print_json([tick.astimezone(zone).isoformat() for tick in ticks])
    elif not ticks:
        tell(f"{name} ticks no more")
    else:
        rows = [(_shown(tick), f"{tick.astimezone(zone):%a %Y-%m-%d %H:%M:%S %z}") for tick in ticks]
        print_table(("UTC", zone.key), rows)


def _row(schedule: Schedule) -> Sequence[Any]:
    return (
        schedule.name,
        schedule.queue,
        schedule.cron or (" ".join(schedule.daily) if schedule.daily else f"every {schedule.every}"),
        schedule.zone,
        _shown(schedule.next_at),
        _shown(schedule.last_at),
        schedule.missed,
        short(payload_text(schedule.payload)),
    )


def _shown(moment: datetime | None) -> str:
    return "never" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _unknown(database: Database, name: str) -> UnknownName:
    return UnknownName("schedule", name, nearest(name, (one.name for one in database.schedules())))
