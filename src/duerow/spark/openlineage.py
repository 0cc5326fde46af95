"""Lineage of a run for OpenLineage: which queues and tables each station reads and writes, and how the run ended.

A run is a run of the pipeline, and one of each station within it. Names follow OpenLineage's naming rules: a dataset's
namespace is the server or file system, its name the table or path. A queue is named after its table, with the queue's
own name at the end; its symlink is the table itself. No password, payload or option is in any event.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from duerow.errors import ConfigurationError, shown
from duerow.pipeline import Crossing, Pipeline, Station, TableSink, TableSource
from duerow.pipeline.columns import plain
from duerow.pipeline.graph import Graph, Node
from duerow.store.backends import Naming, backend_named, has_backend
from duerow.store.consumer_id import own_version

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import RunEvent

LOG: Final = logging.getLogger("duerow.spark")

NAMESPACE: Final = "OPENLINEAGE_NAMESPACE"
"""The environment variable with the namespace of jobs; default: "default"."""

PRODUCER: Final = "https://pypi.org/project/duerow"

CONTAINED: Final = ("abfs", "wasb")
"""Schemes of URLs that have a container where others have a user."""

LONGEST: Final = 10.0
"""Seconds that a client, which may send in the background, has at the end of a run."""

Emit = Callable[["RunEvent"], None]

Reporting = Callable[[Pipeline, Graph], AbstractContextManager[None]]
"""Reports the run of a pipeline during a block; the graph has the columns of its frame stations."""


def unreported(pipeline: Pipeline, graph: Graph) -> AbstractContextManager[None]:
    """Report nothing."""
    return nullcontext()


def reporting(wanted: object, url: str, settings: Mapping[str, Any], lasts: bool) -> Reporting:
    """Return what reports a run as START, and then as COMPLETE, ABORT or FAIL.

    Args:
        wanted: a client of OpenLineage, which stays open; True: one that the environment configures; False: the run is
            not reported.
        url: the database of its queues.
        settings: further arguments of `connect`, of which the names of the tables depend on `prefix` and `schema`.
        lasts: whether it runs until it is stopped.

    Raises:
        ConfigurationError: `wanted` is something else, or the package openlineage-python is not installed.
    """
    if wanted is False:
        return unreported
    check_installed(wanted)

    @contextmanager
    def report(pipeline: Pipeline, graph: Graph) -> Iterator[None]:
        with _client(wanted, pipeline) as client:
            reporter = _Reporter(pipeline, graph, url, settings, lasts, client.emit)
            try:
                reporter.report("START")
                yield
            except Exception as error:
                reporter.report("FAIL", error)
                raise
            except BaseException:
                reporter.report("ABORT")
                raise
            reporter.report("COMPLETE")

    return report


def check_installed(wanted: object) -> None:
    """Raise ConfigurationError unless this is True or a client, and the package is installed."""
    try:
        from openlineage.client import OpenLineageClient
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"lineage needs the module {error.name}; run pip install 'duerow[openlineage]'"
        ) from error
    if wanted is not True and not isinstance(wanted, OpenLineageClient):
        raise ConfigurationError(f"lineage must be True, False or an OpenLineageClient, not {shown(wanted)}")


@contextmanager
def _client(wanted: Any, pipeline: Pipeline) -> Iterator[OpenLineageClient]:
    """Return a given client, or one that the environment configures, which is closed at the end of the block."""
    from openlineage.client import OpenLineageClient

    if wanted is not True:
        yield wanted
        return
    try:
        client = OpenLineageClient()
    except Exception as error:  # its text may show an address with a password
        raise ConfigurationError(
            f"lineage: the settings of OpenLineage are wrong ({type(error).__name__}); look at OPENLINEAGE_URL and "
            "openlineage.yml"
        ) from None
    try:
        yield client
    finally:
        try:
            sent = client.close(LONGEST)
        except Exception as error:
            LOG.warning("%s: some of its lineage was not sent: %s", pipeline, type(error).__name__)
        else:
            if not sent:
                LOG.warning("%s: some of its lineage was not sent within %.0f s", pipeline, LONGEST)


Name = tuple[str, str]
"""The namespace and the name of a dataset."""


def table_name(url: str, table: str, schema: str | None = None) -> Name:
    """Return the name of a table of a database; nothing of the URL but the servers' addresses and the database."""
    scheme, _, rest = url.partition("://")
    family = scheme.partition("+")[0]
    known = getattr(backend_named(family), "naming", None) if has_backend(family) else None
    naming = known or Naming(family)
    place, _, query = rest.partition("?")
    if naming.scheme == "file":
        return "file", f"{Path(place.removeprefix('/')).absolute()}/{table}"
    terms = parse_qs(query)
    if "@" in query or "odbc_connect" in terms:  # a password that is not escaped, or all in one term
        return naming.scheme, table
    address, _, database = place.rpartition("@")[2].partition("/")
    port = terms.get("port", [naming.port])[0]
    hosts = (address or ",".join(terms.get("host", ["localhost"]))).split(",")
    named = [host if has_port(host) or not port else f"{host}:{port}" for host in hosts]
    schema = None if "." in table else schema or naming.schema
    return f"{naming.scheme}://{','.join(named)}", ".".join(part for part in (database, schema, table) if part)


def has_port(host: str) -> bool:
    """Return whether a host, which may be an address of IPv6 in brackets, is followed by a port."""
    return ":" in host.rpartition("]")[2]


def folder_name(path: str) -> Name:
    """Return the name of a folder: a path, or a URL such as s3://bucket/sales."""
    scheme, mark, rest = path.partition("://")
    if not mark:
        return "file", path
    host, _, folder = rest.partition("?")[0].partition("/")
    user, _, server = host.rpartition("@")
    container = f"{user.partition(':')[0]}@" if user and scheme.startswith(CONTAINED) else ""
    return f"{'s3' if scheme == 's3a' else scheme}://{container}{server}", folder.strip("/")


def table_of(station: TableSink | TableSource) -> Name:
    """Return the name of the table that a station reads or writes; one of Iceberg is named after its catalog."""
    if station.url is not None:
        return table_name(station.url.removeprefix("jdbc:"), station.table or "")
    if station.path is not None:
        return folder_name(str(station.path))
    catalog = getattr(station, "options", {}).get("name") or "default"
    return f"iceberg://{catalog}", station.table or ""


class _Reporter:
    """Reports the run of a pipeline, and of each of its stations."""

    def __init__(
        self, pipeline: Pipeline, graph: Graph, url: str, settings: Mapping[str, Any], lasts: bool, emit: Emit
    ) -> None:
        from openlineage.client.uuid import generate_new_uuid

        self._pipeline, self._lasts, self._emit, self._failed = pipeline, lasts, emit, False
        self._table = table_name(url, f"{settings.get('prefix', 'duerow_')}message", settings.get("schema"))
        self._nodes = {node.name: node for node in graph.stations}
        self._namespace = os.environ.get(NAMESPACE, "default")
        names = [pipeline.name, *(f"{pipeline.name}.{station.name}" for station in pipeline.stations)]
        self._ids = {name: str(generate_new_uuid()) for name in names}

    def report(self, state: str, error: Exception | None = None) -> None:
        """Report a state of the run, unless that has failed before; a failure is only logged."""
        if self._failed:  # each attempt takes seconds
            return
        try:
            self._emit(self._event(state, self._pipeline.name, "PIPELINE", [], [], error))
            for station in self._pipeline.stations:
                name = f"{self._pipeline.name}.{station.name}"
                self._emit(self._event(state, name, "STATION", *self._datasets(station), error))
        except Exception as failure:
            self._failed = True
            LOG.warning("%s: its lineage could not be reported: %s", self._pipeline, type(failure).__name__)

    def _event(
        self, state: str, name: str, kind: str, inputs: list[Any], outputs: list[Any], error: Exception | None
    ) -> RunEvent:
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import error_message_run, job_type_job, parent_run, processing_engine_run

        run: dict[str, Any] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(own_version(), "duerow")
        }
        if error is not None:  # its class alone: its text may hold what messages hold
            run["errorMessage"] = error_message_run.ErrorMessageRunFacet(type(error).__name__, "python")
        if kind == "STATION":
            of = self._pipeline.name
            run["parent"] = parent_run.ParentRunFacet(
                parent_run.Run(self._ids[of]), parent_run.Job(self._namespace, of)
            )
        processing = "STREAMING" if self._lasts else "BATCH"
        job: dict[str, Any] = {"jobType": job_type_job.JobTypeJobFacet(processing, "DUEROW", kind)}
        return RunEvent(
            eventTime=datetime.now(UTC).isoformat(),
            producer=PRODUCER,
            eventType=RunState[state],
            run=Run(self._ids[name], run),
            job=Job(self._namespace, name, job),
            inputs=inputs,
            outputs=outputs,
        )

    def _datasets(self, station: Station) -> tuple[list[Any], list[Any]]:
        """Return what a station reads and what it writes."""
        from openlineage.client.event_v2 import InputDataset, OutputDataset

        inputs = [InputDataset(*self._name(station.name), facets=self._facets(self._nodes.get(station.name)))]
        outputs = [OutputDataset(*self._name(queue), facets=self._facets()) for queue in station.targets]
        match station:
            case TableSource():
                inputs = [InputDataset(*table_of(station))]
            case TableSink():
                outputs = [OutputDataset(*table_of(station))]
            case Crossing():
                there = station.there
                outputs = [OutputDataset(f"duerow://{there.database}", there.queue)]
        return inputs, outputs

    def _name(self, queue: str) -> Name:
        namespace, table = self._table
        return namespace, f"{table}/{queue}"

    def _facets(self, node: Node | None = None) -> dict[str, Any]:
        """Return the table of a queue, and the columns of its payloads if its frame station has them."""
        from openlineage.client.facet_v2 import schema_dataset, symlinks_dataset

        facets: dict[str, Any] = {
            "symlinks": symlinks_dataset.SymlinksDatasetFacet([symlinks_dataset.Identifier(*self._table, "TABLE")])
        }
        if node is not None and node.columns:
            fields = [schema_dataset.SchemaDatasetFacetFields(path, plain(of)) for path, of in node.columns.items()]
            facets["schema"] = schema_dataset.SchemaDatasetFacet(fields)
        return facets
