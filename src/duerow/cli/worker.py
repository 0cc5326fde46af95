"""The command that works on queues."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
import typer
from rich.console import Console
from rich.logging import RichHandler

from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, connected, span
from duerow.cli.output import harmless_json, printable
from duerow.errors import ConfigurationError
from duerow.sync.database import Database
from duerow.sync.directory import nearest
from duerow.sync.worker import Worker
from duerow.working.signals import signals_of_thread, stopped_by

LEFT: Final = 3
"""The exit code when a run has ended and left messages of kinds that it does not know."""

LOG: Final = logging.getLogger("duerow.worker")


def work(
    url: Url,
    handler: Annotated[
        str, typer.Argument(metavar="MODULE:FUNCTION", help="Called with each message; found from this folder as well.")
    ],
    queues: Annotated[list[str], typer.Argument(metavar="QUEUE...", help="The queues to work on.")],
    concurrency: Annotated[int, typer.Option(min=1, help="Handlers that run at once on each queue.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Messages in one claim and in one settlement.")] = 100,
    lease: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="Seconds that a claim lasts unless it is extended. Default: as declared, else 60."
        ),
    ] = None,
    heartbeat: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="Seconds between two extensions, which tell whether a message was lost. Default: lease / 3."
        ),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option(metavar="MODULE:TYPE", help="The declared type of their payloads. Default: JSON and bytes."),
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
    """Hand the messages of queues to a function until SIGTERM or Ctrl-C; log what happens on standard error."""
    log_to_stderr(as_json, verbose)
    function = find_function(handler)
    declared = None if payload is None else find_type(payload)
    most = None if timeout is None else span("--timeout", timeout)
    with connected(url, prefix, schema) as database:
        _tell_unknown(database, queues)
        workers = [
            Worker(
                database.as_defined(name, payload=declared),
                function,
                lease=None if lease is None else span("--lease", lease),
                heartbeat=None if heartbeat is None else span("--heartbeat", heartbeat),
                batch=batch,
                concurrency=concurrency,
                timeout=most,
            )
            for name in dict.fromkeys(queues)
        ]
        with stopped_by(signals_of_thread(None), partial(_stop, workers)):
            _run_all(workers, until)
    if until is not None and any(worker.unknown for worker in workers):
        raise typer.Exit(LEFT)  # which kinds, and of which queues, is in the log


def _tell_unknown(database: Database, queues: Sequence[str]) -> None:
    """Log which of the queues the database knows nothing of: a worker may be there first, or a name is mistyped."""
    for name in dict.fromkeys(queues):
        if not database.knows_queue(name):
            meant = nearest(name, database.known_queues())
            hint = f"; did you mean {meant!r}?" if meant else ""
            LOG.warning("the database knows no queue %r yet, and this worker waits for its first message%s", name, hint)


def find_function(name: str) -> Callable[..., Any]:
    """Return the function for MODULE:FUNCTION, from this folder or from what is installed.

    Raises:
        ConfigurationError: there is no such module or function.
    """
    found = find_named(name, "function", "shop.orders:ship")
    if not callable(found):
        raise ConfigurationError(f"{name} is {found!r:.80}, which cannot be called")
    function: Callable[..., Any] = found
    return function


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


def _run_all(workers: Sequence[Worker], until: Literal["idle", "empty"] | None) -> None:
    """Run each worker in a thread of its own; if one fails, stop the others and raise its error."""
    with ThreadPoolExecutor(len(workers), "duerow") as threads:
        running = [threads.submit(worker.run, until) for worker in workers]
        wait(running, return_when=FIRST_EXCEPTION)
        if any(future.done() and future.exception() for future in running):
            _stop(workers)
    for future in running:
        future.result()


def _stop(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.stop()


def log_to_stderr(as_json: bool, verbose: bool) -> None:
    """Log what workers do on standard error, for people or as lines of JSON."""
    handler: logging.Handler
    if as_json:
        handler = logging.StreamHandler()
        handler.setFormatter(_JsonLines())
    else:
        handler = RichHandler(console=Console(stderr=True), show_path=False)
        handler.setFormatter(_Legible("%(message)s"))
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, format="%(message)s", handlers=[handler], force=True
    )


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
