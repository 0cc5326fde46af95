"""Completion in the shell of the names that the database knows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import typer
from sqlalchemy.exc import SQLAlchemyError

from duerow.errors import DuerowError
from duerow.sync.database import Database, connect


def queue_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the queues that begin with what was typed."""
    return _names(ctx, incomplete, lambda database: database.known_queues())


def schedule_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the schedules that begin with what was typed."""
    return _names(ctx, incomplete, lambda database: [one.name for one in database.schedules()])


def pipeline_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the pipelines that begin with what was typed."""
    return _names(ctx, incomplete, lambda database: [one.name for one in database.pipelines()])


def _names(ctx: typer.Context, incomplete: str, look: Callable[[Database], Iterable[str]]) -> list[str]:
    """Return the names that begin with what was typed; none if the database does not answer."""
    url = ctx.params.get("url") or os.environ.get("DUEROW_URL")
    if not url:
        return []
    place = {name: ctx.params[name] for name in ("prefix", "schema") if ctx.params.get(name)}
    try:
        with connect(url, **place) as database:
            return [name for name in look(database) if name.startswith(incomplete)]
    except (DuerowError, SQLAlchemyError, OSError):  # completion cannot show an error
        return []
