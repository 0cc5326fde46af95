"""Commands for one message: push it, show it in full, or ask where its handler is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
import typer

from duerow.cli.audit import record
from duerow.cli.history import print_turns
from duerow.cli.operations import Name
from duerow.cli.options import (
    PREFIX,
    AsJson,
    Create,
    MessageId,
    MessageKey,
    Prefix,
    Schema,
    Url,
    connected,
    json_of,
    missing,
    moment,
    queue_in,
    span,
)
from duerow.cli.output import legible, print_json, tell
from duerow.errors import ConfigurationError, shown
from duerow.message import Message, OnDuplicate, Scalar
from duerow.payload import codec
from duerow.payload.codec import Encoded
from duerow.queue.history import Event
from duerow.queue.stats import Reason
from duerow.sync.queue import Queue
from duerow.worker.progress import Progress

TURNS: Final = 100
"""At most this many of a message's latest turns are shown."""


def push(
    url: Url,
    name: Name,
    payload: Annotated[str, typer.Argument(metavar="JSON", help="The payload; - reads it from standard input.")],
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="A key, unique among the live messages of the queue.")
    ] = None,
    due: Annotated[
        str | None, typer.Option(metavar="TIME", help="The due time, with a time zone: 2026-03-01T12:00:00Z.")
    ] = None,
    delay: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Due this long from now.")] = None,
    priority: Annotated[int, typer.Option(metavar="N", help="Lower numbers go first.")] = 0,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="A group: its messages are handled in order, one at a time.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A header; a value that is not JSON is text. Repeatable."),
    ] = None,
    kind: Annotated[str | None, typer.Option(metavar="NAME", help="The name of the payload's declared type.")] = None,
    on_duplicate: Annotated[
        OnDuplicate, typer.Option(help="What to do if a live message already has the key; ignore pushes nothing.")
    ] = "ignore",
    create: Create = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Push a message."""
    text = _read() if payload == "-" else payload
    content = json_of("the payload", text)
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name, create)
        pushed = queue.push(
            content if kind is None else Encoded(kind, codec.encode(content).text),
            key=key,
            due=moment("--due", due),
            delay=None if delay is None else span("--delay", delay),
            headers=dict(map(_header, header or ())),
            group=group,
            priority=priority,
            on_duplicate=on_duplicate,
        )
    if as_json:
        print_json({"id": pushed.id, "outcome": pushed.outcome})
    elif pushed.outcome == "ignored":
        tell(f"ignored: message {pushed.id} already has the key")
    else:
        tell(f"{pushed.outcome} message {pushed.id}")


def _read() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"standard input is not valid UTF-8: {error}") from error


def _header(said: str) -> tuple[str, Scalar]:
    name, equals, text = said.partition("=")
    if not name or not equals:
        raise ConfigurationError(f"--header {shown(said)}: write it as NAME=VALUE")
    try:
        return name, msgspec.json.decode(text, type=str | int | float | bool | None)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        return name, text


def show(
    url: Url,
    name: Name,
    id: MessageId = None,
    key: MessageKey = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Show a message in full: its payload and errors, why it is not running, and its finished turns."""
    _check_one(id, key)
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        message = _found(queue, id, key)
        turns = _turns(queue, id if message is None else message.id, key)
        reasons = [] if message is None else queue.why(message.id)
        progress = None if message is None else queue.progress(message.id)
    if message is None and not turns:
        raise missing(name, id, key)
    if as_json:
        print_json({"message": message, "why": reasons, "progress": progress, "turns": turns})
        return
    if message is None:
        tell(f"queue {name} no longer has this message; its history:")
    else:
        _tell_message(message, reasons, progress)
    if turns:
        tell("")
        print_turns(turns)
        _tell_logs(turns)


def stack(
    url: Url,
    name: Name,
    id: MessageId = None,
    key: MessageKey = None,
    wait: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="Wait at most this long for the answer.")] = 5.0,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Ask the worker that handles a message where its handler is, and print the stack."""
    _check_one(id, key)
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        message = _found(queue, id, key)
        if message is None:
            raise missing(name, id, key)
        record(database, "stack", name, ids=[message.id])
        told = queue.stack(message.id, wait=span("--wait", wait))
    if as_json:
        print_json(told)
        return
    tell(f"attempt {told.attempt} of {told.worker}, at {told.at:%Y-%m-%d %H:%M:%S} UTC")
    for line in [frame.shown for frame in told.frames] or [str(told.note)]:
        tell(f"  {line}")


def _check_one(id: int | None, key: str | None) -> None:
    if (id is None) == (key is None):
        raise ConfigurationError("give either ID or --key KEY")


def _found(queue: Queue[Any], id: int | None, key: str | None) -> Message[Any] | None:
    if id is not None:
        found = queue.get(id)
    else:
        found = next((one for one in queue.find(key=key) if one.status in ("new", "error")), None)
    return None if found is None else legible(found)


def _turns(queue: Queue[Any], id: int | None, key: str | None) -> Sequence[Event[Any]]:
    if id is None:  # the key of a message that has left
        last = next((one for one in queue.history(limit=TURNS) if one.key == key), None)
        return [] if last is None else _turns(queue, last.id, None)
    return [legible(turn) for turn in queue.history(id=id, limit=TURNS)]


def _tell_logs(turns: Sequence[Event[Any]]) -> None:
    for turn in turns:
        if turn.log is not None:
            tell(f"log of attempt {turn.attempts} in {turn.queue}\n{_indented(turn.log)}")


def _tell_message(message: Message[Any], reasons: Sequence[Reason], progress: Progress | None) -> None:
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    payload, error = fields.pop("payload"), fields.pop("last_error")
    headers = fields.pop("headers")
    width = max(map(len, fields))
    for name, value in fields.items():
        if value is not None:
            tell(f"{name.ljust(width)}  {value}")
    for reason in reasons:
        tell(f"{'why'.ljust(width)}  {reason.code}: {reason.text}")
    if progress is not None:
        tell(f"{'progress'.ljust(width)}  {progress.shown}")
    for name, value in headers.items():
        tell(f"{'header'.ljust(width)}  {name} = {msgspec.json.encode(value).decode()}")
    tell(f"payload\n{_indented(msgspec.json.format(msgspec.json.encode(payload)).decode())}")
    if error is not None:
        tell(f"last error\n{_indented(f'{error.type}: {error.message}')}")
        if error.traceback:
            tell(_indented(error.traceback))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
