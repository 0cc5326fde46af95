"""How a failed command reports its error: one line that names its own options, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import typer
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from typer.core import TyperGroup

from duerow.cli.help import Examples, Help
from duerow.cli.output import printable, tell
from duerow.errors import DuerowError, StoreUnavailable, UnknownName, shown

FAILED: Final = 1
UNAVAILABLE: Final = 4
UNKNOWN: Final = 5
FAULT: Final = 70
UNREAD: Final = 141
"""The exit code if the program that read the output has gone: 128 plus the number of SIGPIPE, as shells report it."""

TRACEBACK: Final = "DUEROW_TRACEBACK"
"""The environment variable that makes errors appear with their traceback."""

_COMMAND: Final = "duerow.command"

_Misread: type[Any] = typer.BadParameter.__mro__[2]
"""The error that Typer raises for wrong usage; depending on the version, its own class or click's."""


class Missing(DuerowError):
    """A command names a message that does not exist."""


class CommandWords:
    """How errors refer to options, arguments and commands on the command line.

    Args:
        command: the command that failed; None if it is unknown.
    """

    def __init__(self, command: Any) -> None:
        self._parameters = {one.name: one for one in getattr(command, "params", ())}

    def argument(self, name: str, value: Any) -> str:
        """Return the option or argument of the command that stands for a parameter."""
        if name == "encryption":
            return "DUEROW_KEYS"
        parameter = self._parameters.get(name)
        if parameter is None:
            return name.replace("_", " ") if value is ... else f"{name.replace('_', ' ')} {value}"
        if not str(parameter.opts[0]).startswith("-"):
            return str(parameter.metavar or name.upper())
        option = max(parameter.opts, key=len)
        return str(option) if value is ... or value is True else f"{option} {value}"

    def value(self, value: Any) -> str:
        """Return a value as an option takes it."""
        return str(value)

    def call(self, name: str) -> str:
        """Return the command with this name."""
        return f"`duerow {name}`"

    def hint(self, python: str, plain: str) -> str:
        """Return the hint that is not Python."""
        return plain


def line_of(error: Exception, command: Any = None) -> str:
    """Return the text of an error for a terminal; for a driver's error, without its statement and values."""
    if isinstance(error, DuerowError):
        creates = isinstance(error, UnknownName) and any(one.name == "create" for one in getattr(command, "params", ()))
        return f"{error.told(CommandWords(command))}{'; --create creates it' if creates else ''}"
    if isinstance(error, DBAPIError):
        return f"the database refused a statement ({type(error.orig).__name__})"
    if isinstance(error, OSError | SQLAlchemyError):
        return f"{error}"
    return f"this is a bug in duerow: {type(error).__name__}: {error}; set {TRACEBACK}=1 to see the traceback"


def code_of(error: Exception) -> int:
    """Return the exit code for an error."""
    if isinstance(error, UnknownName | Missing):
        return UNKNOWN
    if isinstance(error, StoreUnavailable):
        return UNAVAILABLE
    return FAILED if isinstance(error, DuerowError | OSError | SQLAlchemyError) else FAULT


class Commands(Help, Examples, TyperGroup):
    """Commands that report a failure in one line, without a traceback."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the command line; all of it must be text."""
        _require_text(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except _Misread as error:
            raise _harmless(error) from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, and remember it for error messages."""
        found: Any = super().resolve_command(ctx, args)
        found[1].rich_markup_mode = self.rich_markup_mode
        ctx.meta[_COMMAND] = found[1]
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more when it exits
            raise typer.Exit(UNREAD) from error
        except _Misread as error:
            raise _harmless(error) from error
        except (typer.Exit, typer.Abort, EOFError):
            raise
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            tell(f"duerow: {line_of(error, ctx.meta.get(_COMMAND))}", err=True)
            raise typer.Exit(code_of(error)) from error


def _require_text(args: Sequence[str]) -> None:
    for place, arg in enumerate(args, 1):
        try:
            arg.encode()
        except UnicodeEncodeError as error:
            raise typer.BadParameter(f"argument {place} is not valid UTF-8: {shown(arg)}") from error


def _harmless(error: Any) -> Any:
    """Return the same error, with everything in its text escaped that could control the terminal."""
    error.message = "\n".join(map(printable, str(error.message).split("\n")))
    return error
