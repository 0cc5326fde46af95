"""The command that runs workers."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import os
import pkgutil
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import typer
from rich.console import Console
from rich.logging import RichHandler

from duerow import aio
from duerow.cli.options import PREFIX, AsJson, MaybeUrl, Prefix, Schema, connected, encryption, span
from duerow.cli.output import printable
from duerow.cli.reload import run_again, without_reload
from duerow.cli.workers import TASKS, application, handle_of, like, run_all, worker_of
from duerow.errors import ConfigurationError, shown
from duerow.sync.directory import nearest
from duerow.telemetry.liveness import reported, reporters_of
from duerow.telemetry.log import JsonFormatter
from duerow.telemetry.probes import prepare, probed
from duerow.telemetry.startup import start
from duerow.worker.run import Until, is_async

LEFT: Final = 3
"""The exit code of a run that left messages of kinds that it does not know."""

LOG: Final = logging.getLogger("duerow.worker")


class Probes(NamedTuple):
    """Where the process reports its health: on a host and port, in a file, both or neither."""

    place: tuple[str, int] | None
    file: Path | None


def work(
    what: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME",
            help="Tasks, a queue with a handler, a worker, or several of these; or a function to call with each "
            "message of the given queues. This folder is searched too.",
        ),
    ],
    queues: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUEUE...", help="The queues that a function handles; with tasks, run only those of these queues."
        ),
    ] = None,
    url: MaybeUrl = None,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How many handlers run at once for each queue. Default: 1.")
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="How many messages to claim or settle at once. Default: 100, or --concurrency if more, up to 1,000.",
        ),
    ] = None,
    lease: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0.001, help="How long a claim lasts unless it is extended. Default: the queue's."
        ),
    ] = None,
    heartbeat: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.001,
            help="How often to extend leases and detect lost ones. Default: lease / 3.",
        ),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option(metavar="MODULE:TYPE", help="The type of the payloads. Default: the queue's."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.001, help="How long a handler may take.")
    ] = None,
    until: Annotated[
        Until,
        typer.Option(help="End when nothing is due (idle) or nothing will become due (empty). Default: at SIGTERM."),
    ] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
    log_format: Annotated[
        Literal["text", "json"], typer.Option("--log-format", help="Log plain lines or JSON objects.")
    ] = "text",
    health_port: Annotated[
        int | None,
        typer.Option(min=0, max=65_535, help="Answer /healthz, /readyz and /metrics on this port, for probes."),
    ] = None,
    health_host: Annotated[
        str, typer.Option(metavar="HOST", help="The address of --health-port. Default: all of this machine.")
    ] = "0.0.0.0",  # noqa: S104 - probes come from other machines, and see no secrets
    health_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", dir_okay=False, help="Write this file every 5 s while the workers are alive, for probes."
        ),
    ] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="Restart when a Python file in this folder changes.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also log each message that is done.")] = False,
) -> None:
    """Run workers until SIGTERM or Ctrl-C. They log to standard error."""
    if reload:
        run_again(without_reload(sys.argv[1:]))
        return
    log_to_stderr(as_json or log_format == "json", verbose)
    start()
    probes = Probes(None if health_port is None else (health_host, health_port), health_file)
    if probes.place is not None:
        prepare()
    found = find_named(what, "function" if queues else "queue, worker or function", "shop.mail:mail")
    spans = {"lease": lease, "heartbeat": heartbeat, "timeout": timeout}
    options: dict[str, Any] = {
        "concurrency": concurrency,
        "batch": batch,
        **{name: None if seconds is None else span(f"--{name}", seconds) for name, seconds in spans.items()},
    }
    options = {name: option for name, option in options.items() if option is not None}
    declared = None if payload is None else find_type(payload)
    if isinstance(found, TASKS) and queues:
        found, options, queues = found.worker(queues, **options), {}, None
    if not queues:
        if declared is not None:
            raise ConfigurationError(
                f"--payload is for a function and its queues; set the type where {what} is defined"
            )
        asyncio.run(_run_application(found, what, options, until, probes))
        return
    if not callable(found) or isinstance(found, type):
        raise ConfigurationError(f"{what} is {shown(found)}, not a function: leave the queues out, or name a function")
    if url is None:
        raise ConfigurationError("name the database of the queues: give --db URL or set DUEROW_URL")
    place = _Place(url, prefix, schema)
    names = list(dict.fromkeys(queues))
    asyncio.run(_run_function(place, found, what.partition(":")[0], names, declared, options, until, probes))


class _Place(NamedTuple):
    """A database and the tables in it."""

    url: str
    prefix: str
    schema: str | None


async def _run_application(found: Any, what: str, options: Mapping[str, Any], until: Until, probes: Probes) -> None:
    _told(await _worked(await application(found, what, options), until, probes), until)


async def _run_function(
    place: _Place,
    function: Callable[..., Any],
    module: str,
    queues: Sequence[str],
    payload: type[Any] | None,
    options: Mapping[str, Any],
    until: Until,
    probes: Probes,
) -> None:
    """Have a function handle the messages of queues, with the settings of the module's own queue objects if any."""
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
            left = await _worked([worker_of(queue, function, options) for queue in made.values()], until, probes)
    else:
        with connected(*place) as database:
            both = {
                name: database.as_defined(name, payload=payload) if handle is None else like(handle, database, payload)
                for name, handle in handles.items()
            }
            strange = [name for name in queues if not database.knows_queue(name)]
            _tell_unknown(strange, database.known_queues() if strange else ())
            _tell_defaults(unseen, [one.name for one in database.definitions() if one.definition], module)
            left = await _worked([worker_of(queue, function, options) for queue in both.values()], until, probes)
    _told(left, until)


def _tell_unknown(strange: Sequence[str], known: Sequence[str]) -> None:
    """Log which queues the database does not know: this worker may be the first to use one, or its name is wrong."""
    for name in strange:
        meant = nearest(name, known)
        hint = f"; did you mean {meant!r}?" if meant else ""
        LOG.warning("the database has no queue %r yet; this worker waits for its first message%s", name, hint)


def _tell_defaults(unseen: Sequence[str], declared: Sequence[str], module: str) -> None:
    """Log which queues get the default settings, because neither the program nor the database defines them."""
    for name in sorted(set(unseen) - set(declared)):
        LOG.warning(
            "queue %s has the default retry policy and no dead-letter queue here: neither module %s nor the database "
            "defines it. If another module does, run duerow worker MODULE:QUEUE with its queue, or call declare() on "
            "that queue",
            name,
            module,
        )


async def _worked(workers: Sequence[Any], until: Until, probes: Probes) -> bool:
    """Run workers; return whether they left messages of unknown kinds."""
    gc.collect()
    gc.freeze()  # what was imported stays, so collections during the run need not look at it
    with probed(workers, probes.place), reported(workers, reporters_of(probes.file, os.environ)):
        await run_all(workers, until)
    return any(worker.unknown for worker in workers)


def _told(left: bool, until: Until) -> None:
    if left and until is not None:
        raise typer.Exit(LEFT)  # the log names the kinds and their queues


def find_type(name: str) -> type[Any]:
    """Return the type for MODULE:TYPE, from this folder or an installed package.

    Raises:
        ConfigurationError: there is no such module or type.
    """
    found = find_named(name, "type", "shop.orders:Order")
    if not isinstance(found, type):
        raise ConfigurationError(f"{name} is {shown(found)}, which is not a type")
    return found


def find_named(name: str, what: str, example: str) -> Any:
    """Return the object for MODULE:NAME, from this folder or an installed package.

    Raises:
        ConfigurationError: there is no such module, or it has no such name; the error suggests the most similar one.
    """
    module_name, colon, path = name.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), *path.split("."))):
        form = what.upper() if what.isidentifier() else "NAME"
        raise ConfigurationError(f"{name!r} does not name a {what}; write MODULE:{form}, such as {example}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and module_name.split(".")[0] != error.name.split(".")[0]:
            raise _broken(module_name, error) from error  # the module exists, but something that it imports does not
        raise ConfigurationError(
            f"there is no module {module_name!r} in this folder or among the installed packages"
            + _meant(module_name, _modules_beside(module_name))
        ) from error
    except Exception as error:
        raise _broken(module_name, error) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(f"module {module_name!r} has no {what} {path!r}{_meant(part, dir(found))}")
        found = getattr(found, part)
    return found


def _meant(name: str, names: Iterable[str]) -> str:
    """Return the end of an error about an unknown name: the most similar name, if there is one."""
    similar = nearest(name, names)
    return f"; did you mean {similar!r}?" if similar else ""


def _modules_beside(name: str) -> list[str]:
    """Return the modules in the package of a missing module, or those at the top level."""
    package, _, _ = name.rpartition(".")
    parent = sys.modules.get(package)
    if package and parent is None:
        return []
    path = getattr(parent, "__path__", []) if package else None
    return [f"{package}.{one.name}" if package else one.name for one in pkgutil.iter_modules(path)]


def _broken(module: str, error: Exception) -> ConfigurationError:
    """Return the error for a module that cannot be imported, with the original error and its line."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{last.filename}, line {last.lineno}"
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{error.filename}, line {error.lineno}"
    return ConfigurationError(f"module {module!r} cannot be imported: {type(error).__name__}: {error} ({where})")


def log_to_stderr(as_json: bool, verbose: bool) -> None:
    """Log what workers do to standard error: as JSON lines, in columns on a terminal, or as one plain line per event.

    Lines in a journal or a file are not wrapped, so that they can be searched.
    """
    handler: logging.Handler = logging.StreamHandler()
    if as_json:
        handler.setFormatter(JsonFormatter())
    elif sys.stderr.isatty():
        handler = RichHandler(console=Console(stderr=True), show_path=False, log_time_format="%Y-%m-%d %H:%M:%S")
        handler.setFormatter(_Legible("%(message)s"))
    else:
        lines = _Legible("%(asctime)s %(levelname)-8s %(message)s", "%Y-%m-%d %H:%M:%SZ")
        lines.converter = time.gmtime
        handler.setFormatter(lines)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # Only duerow's own events: --verbose does not ask for the debug lines of other libraries.
    logging.getLogger("duerow").setLevel(logging.DEBUG if verbose else logging.INFO)


class _Legible(logging.Formatter):
    """Lines for people, with escapes for everything that could control the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(printable, super().format(record).expandtabs().split("\n")))
