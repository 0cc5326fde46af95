"""How help and usage errors look: framed and full width on a terminal, elsewhere plain lines without wrapping."""

from __future__ import annotations

import sys
from typing import Any, Final, Literal

from typer.core import TyperCommand

from duerow.cli.examples import EXAMPLES
from duerow.cli.output import is_terminal

_UNWRAPPED: Final = 10_000
"""A width that no line reaches."""


class Help:
    """The part of a command that decides, when it runs, how help and usage errors look."""

    rich_markup_mode: Literal["markdown", "rich"] | None

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line."""
        self.rich_markup_mode = "rich" if is_terminal() and sys.stderr.isatty() else None
        return super().main(*args, **extra)  # type: ignore[misc]

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the command line."""
        if parent is None and self.rich_markup_mode is None:
            extra.setdefault("terminal_width", _UNWRAPPED)
        return super().make_context(info_name, args, parent, **extra)  # type: ignore[misc]


class Examples:
    """The part of a command whose help ends with examples, one per line."""

    epilog: str | None

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples without wrapping them, so that they can be copied."""
        if self.epilog:
            formatter.write("\n")
            for line in self.epilog.split("\n\n"):
                formatter.write(f"{line}\n")


class DocumentedCommand(Examples, TyperCommand):
    """A command whose help ends with examples."""


def epilog(name: str) -> str | None:
    """Return the examples at the end of a command's help, one per paragraph; None if it has none."""
    examples = EXAMPLES.get(name)
    return None if examples is None else "\n\n".join(["Examples:", *(f"  {one}" for one in examples)])


class SingleCommand(Help, TyperCommand):
    """A program with a single command."""
