"""What a command says when it did not work: a line in its own words, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import typer
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from typer.core import TyperGroup

from duerow.cli.output import printable, tell
from duerow.errors import DuerowError, StoreUnavailable, UnknownName

FAILED: Final = 1
UNAVAILABLE: Final = 4
UNKNOWN: Final = 5
FAULT: Final = 70
UNREAD: Final = 141
"""What a shell says of a program whose output nobody reads any more: 128, and the number of SIGPIPE."""

TRACEBACK: Final = "DUEROW_TRACEBACK"
"""The environment variable that has faults shown with where they come from."""

_COMMAND: Final = "duerow.command"

_Misread: type[Any] = typer.BadParameter.__mro__[2]
"""What Typer raises for a command line that cannot be understood; Typer's own, or click's, by its version."""


class Missing(DuerowError):
    """A command was told to do something with a message that is not there."""


class CommandWords:
    """How the command line writes what errors speak of.

    Args:
        command: the command that failed; None: it is not known.
    """

    def __init__(self, command: Any) -> None:
        self._parameters = {one.name: one for one in getattr(command, "params", ())}

    def argument(self, name: str, value: Any) -> str:
        """Return an option of the command, or the place of an argument."""
        if name == "encryption":
            return "DUEROW_KEYS"
        parameter = self._parameters.get(name)
        if parameter is None:
            return name.replace("_", " ") if value is ... else f"{name.replace('_', ' ')} {value}"
        if not str(parameter.opts[0]).startswith("-"):
            return str(parameter.metavar or name.upper())
        option = max(parameter.opts, key=len)
        return str(option) if value is ... or value is True else f"{option} {value}"

    def call(self, name: str) -> str:
        """Return the command that does it."""
        return f"`duerow {name}`"

    def hint(self, python: str, plain: str) -> str:
        """Return the hint that is no Python."""
        return plain


def line_of(error: Exception, command: Any = None) -> str:
    """Return what an error says, for a terminal; of one that is not duerow's neither its statement nor its values."""
    if isinstance(error, DuerowError):
        creates = isinstance(error, UnknownName) and any(one.name == "create" for one in getattr(command, "params", ()))
        return f"{error.told(CommandWords(command))}{'; --create makes it' if creates else ''}"
    if isinstance(error, DBAPIError):
        return f"the database refused a statement ({type(error.orig).__name__})"
    if isinstance(error, OSError | SQLAlchemyError):
        return f"{error}"
    return f"this is a fault of duerow's, {type(error).__name__}: {error}; with {TRACEBACK}=1 it shows where it is from"


def code_of(error: Exception) -> int:
    """Return the exit code that goes with an error."""
    if isinstance(error, UnknownName | Missing):
        return UNKNOWN
    if isinstance(error, StoreUnavailable):
        return UNAVAILABLE
    return FAILED if isinstance(error, DuerowError | OSError | SQLAlchemyError) else FAULT


class Commands(TyperGroup):
    """Commands whose failures are a line, not a traceback."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the command line, which has to be text."""
        _require_text(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except _Misread as error:
            raise _harmless(error) from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is asked for, and note it for what errors say."""
        found = super().resolve_command(ctx, args)
        ctx.meta[_COMMAND] = found[1]
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more at its end
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
            raise typer.BadParameter(f"argument {place} is no text in UTF-8: {arg!r:.80}") from error


def _harmless(error: Any) -> Any:
    """Return the same error, with what was typed spelled out where it could steer a terminal."""
    error.message = "\n".join(map(printable, str(error.message).split("\n")))
    return error
