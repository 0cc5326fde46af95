"""Commands for schedules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from duerow.cli.audit import record
from duerow.cli.completion import schedule_names
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

commands = typer.Typer(cls=Commands, no_args_is_help=True, help="Show, add, pause and remove schedules.")

MOST_TICKS = 1_000
"""The most ticks that `next` shows: each tick is computed from the one before."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.", autocompletion=schedule_names)]


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
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue that gets the messages.")],
    payload: Annotated[str, typer.Argument(metavar="JSON", help="The payload of each message.")] = "null",
    cron: Annotated[
        str | None,
        typer.Option(
            metavar="EXPRESSION", help="A cron expression: minute, hour, day of the month, month, day of the week."
        ),
    ] = None,
    every: Annotated[float | None, typer.Option(metavar="SECONDS", help="The time between two ticks.")] = None,
    daily: Annotated[list[str] | None, typer.Option(metavar="HH:MM", help="A time of day. Repeatable.")] = None,
    zone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="The time zone of --cron and --daily, such as Europe/Zagreb.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="TIME", help="The earliest possible tick, such as 2027-01-01T08:00+01:00.")
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="NAME", help="The group of the messages.")] = None,
    priority: Annotated[
        int, typer.Option(metavar="N", help="The priority of the messages; lower numbers go first.")
    ] = 0,
    missed: Annotated[Missed, typer.Option(help="What to do with ticks that no worker pushed in time.")] = "once",
    grace: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How late a tick may be before it counts as missed.")
    ] = 60.0,
    create: Create = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Add a schedule, or replace the one with that name. Give exactly one of --cron, --every and --daily."""
    with connected(url, prefix, schema) as database:
        queue_in(database, queue, create)
        record(database, "schedule add", queue, schedule=name, cron=cron, every=every, daily=daily)
        schedule = database.schedule(
            name,
            queue=queue,
            payload=json_of("the payload", payload),
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
    """Remove a schedule; messages that it has pushed stay."""
    with connected(url, prefix, schema) as database:
        record(database, "schedule remove", schedule=name)
        if not database.unschedule(name):
            raise _unknown(database, name)
    if as_json:
        print_json({"removed": True})
    else:
        tell(f"removed {name}")


@commands.command("pause")
def pause(url: Url, name: Name, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Stop the ticks of a schedule until it is resumed, even if a program declares it again."""
    with connected(url, prefix, schema) as database:
        record(database, "schedule pause", schedule=name)
        _require(database, name)
        changed = database.pause_schedule(name)
    if as_json:
        print_json({"paused": True, "changed": changed})
    else:
        tell(f"{name} is paused" if changed else f"{name} was already paused")


@commands.command("resume")
def resume(url: Url, name: Name, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Let a paused schedule tick again, from now on."""
    with connected(url, prefix, schema) as database:
        record(database, "schedule resume", schedule=name)
        _require(database, name)
        changed = database.resume_schedule(name)
        next_at = _require(database, name).next_at
    if as_json:
        print_json({"paused": False, "changed": changed})
    else:
        tell(f"{name} ticks next at {_shown(next_at)} UTC" if changed else f"{name} was not paused")


@commands.command("push")
def push(url: Url, name: Name, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Push the message of a schedule now, in addition to its ticks."""
    with connected(url, prefix, schema) as database:
        record(database, "schedule push", schedule=name)
        queue = _require(database, name).queue
        pushed = database.push_scheduled(name)
    if as_json:
        print_json({"id": pushed.id, "queue": queue})
    else:
        tell(f"pushed message {pushed.id} to {queue}")


@commands.command("next")
def next_ticks(
    url: Url,
    name: Name,
    count: Annotated[int, typer.Option(min=1, max=MOST_TICKS, help="How many ticks to show.")] = 5,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Show the next ticks of a schedule, in UTC and in its own time zone."""
    with connected(url, prefix, schema) as database:
        found = _require(database, name)
    ticks, zone = found.ticks(count), ZoneInfo(found.zone or "UTC")
    if as_json:
        print_json([tick.astimezone(zone).isoformat() for tick in ticks])
    elif not ticks:
        tell(f"{name} will not tick again")
    else:
        rows = [(_shown(tick), f"{tick.astimezone(zone):%a %Y-%m-%d %H:%M:%S %z}") for tick in ticks]
        print_table(("UTC", zone.key), rows)


def _row(schedule: Schedule) -> Sequence[Any]:
    return (
        schedule.name,
        schedule.queue,
        schedule.cron or (" ".join(schedule.daily) if schedule.daily else f"every {schedule.every}"),
        schedule.zone,
        "paused" if schedule.paused else _shown(schedule.next_at),
        _shown(schedule.last_at),
        schedule.missed,
        short(payload_text(schedule.payload)),
    )


def _shown(moment: datetime | None) -> str:
    return "never" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _require(database: Database, name: str) -> Schedule:
    """Return the schedule with this name; raise UnknownName with the most similar name if there is none."""
    for schedule in database.schedules():
        if schedule.name == name:
            return schedule
    raise _unknown(database, name)


def _unknown(database: Database, name: str) -> UnknownName:
    return UnknownName("schedule", name, nearest(name, (one.name for one in database.schedules())))
