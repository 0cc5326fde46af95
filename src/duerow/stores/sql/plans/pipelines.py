"""Read and save pipelines."""

from __future__ import annotations

from duerow.plan import Plan
from duerow.store import StoredPipeline
from duerow.stores.sql.plans.context import Plans
from duerow.stores.sql.statements import Step


class PipelinePlans(Plans):
    """Plans for pipelines."""

    def pipelines(self, name: str | None = None) -> Plan[list[StoredPipeline]]:
        """Read pipelines; see MetadataStore.pipelines."""
        by: tuple[str, ...] = () if name is None else ("name",)
        rows = yield Step(self.context.statements.pipelines.pipelines(by), {} if name is None else {"name_in": name})
        return [StoredPipeline(*row) for row in rows]

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Save a pipeline; see MetadataStore.set_pipeline."""
        statements = self.context.statements
        was = {} if version is None else {"was": version}
        if after is None:
            return bool((yield Step(statements.pipelines.delete_pipeline, {"name_in": name, **was})))
        values = {"name_in": name, "definition_in": after.definition, "version_in": after.version}
        statement = statements.pipelines.insert_pipeline if version is None else statements.pipelines.update_pipeline
        return bool((yield Step(statement, {**values, **was})))
