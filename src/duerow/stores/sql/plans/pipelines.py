"""Read pipelines, and keep them."""

from __future__ import annotations

from duerow.plan import Plan
from duerow.store import StoredPipeline
from duerow.stores.sql.plans.core import CorePlans
from duerow.stores.sql.statements import Step


class PipelinePlans(CorePlans):
    """Plans about pipelines."""

    def pipelines(self, name: str | None = None) -> Plan[list[StoredPipeline]]:
        """Read pipelines; see Store.pipelines."""
        by: tuple[str, ...] = () if name is None else ("name",)
        rows = yield Step(self.statements.pipelines(by), {} if name is None else {"name_in": name})
        return [StoredPipeline(*row) for row in rows]

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Keep a pipeline; see Store.set_pipeline."""
        was = {} if version is None else {"was": version}
        if after is None:
            return bool((yield Step(self.statements.delete_pipeline, {"name_in": name, **was})))
        values = {"name_in": name, "definition_in": after.definition, "version_in": after.version}
        statement = self.statements.insert_pipeline if version is None else self.statements.update_pipeline
        return bool((yield Step(statement, {**values, **was})))
