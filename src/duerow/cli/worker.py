"""The command that works on queues."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
import typer
from rich.console import Console
from rich.logging import RichHandler

from duerow import aio
from duerow.cli.options import PREFIX, AsJson, MaybeUrl, Prefix, Schema, connected, encryption, span
from duerow.cli.output import harmless_json, printable
from duerow.cli.workers import Until, application, handle_of, like, run_all, worker_of
from duerow.errors import ConfigurationError
from duerow.sync.directory import nearest
from duerow.worker.run import is_async

LEFT: Final = 3
"""The exit code when a run has ended and left messages of kinds that it does not know."""

LOG: Final = logging.getLogger("duerow.worker")


def work(
    what: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME",
            help="A queue with a handler, a worker, or what has several; or a function, called with each message of "
            "the queues. Found from this folder as well.",
        ),
    ],
    queues: Annotated[
        list[str] | None, typer.Argument(metavar="QUEUE...", help="The queues to work on, if NAME is a function.")
    ] = None,
    url: MaybeUrl = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Handlers that run at once on each queue. Default: 1.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Messages in one claim and in one settlement. Default: 100.")
    ] = None,
    lease: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds that a claim lasts unless it is extended. Default: the queue's."),
    ] = None,
    heartbeat: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="Seconds between two extensions, which tell whether a message was lost. Default: lease / 3."
        ),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option(metavar="MODULE:TYPE", help="The declared type of their payloads. Default: the queue's."),
    ] = None,
    timeout: Annotated[float | None, typer.Option(min=0.001, help="Seconds that a handler may take.")] = None,
    until: Annotated[
        Literal["idle", "empty"] | None,
        typer.Option(help="End when nothing is due now (idle), or nothing will be (empty). Default: at SIGTERM."),
    ] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each message that is done as well.")] = False,
) -> None:
    """Work on queues until SIGTERM or Ctrl-C; log what happens on standard error."""
    log_to_stderr(as_json, verbose)
    found = find_named(what, "function" if queues else "queue, worker or function", "shop.mail:mail")
    spans = {"lease": lease, "heartbeat": heartbeat, "timeout": timeout}
    options: dict[str, Any] = {
        "concurrency": concurrency,
        "batch": batch,
        **{name: None if seconds is None else span(f"--{name}", seconds) for name, seconds in spans.items()},
    }
    options = {name: option for name, option in options.items() if option is not None}
    declared = None if payload is None else find_type(payload)
    if not queues:
        if declared is not None:
            raise ConfigurationError(f"--payload goes with a function and its queues; say it where {what} is made")
        asyncio.run(_run_application(found, what, options, until))
        return
    if not callable(found) or isinstance(found, type):
        raise ConfigurationError(f"{what} is {found!r:.80}, which is no function: leave the queues out, or name one")
    if url is None:
        raise ConfigurationError("say in which database the queues are: --db URL, or DUEROW_URL in the environment")
    place = _Place(url, prefix, schema)
    asyncio.run(
        _run_function(place, found, what.partition(":")[0], list(dict.fromkeys(queues)), declared, options, until)
    )


class _Place(NamedTuple):
    """Which database, and which tables of it."""

    url: str
    prefix: str
    schema: str | None


async def _run_application(found: Any, what: str, options: Mapping[str, Any], until: Until) -> None:
    _told(await _worked(await application(found, what, options), until), until)


async def _run_function(
    place: _Place,
    function: Callable[..., Any],
    module: str,
    queues: Sequence[str],
    payload: type[Any] | None,
    options: Mapping[str, Any],
    until: Until,
) -> None:
    """Have a function handle the messages of queues, by the handles that its module has of them if it has any."""
    handles = {name: handle_of(module, name) for name in queues}
    unseen = [name for name, handle in handles.items() if handle is None]
    if is_async(function):
        async with await aio.connect(
            place.url, prefix=place.prefix, schema=place.schema, encryption=encryption()
        ) as awaited:
            made = {
                name: await awaited.as_defined(name, payload=payload)
                if handle is None
                else like(handle, awaited, payload)
                for name, handle in handles.items()
            }
            strange = [name for name in queues if not await awaited.knows_queue(name)]
            _tell_unknown(strange, await awaited.known_queues() if strange else ())
            _tell_defaults(unseen, [one.name for one in await awaited.definitions() if one.definition], module)
            left = await _worked([worker_of(queue, function, options) for queue in made.values()], until)
    else:
        with connected(*place) as database:
            both = {
                name: database.as_defined(name, payload=payload) if handle is None else like(handle, database, payload)
                for name, handle in handles.items()
            }
            strange = [name for name in queues if not database.knows_queue(name)]
            _tell_unknown(strange, database.known_queues() if strange else ())
            _tell_defaults(unseen, [one.name for one in database.definitions() if one.definition], module)
            left = await _worked([worker_of(queue, function, options) for queue in both.values()], until)
    _told(left, until)


def _tell_unknown(strange: Sequence[str], known: Sequence[str]) -> None:
    """Log which of the queues the database knows nothing of: a worker may be there first, or a name is mistyped."""
    for name in strange:
        meant = nearest(name, known)
        hint = f"; did you mean {meant!r}?" if meant else ""
        LOG.warning("the database knows no queue %r yet, and this worker waits for its first message%s", name, hint)


def _tell_defaults(unseen: Sequence[str], declared: Sequence[str], module: str) -> None:
    """Log which queues are worked on by the defaults, since nobody says anything else."""
    for name in sorted(set(unseen) - set(declared)):
        LOG.warning(
            "queue %s is worked on with the default retry policy and without dead letters: neither module %s nor the "
            "database says otherwise. If the program does elsewhere, name its queue, duerow worker MODULE:QUEUE, or "
            "call its declare()",
            name,
            module,
        )


async def _worked(workers: Sequence[Any], until: Until) -> bool:
    """Run workers; return whether they left messages of kinds that they do not know."""
    await run_all(workers, until)
    return any(worker.unknown for worker in workers)


def _told(left: bool, until: Until) -> None:
    if left and until is not None:
        raise typer.Exit(LEFT)  # which kinds, and of which queues, is in the log


def find_type(name: str) -> type[Any]:
    """Return the type for MODULE:TYPE, from this folder or from what is installed.

    Raises:
        ConfigurationError: there is no such module or type.
    """
    found = find_named(name, "type", "shop.orders:Order")
    if not isinstance(found, type):
        raise ConfigurationError(f"{name} is {found!r:.80}, which is no type")
    return found


def find_named(name: str, what: str, example: str) -> Any:
    """Return what MODULE:NAME names, from this folder or from what is installed.

    Raises:
        ConfigurationError: there is no such module, or nothing of that name in it.
    """
    module_name, colon, path = name.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), *path.split("."))):
        raise ConfigurationError(f"{name!r} names no {what}; write MODULE:{what.upper()}, such as {example}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and module_name.split(".")[0] != error.name.split(".")[0]:
            raise _broken(module_name, error) from error  # the module is there, but lacks something itself
        raise ConfigurationError(
            f"there is no module {module_name!r} in this folder or among what is installed"
        ) from error
    except Exception as error:
        raise _broken(module_name, error) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(f"module {module_name!r} has no {what} {path!r}")
        found = getattr(found, part)
    return found


def _broken(module: str, error: Exception) -> ConfigurationError:
    """Return the error for a module that fails when it is imported: where it does, and with what."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{last.filename}, line {last.lineno}"
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{error.filename}, line {error.lineno}"
    return ConfigurationError(f"module {module!r} cannot be imported, {type(error).__name__}: {error} ({where})")


def log_to_stderr(as_json: bool, verbose: bool) -> None:
    """Log what workers do on standard error: as lines of JSON, in columns on a terminal, else one line an event.

    In a journal or a file nothing is broken at the width of a screen, so that what is looked for can be found.
    """
    handler: logging.Handler = logging.StreamHandler()
    if as_json:
        handler.setFormatter(_JsonLines())
    elif sys.stderr.isatty():
        handler = RichHandler(console=Console(stderr=True), show_path=False, log_time_format="%Y-%m-%d %H:%M:%S")
        handler.setFormatter(_Legible("%(message)s"))
    else:
        lines = _Legible("%(asctime)s %(levelname)-8s %(message)s", "%Y-%m-%d %H:%M:%SZ")
        lines.converter = time.gmtime
        handler.setFormatter(lines)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # The level of duerow's own events alone: what libraries trace is not what was asked for.
    logging.getLogger("duerow").setLevel(logging.DEBUG if verbose else logging.INFO)


class _Legible(logging.Formatter):
    """Lines for people, in which text of the users' does not steer the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(printable, super().format(record).expandtabs().split("\n")))


class _JsonLines(logging.Formatter):
    """Each log line as an object: when, how important, what, and the values that it speaks of."""

    def format(self, record: logging.LogRecord) -> str:
        more = {name: value for name, value in vars(record).items() if name not in _COMMON}
        line = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **more,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return harmless_json(msgspec.json.encode(line, enc_hook=str).decode())


_COMMON: Final = {*vars(logging.makeLogRecord({})), "message", "asctime"}
"""What every record has; the rest are the values given with it."""
