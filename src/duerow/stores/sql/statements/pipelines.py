"""Statements for pipelines."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Text, select

from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import Statement


class PipelineStatements(StatementGroup):
    """Statements for pipelines."""

    @lru_cache(maxsize=4)  # noqa: B019 - lives as long as the store
    def pipelines(self, by: tuple[str, ...]) -> Statement:
        """Read pipelines: all, or one by `name`."""
        columns = self.tables.pipeline.c
        definition = self.dialect.as_text(columns.definition).label("definition")
        found = select(columns.name, definition, columns.version).order_by(columns.name)
        return Statement(found.where(columns.name == self.bound("name_in", Text())) if "name" in by else found)

    @cached_property
    def insert_pipeline(self) -> Statement:
        """Add a pipeline, and return its name; return nothing if the name exists."""
        columns = self.tables.pipeline.c
        values = {"name": self.bound("name_in", Text()), **self._charted}
        return Statement(self.dialect.add_new(self.tables.pipeline, values, columns.name))

    @cached_property
    def update_pipeline(self) -> Statement:
        """Change the pipeline with this name and version, and return its name."""
        pipeline = self.tables.pipeline
        return Statement(self.dialect.change(pipeline, self._pipeline_as_read, self._charted, [pipeline.c.name]))

    @cached_property
    def delete_pipeline(self) -> Statement:
        """Delete the pipeline with this name and version, and return its name."""
        pipeline = self.tables.pipeline
        return Statement(self.dialect.remove_where(pipeline, self._pipeline_as_read, [pipeline.c.name]))

    @property
    def _pipeline_as_read(self) -> list[ColumnElement[bool]]:
        columns = self.tables.pipeline.c
        return [columns.name == self.bound("name_in", Text()), columns.version == self.bound("was", BigInteger())]

    @property
    def _charted(self) -> dict[str, ColumnElement[Any]]:
        """The columns of a pipeline that change."""
        return {
            "definition": self.json(self.bound("definition_in", Text())),
            "version": self.bound("version_in", BigInteger()),
        }
