"""Create and drop indexes on the payload fields that a queue declares, while other processes keep writing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duerow.errors import ConfigurationError, Conflict
from duerow.plan import BEGIN, Plan
from duerow.store import Indexed, Indexing
from duerow.stores.sql.payload_indexes import index_name, names_begin
from duerow.stores.sql.plans.context import Plans
from duerow.stores.sql.statements import Statement


class IndexPlans(Plans):
    """Plans for the indexes on payload fields."""

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Create indexes on these fields and drop all others; see MetadataStore.index."""
        context = self.context
        apart = False if dry_run else (yield from self._is_apart())
        if not apart:
            yield BEGIN
            return (yield from self._reconcile(queue, fields, apart, dry_run))
        take, give_back = context.dialect.index_lock(context.tables.prefix)
        # No transaction waits for this lock in the database, because creating an index would wait for that transaction.
        if not (yield self._ddl(take))[0][0]:
            raise Conflict(
                f"another process is creating indexes for the tables {context.tables.prefix}…; try again later"
            )
        try:
            return (yield from self._reconcile(queue, fields, apart, dry_run))
        finally:
            yield self._ddl(give_back)

    def _is_apart(self) -> Plan[bool]:
        """Return whether an index can be created during writes, which requires a transaction for each statement."""
        if self.context.dialect.apart is None:
            return False
        mark, is_gone = self.context.dialect.apart
        yield self._ddl(mark)
        return bool((yield self._ddl(is_gone))[0][0])

    def _reconcile(self, queue: str, fields: Sequence[Indexed], apart: bool, dry_run: bool) -> Plan[Indexing]:
        context = self.context
        found: list[tuple[str, Any]] = yield self._ddl(context.dialect.indexes(context.tables.message))
        begin = names_begin(context.tables.prefix, queue)
        ours = {name: bool(usable) for name, usable in found if name.startswith(begin)}
        wanted = {index_name(context.tables.prefix, queue, field): field for field in fields}
        # An unusable index is left over from an interrupted creation.
        created = tuple(name for name in wanted if not ours.get(name, False))
        dropped = tuple(sorted(name for name in ours if name not in wanted or not ours[name]))
        changes = [self._drop(name, apart) for name in dropped]
        changes += [self._create(name, queue, wanted[name], apart) for name in created]
        if not dry_run:
            yield from self._carry_out([statement for change in changes for statement in change])
        return Indexing(created, tuple(name for name in dropped if name not in wanted))

    def _carry_out(self, statements: Sequence[Any]) -> Plan[None]:
        try:
            for statement in statements:
                yield self._ddl(statement)
        except ConfigurationError as error:
            raise ConfigurationError(
                f"{error}. Hand this to someone who may change the database:\n\n{self._sql(statements)}"
            ) from error

    def _sql(self, statements: Sequence[Any]) -> str:
        plain = self.context.dialect.plain()
        return "".join(f"{str(statement.compile(dialect=plain)).strip()};\n" for statement in statements)

    def _ddl(self, statement: Any) -> Any:
        return self.context.step(Statement(statement, kept=False), {})

    def _create(self, name: str, queue: str, field: Indexed, apart: bool) -> Sequence[Any]:
        """Return the statements that create an index by value and then id, the order in which pages are read."""
        context = self.context
        message = context.tables.message
        which = context.statements.context.of_queue(queue)
        return context.dialect.create_index(name, message, field.path, field.kind, which, apart)

    def _drop(self, name: str, apart: bool) -> Sequence[Any]:
        return self.context.dialect.drop_index(name, self.context.tables.message, apart)
