"""The command that limits the workers of a queue while they run."""

from __future__ import annotations

from typing import Annotated

import typer

from duerow.cli.audit import record
from duerow.cli.options import PREFIX, AsJson, Create, Prefix, QueueName, Schema, Url, connected, queue_in, span
from duerow.cli.output import print_json, tell
from duerow.errors import ConfigurationError
from duerow.queue.limits import NONE, RunLimits, checked


def limit(
    url: Url,
    name: QueueName,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How many handlers each worker runs at once.")
    ] = None,
    cluster_concurrency: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="How many handlers run at once in all workers with a cluster concurrency."
        ),
    ] = None,
    rate: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How many messages each worker starts in --per seconds.")
    ] = None,
    per: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.001, help="The span of --rate. Default: 60.")
    ] = None,
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all limits except those that each worker was started with.")
    ] = False,
    create: Create = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Show or set the limits of a queue's workers. Running workers apply new limits within ten seconds.

    New limits replace all earlier ones. Without options, the command only shows the current limits.
    """
    said = {"concurrency": concurrency, "cluster_concurrency": cluster_concurrency, "rate": rate}
    if per is not None and rate is None:
        raise ConfigurationError("--per is the span of --rate: give both")
    if clear and any(one is not None for one in said.values()):
        raise ConfigurationError("--clear removes all limits: leave out the other options")
    wanted = checked(
        concurrency, cluster_concurrency, None if rate is None else (rate, span("--per", 60.0 if per is None else per))
    )
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name, create)
        if wanted == NONE and not clear:
            wanted = queue.limits()
        else:
            record(database, "limit", name, **said, span=per)
            pair = None if wanted.rate is None else (wanted.rate, wanted.rate_span)
            queue.limit(concurrency=concurrency, cluster_concurrency=cluster_concurrency, rate=pair)
    if as_json:
        print_json({"queue": name, **fields_of(wanted)})
    else:
        tell(f"{name}: {text_of(wanted)}")


def fields_of(limits: RunLimits) -> dict[str, float | None]:
    """Return limits as JSON fields; the span of the rate is in seconds."""
    per = None if limits.rate is None else limits.rate_span.total_seconds()
    names = ("concurrency", "cluster_concurrency", "rate")
    return {**{name: getattr(limits, name) for name in names}, "per": per}


def text_of(limits: RunLimits) -> str:
    """Return limits in words."""
    parts = []
    if limits.concurrency is not None:
        parts.append(f"each worker runs at most {limits.concurrency} at once")
    if limits.cluster_concurrency is not None:
        parts.append(f"all workers together run at most {limits.cluster_concurrency} at once")
    if limits.rate is not None:
        parts.append(f"each worker starts at most {limits.rate} in {limits.rate_span.total_seconds():g} s")
    return "; ".join(parts) or "no limits except those that each worker was started with"
