"""Pipelines on Spark: exactly once from queue to queue, on any master.

Read the modules in this order: `runner` (the driver), `jobs` and `task` (message stations, on the driver and in
executors), `frames`, `batch`, `read`, `write` and `schema` (frame stations), `tables` (table stations), `probe` (what
executors need), `report`, `progress` and `command` (output for people), `openlineage` (events for data catalogs),
`session` and `java` (Spark on this machine).

Names are imported on first use, like those of `duerow`, because tasks need few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from duerow.spark.session import session  # imported now: the module has the same name

if TYPE_CHECKING:
    from duerow.spark.consumer import Tally
    from duerow.spark.frame_plan import explain
    from duerow.spark.report import Line, Report
    from duerow.spark.runner import run, step
    from duerow.spark.schema import schema_of
    from duerow.spark.tables.read import read_table, table_files

__all__ = ["Line", "Report", "Tally", "explain", "read_table", "run", "schema_of", "session", "step", "table_files"]

_HOME_OF = {
    "Line": "report",
    "Report": "report",
    "Tally": "consumer",
    "explain": "frame_plan",
    "read_table": "tables.read",
    "run": "runner",
    "schema_of": "schema",
    "step": "runner",
    "table_files": "tables.read",
}

if not TYPE_CHECKING:  # otherwise any name would seem to exist

    def __getattr__(name: str) -> Any:
        """Import a public name."""
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)

    def __dir__() -> list[str]:
        """Return all public names, imported or not."""
        return sorted({*globals(), *__all__})
