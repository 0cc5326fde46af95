"""The statements of each dialect as text that a person can read."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, Column, Dialect, Integer, MetaData, Table, Uuid
from sqlalchemy.dialects import mysql, postgresql, sqlite

from duerow.errors import NotSupported
from duerow.store import HistoryQuery, Indexed, Order
from duerow.stores.sql.dialects.mssql.compiler import written
from duerow.stores.sql.dialects.mssql.dialect import SqlServer
from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.mysql.mysql import MySQL
from duerow.stores.sql.dialects.mysql.mysql import written as mysql_written
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.dialects.sqlite.dialect import SQLite
from duerow.stores.sql.entities.columns import StateTable, add_indexes, state_columns
from duerow.stores.sql.entities.keys import Key, keys_of
from duerow.stores.sql.entities.plans import EntityStore
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import ENTRY, RECEIPT, OverRows, Statement, Statements
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.push import OPTIONAL
from duerow.where import parse

FOLDER = Path(__file__).parent
CLAUSES = re.compile(r"\s+(FROM|WHERE|SET|VALUES|RETURNING|ORDER BY|ON CONFLICT|FOR UPDATE|LIMIT|OUTPUT|JOIN|USING)\b")
DIALECTS: dict[str, tuple[Any, Dialect]] = {
    "postgresql": (PostgreSQL(), postgresql.dialect(paramstyle="named")),
    "sqlite": (SQLite(), sqlite.dialect(paramstyle="named")),
    "mariadb": (MariaDB(), mysql.dialect(paramstyle="named", is_mariadb=True)),
    "mysql": (MySQL(), mysql_written("named")),
    "mssql": (SqlServer(), written("named")),
}
WITH_PARAMETER = {
    "insert_one": [frozenset(), frozenset(("key", "headers", "due", "delay"))],
    "put_settings": [("paused", "draining"), ("definition",)],
    "settings": [(), ("name",)],
    "reserve": [True, False],
    "commit_and_reserve": [True],
    "lend_unread": [True, False],
    "publish": [(False, False), (True, False), (False, True)],
    "pop": [True, False],
    "keep_lapsed": [True, False],
    "schedules": [(), ("name",), ("due",)],
    "pipelines": [(), ("name",)],
    "pick": [(False, False), (True, False), (True, True)],
    "peek": [True, False],
    "change": [
        frozenset(("payload", "headers")),
        frozenset(("priority",)),
        frozenset(("due", "anew")),
        frozenset(("stopped",)),
    ],
    "find": [("ids", "statuses"), ("by_id", "after_id"), ("by_id", "keys", "live")],
}

SHARED = {
    "commit": ("token",),
    "release": ("token", "due"),
    "bury": ("token", "error"),
    "extend": ("token",),
    "owned": ("token",),
    "promote_next": ("queue",),
}
"""Statements over rows that differ in one column, and the columns that have the same value in all of them."""

IN_PARTS = {"commit_and_reserve"}
"""Statements that exist only where a statement may contain others that write."""

SHIPMENT = Table(
    "shipment",
    MetaData(),
    Column("tenant", Uuid, primary_key=True),
    Column("number", Integer, primary_key=True),
    *state_columns("sending"),
)
"""A table of a user's own with a primary key of two columns."""

add_indexes(SHIPMENT, "sending")

OF_KINDS: dict[str, tuple[bool, ...]] = {
    "reserve": (False,),
    "commit_and_reserve": (False,),
    "lend_unread": (False,),
    "pop": (False,),
    "pick": (True, False),
}
"""Statements that may look at some kinds alone, and what else they are told."""

FLAGS = {"pick": ("grouped", "from_floor"), "publish": ("keyed", "grouped")}
"""What the parameters of a statement that takes several say when they are true."""


FOLDED = {"lend": "settle", "savepoints": "change", "receive": "push", "stage": "push", "pipelines": "queues"}
"""Modules whose few statements are in the file of another module, which is about the same subject."""

NAMED = re.compile(r"^-- statement: (.+)\n", re.MULTILINE)
"""What stands above each statement of a file."""


def wanted() -> dict[str, str]:
    """Return the text of every statement by dialect, file and name, as in `sqlite/push/insert_one`."""
    texts = {}
    for name, (ours, dialect) in DIALECTS.items():
        store = SqlStore(ours, "duerow_", None, None)
        for verb, statement in statements(store.context.statements).items():
            member = ByName(store.context.statements).member(verb.partition("-")[0])
            texts[f"{name}/{room_of(member)}/{verb}"] = text(member, statement, dialect)
        texts[f"{name}/migrations/migrations"] = store.schema.migration_sql()
        if name != "sqlite":  # which has no roles
            texts[f"{name}/roles/roles"] = store.schema.roles_sql({})
        for verb, statement in of_rows(ours, dialect).items():
            member = of_state(ours, dialect, "sms_message", Key("id", BigInteger())).member(verb.partition("-")[0])
            texts[f"{name}/entities/{verb}"] = text(member, statement, dialect)
    return texts


def room_of(member: Any) -> str:
    """Return the file of a statement: by the module of `duerow.stores.sql.statements` that makes it, or see FOLDED."""
    made: Any = getattr(member, "func", getattr(member, "__wrapped__", member))
    module = str(made.__module__.rpartition(".")[2])
    return FOLDED.get(module, module)


def files(texts: dict[str, str]) -> dict[str, str]:
    """Return what is written into each file, by its name: the statements of one module for one dialect."""
    found: dict[str, list[str]] = {}
    for name in sorted(texts):
        file, _, verb = name.rpartition("/")
        found.setdefault(f"{file}.sql", []).append(f"-- statement: {verb}\n{texts[name]}")
    return {file: "\n".join(parts) for file, parts in found.items()}


def reviewed(dialect: str) -> dict[str, str]:
    """Return the statements in the files of a dialect, by file and name."""
    found = {}
    for path in sorted((FOLDER / dialect).glob("*.sql")):
        _, *parts = NAMED.split(path.read_text())
        for place in range(0, len(parts), 2):
            rest = parts[place + 1] if place + 2 == len(parts) else parts[place + 1].removesuffix("\n")
            found[f"{path.stem}/{parts[place]}"] = rest
    return found


members_of = cache(inspect.getmembers_static)  # of a class: to list them takes longer than to compile a statement


class ByName:
    """The statements of an installation by their names, whatever their subjects."""

    def __init__(self, of: Statements) -> None:
        self.groups = [group for group in vars(of).values() if isinstance(group, StatementGroup)]

    def __getattr__(self, name: str) -> Any:
        (group,) = [group for group in self.groups if hasattr(type(group), name)]
        return getattr(group, name)

    def member(self, name: str) -> Any:
        """Return what makes a statement."""
        return dict(self.members())[name]

    def members(self) -> Iterator[tuple[str, Any]]:
        """Return what makes each statement, with its name, in the order of names."""
        found = [member for group in self.groups for member in members_of(type(group))]
        return iter(sorted((member for member in found if not member[0].startswith("_")), key=lambda member: member[0]))


def of_state(ours: Any, dialect: Dialect, table: str, *keys: Key, deletes: bool = False) -> ByName:
    """Return the statements over a table of a user's own."""
    store = EntityStore(ours, dialect, StateTable(table, None, keys, "sending"), deletes, None)
    return ByName(store.context.statements)


def of_rows(ours: Any, dialect: Dialect) -> dict[str, Statement]:
    """Return the statements over a table of a user's own that differ from those over messages, by their names."""

    def over(table: str, *keys: Key, deletes: bool = False) -> ByName:
        return of_state(ours, dialect, table, *keys, deletes=deletes)

    of_one = ("sms_message", Key("id", BigInteger()))
    of_two = (SHIPMENT.name, *keys_of("shipment", SHIPMENT.primary_key))
    keeps, deletes = over(*of_one), over(*of_one, deletes=True)
    over_rows = ("commit", "roll_back", "bury", "release", "extend", "kept", "named")
    found = {name: getattr(keeps, name).alike(frozenset()) for name in over_rows}
    found["next_due"] = keeps.next_due().alike(frozenset())
    found["commit-deletes"] = deletes.commit.alike(frozenset())
    found["commit-deletes-key_of_two"] = over(*of_two, deletes=True).commit.alike(frozenset())
    found["extend-key_of_two"] = over(*of_two).extend.alike(frozenset())
    found["commit-deletes-of_shared"] = deletes.commit.alike(frozenset(("token",)))
    found["commit-deletes-key_of_two-of_shared"] = over(*of_two, deletes=True).commit.alike(
        frozenset(("token", "id_1"))
    )
    found["extend-of_shared"] = keeps.extend.alike(frozenset(("token",)))
    found["extend-of_one"] = keeps.extend.alike(frozenset(("id", "token")))
    found["reserve-key_of_two"] = over(*of_two).reserve(False)
    return {**found, "reserve": keeps.reserve(False), "reserve-from_floor": keeps.reserve(True)}


def statements(those: Statements) -> dict[str, Statement]:
    """Return every statement by its name; one over rows as for rows that differ in all columns."""
    of = ByName(those)
    found: dict[str, Statement] = {}
    lacking = set() if those.reserve.dialect.writes_in_parts else IN_PARTS
    for name, member in of.members():
        if name in lacking:
            continue
        if name in WITH_PARAMETER:
            for parameter in WITH_PARAMETER[name]:
                if name in FLAGS:
                    label = "-".join(said for said, is_so in zip(FLAGS[name], parameter, strict=True) if is_so)
                    found[f"{name}-{label}".rstrip("-")] = getattr(of, name)(*parameter)
                    continue
                flag = {"peek": "grouped", "keep_lapsed": "buries"}.get(name, "from_floor")
                label = flag if parameter is True else "" if parameter is False else "-".join(sorted(parameter))
                made = getattr(of, name)(parameter)
                found[f"{name}-{label}".rstrip("-")] = made.alike(frozenset()) if isinstance(made, OverRows) else made
        elif isinstance(member, cached_property):
            statement = getattr(of, name, None) if name != "note_waiting" or of.wake is not None else None
            if isinstance(statement, OverRows):
                statement = statement.alike(frozenset())
            if isinstance(statement, Statement):
                found[name] = statement
    for name, flags in OF_KINDS.items():
        if name in lacking:
            continue
        found[f"{name}-of_kinds"] = getattr(of, name)(*flags, 2)
    for label, kinds in (("next_due", 0), ("next_due-of_kinds", 2)):
        found[label] = of.next_due(kinds).alike(frozenset())
    where = parse(
        "payload.companyId = 3345 and not attempts > 3 or headers.\"x\" like 'a%' and status in ('new', 'error')"
    )
    found["search"] = of.search((), where, Order("priority", descending=True, after=(5, 7)), locked=True)
    for name, shared in SHARED.items():
        found[f"{name}-of_shared"] = getattr(of, name).alike(frozenset(shared))
    found["commit-of_one"] = of.commit.alike(frozenset(RECEIPT))
    plain = frozenset(ENTRY) - {"id", "payload"} - OPTIONAL
    found["insert_keyless-plain"] = of.insert_keyless.alike(plain, OPTIONAL)
    found["insert_one-asking"] = of.insert_one(frozenset(("key",)), asking=True)
    indexed_of = ("mail", (Indexed(("companyId",), "integer"), Indexed(("to", "city"), "text")))
    asked = parse("payload.companyId = 3345 and payload.to.city < 'b'")
    with suppress(NotSupported):  # where a payload field can have no index
        found["search-indexed"] = of.search((), asked, Order(), locked=False, indexed_of=indexed_of)
    lines = [PriorityLine(0, False), PriorityLine(5, True)]
    found["page"] = of.page(None, None, lines, live=False)
    place = (datetime(2026, 1, 1, tzinfo=UTC), 7)
    ready = parse("status in ('new', 'error') and due_at <= '2026-06-01T00:00:00Z'")
    found["page-due_at-after"] = of.page(ready, Order("due_at", descending=True, after=place), lines, live=True)
    found["page-id"] = of.page(None, Order(descending=True), [PriorityLine(0, False)], live=False)
    found["is_large"] = of.is_large
    found["small"] = of.small(parse("attempts > 3"), Order(after=(7, 7)))
    found["near"] = of.near(None, Order(descending=True))
    found["near-after"] = of.near(parse("attempts > 3"), Order(after=(7, 7)))
    found["tally"] = of.tally(where, ("payload", "companyId"), limited=True, resting=False)
    about = parse("outcome = 'failed' and payload.companyId = 3345 and error.type like 'Time%'")
    found["history_rows"] = of.history_rows(
        HistoryQuery("q", where=about, after=(datetime(2026, 1, 1, tzinfo=UTC), 7, 3))
    )
    found["scan"] = of.scan(("queues", "statuses"), where)
    found["scan-descending"] = of.scan(("descending",), None, ("id",))
    found["scan_history"] = of.scan_history(("queues",), about)
    found["scan_history-descending"] = of.scan_history(("descending",), None, ("id",))
    found["history_rows-ends"] = of.history_rows(HistoryQuery("q", id=7, ends=True, oldest_first=True))
    return found


def text(member: Any, statement: Statement, dialect: Dialect) -> str:
    """Return a statement with its purpose as a comment, one clause on a line."""
    purpose = inspect.getdoc(getattr(member, "func", getattr(member, "__wrapped__", member))) or ""
    comment = "".join(f"-- {line}\n" for line in textwrap.wrap(purpose.partition("\n\n")[0], 100))
    element: Any = statement.element
    written = CLAUSES.sub(r"\n\1", re.sub(r"\s+", " ", str(element.compile(dialect=dialect))))
    wrapped = "\n".join(
        textwrap.fill(line, 118, subsequent_indent="    ", break_long_words=False) for line in written.splitlines()
    )
    return f"{comment}{wrapped}\n"
