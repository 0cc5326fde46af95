"""Runs a command again whenever a source file changes: `duerow worker --reload`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from duerow.cli.output import tell
from duerow.errors import ConfigurationError

GRACE: Final = 20
"""Seconds after which a worker that has not ended is killed: its grace and the time for its last settlements."""


def without_reload(arguments: Sequence[str]) -> list[str]:
    """Return a command line without `--reload`."""
    return [one for one in arguments if one != "--reload"]


def run_again(arguments: Sequence[str], folder: str = ".") -> None:
    """Run `duerow` with these arguments until Ctrl-C, and restart it whenever a Python file below a folder changes.

    Raises:
        ConfigurationError: the library that watches files is not installed.
    """
    try:
        from watchfiles import PythonFilter, run_process
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"--reload needs the module {error.name}; run pip install 'duerow[reload]'") from error
    tell(f"duerow: watching the Python files in {os.path.abspath(folder)}", err=True)
    run_process(
        folder,
        target=_start,
        args=(tuple(arguments),),
        watch_filter=PythonFilter(),
        callback=lambda changes: tell(f"duerow: restarting, {_shown([path for _, path in changes])}", err=True),
        sigint_timeout=GRACE,
    )


def _start(arguments: tuple[str, ...]) -> None:
    """Replace the calling process, which was started for this, with the command."""
    os.execv(sys.executable, [sys.executable, "-m", "duerow.cli.main", *arguments])  # noqa: S606 - no shell


def _shown(paths: Sequence[str]) -> str:
    names = sorted({os.path.relpath(path) for path in paths})
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"changed: {', '.join(names[:3])}{more}"
