"""The entry point of the `duerow` command, which needs the packages of the extra `cli`."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command."""
    try:
        from duerow.cli.application import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"the command duerow needs the package {error.name}; run pip install 'duerow[cli]'")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that cannot be shown must not hide the others
    app(prog_name="duerow")


if __name__ == "__main__":
    main()
