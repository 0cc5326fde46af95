"""Commands about pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import typer

from duerow.cli.failures import Commands
from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, connected
from duerow.cli.output import print_json, print_table, tell
from duerow.cli.worker import find_named, log_to_stderr
from duerow.errors import ConfigurationError, UnknownName
from duerow.pipeline import Graph, Pipeline
from duerow.sync.directory import nearest

commands = typer.Typer(cls=Commands, no_args_is_help=True, help="Look at pipelines, check and run them.")

Named = Annotated[
    str, typer.Argument(metavar="MODULE:PIPELINE", help="A pipeline of a module, found from this folder as well.")
]


@commands.command("list")
def list_pipelines(url: Url, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """List the pipelines that were declared in the database, with their stations."""
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
    name: Annotated[str, typer.Argument(metavar="NAME", help="A pipeline that was declared.")],
    language: Annotated[
        Literal["mermaid", "dot", "svg"], typer.Option("--as", help="In which language; svg takes Graphviz.")
    ] = "mermaid",
    prefix: Prefix = PREFIX,
    schema: Schema = None,
) -> None:
    """Draw a pipeline of the database."""
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
        tell(f"{pipeline} is sound: {len(pipeline.stations)} stations, entered by {', '.join(pipeline.entries)}")


@commands.command("run")
def run(
    url: Url,
    named: Named,
    until: Annotated[
        Literal["idle", "empty", "stopped"],
        typer.Option(help="End when nothing is due now (idle), when nothing will be (empty), or at SIGTERM (stopped)."),
    ] = "idle",
    rehome: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Where the messages of a removed station go; may be repeated."),
    ] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each message that is done as well.")] = False,
) -> None:
    """Run a pipeline on workers of this process; log what happens on standard error."""
    log_to_stderr(as_json, verbose)
    pipeline, moves = find_pipeline(named), moves_of(rehome or ())
    with connected(url, prefix, schema) as database:
        pipeline.run(database, None if until == "stopped" else until, rehome=moves)


def find_pipeline(named: str) -> Pipeline:
    """Return the pipeline for MODULE:PIPELINE; raise ConfigurationError if there is none."""
    found = find_named(named, "pipeline", "shop.orders:pipeline")
    if not isinstance(found, Pipeline):
        raise ConfigurationError(f"{named} is {found!r:.80}, which is no pipeline")
    return found


def _drawn(graph: Graph, language: Literal["mermaid", "dot", "svg"]) -> str:
    return {"mermaid": graph.mermaid, "dot": graph.dot, "svg": graph.svg}[language]()


def moves_of(said: Sequence[str]) -> Mapping[str, str]:
    """Return where the messages of removed stations go, given as OLD=NEW; raise ConfigurationError for other words."""
    moves: dict[str, str] = {}
    for move in said:
        old, equals, new = move.partition("=")
        if not old or not equals or not new:
            raise ConfigurationError(f"--rehome {move!r:.120}: write it as OLD=NEW, such as --rehome check=price")
        moves[old] = new
    return moves
