"""The command that opens Python with variables for a database and its queues."""

from __future__ import annotations

import code
import keyword
import sys
from importlib.util import find_spec
from typing import Annotated, Any

import typer

import duerow
from duerow.cli.options import PREFIX, Prefix, Schema, Url, connected
from duerow.cli.output import is_terminal, tell
from duerow.errors import ConfigurationError
from duerow.sync.database import Database


def shell(
    url: Url,
    command: Annotated[
        str | None, typer.Option("--command", "-c", metavar="CODE", help="Run this code and exit.")
    ] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
) -> None:
    """Open Python, or IPython if it is installed, with `db`, `queues` and a variable for each queue."""
    with connected(url, prefix, schema) as database:
        names = namespace(database)
        if command is not None:
            exec(_compiled(command), names)  # noqa: S102 - the user asked for it
            return
        tell(_banner(database, names), err=True)
        if find_spec("IPython") is not None and is_terminal() and sys.stdin.isatty():
            from IPython import start_ipython

            start_ipython(argv=["--no-banner"], user_ns=names)
        else:
            code.interact(banner="", local=names, exitmsg="")


def namespace(database: Database) -> dict[str, Any]:
    """Return the variables of a shell; a queue whose name cannot be a variable, or is taken, is only in `queues`."""
    queues = {name: database.as_defined(name) for name in database.known_queues()}
    names: dict[str, Any] = {"duerow": duerow, "db": database, "queues": queues}
    plain = {name.replace("-", "_").replace(".", "_"): queue for name, queue in queues.items()}
    fit = {name: queue for name, queue in plain.items() if name.isidentifier() and not keyword.iskeyword(name)}
    return {**fit, **names}


def _banner(database: Database, names: dict[str, Any]) -> str:
    shown = [name for name in names if name not in ("duerow", "db", "queues")]
    known = f"; queues: {', '.join(shown)}" if shown else "; the database has no queues yet"
    return f"duerow {duerow.__version__}, Python {sys.version.split()[0]}: db, queues, duerow{known}"


def _compiled(text: str) -> Any:
    try:
        return compile(text, "--command", "exec")
    except (SyntaxError, ValueError) as error:
        raise ConfigurationError(f"--command is not valid Python: {error}") from error
