"""Commands for pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import typer

from duerow.cli.audit import record
from duerow.cli.completion import pipeline_names
from duerow.cli.failures import Commands
from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Until, Url, connected
from duerow.cli.output import print_json, print_table, tell
from duerow.cli.worker import find_named, log_to_stderr
from duerow.errors import ConfigurationError, UnknownName, shown
from duerow.phrases import counted
from duerow.pipeline import Graph, Pipeline
from duerow.sync.directory import nearest
from duerow.telemetry.startup import start

commands = typer.Typer(cls=Commands, no_args_is_help=True, help="Show, check and run pipelines.")

Named = Annotated[
    str, typer.Argument(metavar="MODULE:PIPELINE", help="A pipeline in a module; this folder is searched too.")
]


Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a declared pipeline.", autocompletion=pipeline_names)
]
Rehome = Annotated[
    list[str] | None,
    typer.Option(metavar="OLD=NEW", help="Move the messages of a removed station to another station. Repeatable."),
]


@commands.command("list")
def list_pipelines(url: Url, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """List the pipelines declared in the database, with their stations."""
    with connected(url, prefix, schema) as database:
        graphs = database.pipelines()
    if as_json:
        print_json(graphs)
    elif not graphs:
        tell("no pipelines")
    else:
        rows = [
            (graph.name, station.name, station.kind, " ".join(dict.fromkeys(station.ways.values())), station.note)
            for graph in graphs
            for station in graph.stations
        ]
        print_table(("pipeline", "station", "kind", "sends to", "note"), rows)


@commands.command("draw")
def draw(
    url: Url,
    name: Name,
    language: Annotated[
        Literal["mermaid", "dot", "svg"], typer.Option("--as", help="The format; svg needs Graphviz.")
    ] = "mermaid",
    prefix: Prefix = PREFIX,
    schema: Schema = None,
) -> None:
    """Draw a pipeline that was declared in the database."""
    with connected(url, prefix, schema) as database:
        graphs = {graph.name: graph for graph in database.pipelines()}
    if name not in graphs:
        raise UnknownName("pipeline", name, nearest(name, graphs))
    tell(_drawn(graphs[name], language).rstrip("\n"))


@commands.command("check")
def check(named: Named, as_json: AsJson = False) -> None:
    """Check the definition of a pipeline, without a database."""
    pipeline = find_pipeline(named)
    if as_json:
        print_json(pipeline.graph)
    else:
        stations = counted(len(pipeline.stations), "station")
        tell(f"{pipeline} is valid: {stations}; messages enter at {', '.join(pipeline.entries)}")


@commands.command("run")
def run(
    url: Url,
    named: Named,
    until: Until = "idle",
    rehome: Rehome = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also log each message that is done.")] = False,
) -> None:
    """Run a pipeline in workers of this process, which log to standard error."""
    log_to_stderr(as_json, verbose)
    start()
    pipeline, moves = find_pipeline(named), moves_of(rehome or ())
    with connected(url, prefix, schema) as database:
        pipeline.run(database, None if until == "stopped" else until, rehome=moves)


@commands.command("declare")
def declare(
    url: Url,
    named: Named,
    rehome: Rehome = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Store a pipeline in the database without running it, so that others see it."""
    pipeline, moves = find_pipeline(named), moves_of(rehome or ())
    with connected(url, prefix, schema) as database:
        record(database, "declare-pipeline", pipeline=pipeline.name)
        changed = database.declare_pipeline(pipeline, rehome=moves)
    if as_json:
        print_json({"pipeline": pipeline.name, "changed": changed})
        return
    tell(f"{pipeline.name} is declared" if changed else f"{pipeline.name} was already declared")


@commands.command("forget")
def forget(url: Url, name: Name, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Remove a stored pipeline; its queues and their messages stay."""
    with connected(url, prefix, schema) as database:
        if not database.run(lambda: database.store.metadata.pipelines(name)):  # which need not be readable here
            raise UnknownName("pipeline", name, nearest(name, [graph.name for graph in database.pipelines()]))
        record(database, "forget-pipeline", pipeline=name)
        database.forget_pipeline(name)
    if as_json:
        print_json({"removed": True})
        return
    tell(f"{name} is forgotten")


def find_pipeline(named: str) -> Pipeline:
    """Return the pipeline for MODULE:PIPELINE; raise ConfigurationError if there is none."""
    found = find_named(named, "pipeline", "shop.orders:pipeline")
    if not isinstance(found, Pipeline):
        raise ConfigurationError(f"{named} is {shown(found)}, which is not a pipeline")
    return found


def _drawn(graph: Graph, language: Literal["mermaid", "dot", "svg"]) -> str:
    return {"mermaid": graph.mermaid, "dot": graph.dot, "svg": graph.svg}[language]()


def moves_of(said: Sequence[str]) -> Mapping[str, str]:
    """Return where the messages of removed stations go, from OLD=NEW; raise ConfigurationError for any other form."""
    moves: dict[str, str] = {}
    for move in said:
        old, equals, new = move.partition("=")
        if not old or not equals or not new:
            raise ConfigurationError(f"--rehome {shown(move)}: write it as OLD=NEW, such as --rehome check=price")
        moves[old] = new
    return moves
