"""The command that looks for problems."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Final

import typer

from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, span, unchecked
from duerow.cli.output import print_json, tell
from duerow.doctor.examination import PATIENCE, examine

WARNINGS: Final = 6
ERRORS: Final = 7


def doctor(
    url: Url,
    patience: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How long a transaction may be open, or a message may be due without a consumer, before it is "
            "reported.",
        ),
    ] = PATIENCE.total_seconds(),
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Look for problems that occur in practice, and say what to do. Exit code 6: warnings, 7: errors."""
    with closing(unchecked(url, prefix, schema)) as database:
        found = examine(database, patience=span("--patience", patience))
    if as_json:
        print_json(found)
    else:
        tell("\n".join(map(str, found)) or "nothing is wrong")
    worst = {one.severity for one in found}
    if "error" in worst:
        raise typer.Exit(ERRORS)
    if "warning" in worst:
        raise typer.Exit(WARNINGS)
