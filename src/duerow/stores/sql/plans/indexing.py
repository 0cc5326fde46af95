"""Have indexes for the payload fields that a queue declares: made, and taken away, while others go on writing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Index, MetaData
from sqlalchemy.schema import CreateIndex, DropIndex, ExecutableDDLElement
from sqlalchemy.sql.elements import Grouping

from duerow.errors import ConfigurationError, Conflict
from duerow.plan import BEGIN, Plan
from duerow.store import Indexed, Indexing
from duerow.stores.sql.plans.core import Core
from duerow.stores.sql.statements import Statement

LONGEST_SLUG: Final = 16

_HELD: Final = {"integer": "number", "float": "number", "text": "text", "boolean": "boolean"}
_ODD = re.compile("[^a-z0-9]+")


class Indexes(Core):
    """Plans about the indexes of payload fields."""

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Have indexes for these fields and no others; see Store.index."""
        apart = False if dry_run else (yield from self._is_apart())
        if not apart:
            yield BEGIN
            return (yield from self._reconcile(queue, fields, apart, dry_run))
        take, give_back = self.dialect.index_lock(self.tables.prefix)
        # Nobody waits for this lock inside the database: whoever makes an index waits for all who wait there.
        if not (yield self._ddl(take))[0][0]:
            raise Conflict(f"another process is making indexes for the tables {self.tables.prefix}…; try again later")
        try:
            return (yield from self._reconcile(queue, fields, apart, dry_run))
        finally:
            yield self._ddl(give_back)

    def _is_apart(self) -> Plan[bool]:
        """Return whether an index can be made while others write: each statement must be its own transaction."""
        if self.dialect.apart is None:
            return False
        mark, is_gone = self.dialect.apart
        yield self._ddl(mark)
        return bool((yield self._ddl(is_gone))[0][0])

    def _reconcile(self, queue: str, fields: Sequence[Indexed], apart: bool, dry_run: bool) -> Plan[Indexing]:
        found: list[tuple[str, Any]] = yield self._ddl(self.dialect.indexes(self.tables.message))
        ours = {name: bool(usable) for name, usable in found if name.startswith(self._prefix(queue))}
        wanted = {self._name(queue, field): field for field in fields}
        # One that cannot be used is what somebody left whose work broke off.
        created = tuple(name for name in wanted if not ours.get(name, False))
        dropped = tuple(sorted(name for name in ours if name not in wanted or not ours[name]))
        if not dry_run:
            statements = [self._drop(name, apart) for name in dropped]
            statements += [self._create(name, queue, wanted[name], apart) for name in created]
            yield from self._carry_out(statements)
        return Indexing(created, tuple(name for name in dropped if name not in wanted))

    def _carry_out(self, statements: Sequence[ExecutableDDLElement]) -> Plan[None]:
        try:
            for statement in statements:
                yield self._ddl(statement)
        except ConfigurationError as error:
            raise ConfigurationError(
                f"{error}. Hand this to somebody who may change the database:\n\n{self._sql(statements)}"
            ) from error

    def _sql(self, statements: Sequence[ExecutableDDLElement]) -> str:
        plain = self.dialect.plain()
        return "".join(f"{str(statement.compile(dialect=plain)).strip()};\n" for statement in statements)

    def _ddl(self, statement: Any) -> Any:
        return self._step(Statement(statement, kept=False), {})

    def _create(self, name: str, queue: str, field: Indexed, apart: bool) -> ExecutableDDLElement:
        """Return what makes an index in the order of values and then of ids, in which pages are read."""
        return CreateIndex(self._index(name, apart, queue, field), if_not_exists=True)

    def _drop(self, name: str, apart: bool) -> ExecutableDDLElement:
        return DropIndex(self._index(name, apart), if_exists=True)

    def _index(self, name: str, apart: bool, queue: str | None = None, field: Indexed | None = None) -> Index:
        message = self.tables.message.to_metadata(MetaData())  # a copy, so that the table itself knows nothing of it
        options: Mapping[str, Any] = {"postgresql_concurrently": apart}
        if queue is None or field is None:
            return Index(name, message.c.id, **options)
        key = self.dialect.key(message.c.payload, field.path, field.kind)
        where = self.statements.of_queue(queue)
        return Index(name, Grouping(key), message.c.id, **options, sqlite_where=where, postgresql_where=where)

    def _prefix(self, queue: str) -> str:
        return f"{self.tables.prefix}by_{_digest(queue)}_"

    def _name(self, queue: str, field: Indexed) -> str:
        """Return the name of a field's index: the same for as long as it holds the same."""
        slug = _ODD.sub("_", "_".join(field.path).lower())[:LONGEST_SLUG]
        return f"{self._prefix(queue)}{slug}_{_digest('.'.join(field.path), _HELD[field.kind])}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:6]
