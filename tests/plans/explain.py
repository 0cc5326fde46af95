"""What the statements of a plan use and look at, as the database itself says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from duerow import Database
from duerow.message import LIVE
from duerow.plan import BEGIN, Plan, run
from duerow.reservation import Receipt
from duerow.store import Query
from duerow.stores.sql.plans.store import SqlStore
from tests.plans.bulk_rows import GROUPS, LEASED, QUEUE
from tests.plans.operations import ID, Leased

MESSAGES: Final = "duerow_message"
GROWING: Final = (
    MESSAGES,
    *(f"duerow_{name}" for name in ("counter", "history", "remembered", "staging", "staged", "noted")),
)


@dataclass
class Examined:
    """What the statements of one operation did.

    Attributes:
        indexes: those of the table of messages that were used, without its name.
        scans: tables that were read from end to end though they grow, with the statement.
        sorts: statements that sort.
        most: rows of one table that the busiest part of a statement looked at (PostgreSQL).
        instructions: what all statements took, in steps of SQLite's machine, or in rows that MariaDB read.
        steps: how many statements there were.
    """

    indexes: set[str] = field(default_factory=set)
    scans: list[str] = field(default_factory=list)
    sorts: list[str] = field(default_factory=list)
    most: int = 0
    busiest: str = ""
    instructions: int = 0
    steps: int = 0

    def note_index(self, name: str) -> None:
        """Note an index that was used, if it is of messages."""
        if name == f"{MESSAGES}_pkey":
            self.indexes.add(ID)
        elif name.startswith(f"{MESSAGES}_"):
            self.indexes.add(name.removeprefix(f"{MESSAGES}_"))


class Examining:
    """Carries out plans in a transaction that is undone, and notes what each statement does."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.store: SqlStore = database.store  # type: ignore[assignment]

    def examine(self, plan: Plan[Any]) -> Examined:
        """Carry out a plan, and undo what it did."""
        examined = Examined()
        with self._database.connections.open() as execute:
            raw: Any = execute
            try:
                raw(BEGIN)
                run(plan, lambda step: raw(step) if step is BEGIN else self._step(raw, step, examined))
            finally:
                raw.rolled_back()
        return examined

    def leased(self) -> Leased:
        """Find the messages that operations are about."""

        def read(query: Query) -> Any:
            return self._database.run(lambda: self.store.messages.find(query))

        held = read(Query(QUEUE, by_id=True, limit=LEASED))
        assert all(record.leased_by for record in held)
        rows = self.rows(
            f'SELECT queue, id, token, "group", leased_by FROM {self.table} WHERE "group" IS NOT NULL AND '
            "leased_by IS NOT NULL ORDER BY id"
        )
        ((_, head, token, _, _),) = [row for row in rows if row[0] == QUEUE]
        ((last,),) = self.rows(f"SELECT max(id) FROM {self.table} WHERE \"group\" = 'big'")
        keyed = read(Query(QUEUE, keys=tuple(f"k-{10 * number}" for number in range(41, 101)), statuses=LIVE))
        return Leased(
            receipts=[Receipt(record.id, record.token) for record in held],
            grouped=[(Receipt(row[1], row[2]), row[3]) for row in rows if row[0] == GROUPS],
            head=Receipt(head, token),
            last=last,
            ready=keyed,
        )

    @property
    def table(self) -> str:
        """The table of messages, as SQL says it."""
        schema = self.store.context.tables.schema
        return f"{schema}.{MESSAGES}" if schema else MESSAGES

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Carry out a statement of the test's own, and return its rows."""
        with self._database.connections.open() as execute:
            cursor = execute.raw.cursor()  # type: ignore[attr-defined]
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def _step(self, execute: Any, step: Any, examined: Examined) -> Any:
        raise NotImplementedError


class OnPostgresql(Examining):
    """By EXPLAIN (ANALYZE), which carries the statement out and counts its rows; then it is undone, and done again."""

    def _step(self, execute: Any, step: Any, examined: Examined) -> Any:
        text, values = execute.texts.of(step)
        examined.steps += 1
        with execute.raw.cursor() as cursor:
            cursor.execute("SAVEPOINT examined")
            cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {text}", values)
            ((plans,),) = cursor.fetchall()
            cursor.execute("ROLLBACK TO SAVEPOINT examined")
        for node in _nodes(plans[0]["Plan"]):
            self._note(node, text, examined)
        return execute(step)

    def _note(self, node: dict[str, Any], text: str, examined: Examined) -> None:
        loops = node["Actual Loops"]
        removed = sum(node.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Index Recheck", "Join Filter"))
        looked_at = round((node["Actual Rows"] + removed) * loops)
        if "Index Name" in node:
            examined.note_index(node["Index Name"])
        if node["Node Type"] in ("Sort", "Incremental Sort", "Hash"):
            examined.sorts.append(f"{looked_at} rows: {text}")
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in GROWING:
            examined.scans.append(text)
        if ("Relation Name" in node or "Index Name" in node) and looked_at > examined.most:
            examined.most, examined.busiest = looked_at, f"{looked_at} rows by {node['Node Type']}: {text}"


class OnSqlite(Examining):
    """By EXPLAIN QUERY PLAN, and by counting the steps of SQLite's machine while the statement is carried out."""

    def _step(self, execute: Any, step: Any, examined: Examined) -> Any:
        text, values = execute.texts.of(step)
        examined.steps += 1
        for _, _, _, line in execute.raw.execute(f"EXPLAIN QUERY PLAN {text}", values).fetchall():
            self._note(line, text, examined)
        taken = 0

        def count() -> int:
            nonlocal taken
            taken += 1
            return 0

        execute.raw.set_progress_handler(count, EACH)
        try:
            return execute(step)
        finally:
            execute.raw.set_progress_handler(None, EACH)
            examined.instructions += taken * EACH

    def _note(self, line: str, text: str, examined: Examined) -> None:
        if "TEMP B-TREE" in line:
            examined.sorts.append(f"{line}: {text}")
        if re.match(rf"SCAN ({'|'.join(GROWING)}|other|oldest)\b", line) and "INDEX" not in line:
            examined.scans.append(f"{line}: {text}")
        if found := re.search(r"USING (?:COVERING )?INDEX (\w+)", line):
            examined.note_index(found[1])
        elif "INTEGER PRIMARY KEY" in line:
            examined.indexes.add(ID)


class OnMariadb(Examining):
    """By the server's own count of the rows that it reads for this session, in each part of a statement."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Carry out a statement of the test's own, and return its rows."""
        return super().rows(sql.replace('"group"', "`group`"))

    def _step(self, execute: Any, step: Any, examined: Examined) -> Any:
        if step.statement.parts is not None:
            return run(step.statement.parts(step.values), lambda part: self._step(execute, part, examined))
        examined.steps += 1
        to_ask = -self._read(execute) + (before := self._read(execute))
        try:
            return execute(step)
        finally:
            looked_at = self._read(execute) - before - to_ask
            examined.instructions += looked_at
            if looked_at > examined.most:
                examined.most, examined.busiest = looked_at, f"{looked_at} rows: {execute.texts.of(step)[0]}"

    def _read(self, execute: Any) -> int:
        """Return how many rows this session has read; to ask reads some as well."""
        with execute.raw.cursor() as cursor:
            cursor.execute("SHOW LOCAL STATUS LIKE 'Handler_read%'")
            return sum(int(number) for _, number in cursor.fetchall())


EACH: Final = 10
"""Every how many steps of its machine SQLite is asked to tell."""


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for part in node.get("Plans", []):
        yield from _nodes(part)
