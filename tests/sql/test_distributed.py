"""The design note on distributed SQL says of duerow's statements what is true of them; a parser reads them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from tests.sql.texts import reviewed

TEXTS = {dialect: reviewed(dialect) for dialect in ("postgresql", "mysql")}

FUNCTIONS = {
    "statement_timestamp": "the clock of the server",
    "nextval": "ids that grow",
    "pg_notify": "waking consumers",
    "json_typeof": "searches by payload",
    "to_json": "texts of errors",
    "timezone": "texts of errors",
    "current_database": "where the tables are",
    "pg_postmaster_start_time": "where the tables are",
    "to_regclass": "where the tables are",
}
"""What the statements for PostgreSQL call that is not in the SQL standard, and what for."""

UNKNOWN = re.compile(
    r"pg_advisory|\bLOCK TABLE|\bTEMP(ORARY)?\b|\bTRIGGER\b|\bREFERENCES\b|\bSERIAL\b|\bMERGE\b|\bxmin\b"
)
"""What the note need not speak of, since no statement has it."""


def trees(dialect: str, room: str = "") -> Iterator[tuple[str, exp.Expression]]:
    """Yield the statements of a room, parsed, with their names; without a room, all."""
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it does not know SET CONSTRAINTS
    read = {"postgresql": "postgres"}.get(dialect, dialect)
    for name, text in TEXTS[dialect].items():
        if name.startswith(room):
            text = re.sub(r"\s+CHARACTER\s+SET\s+\w+(\s+COLLATE\s+\w+)?(?=\s+PATH)", "", text)
            yield from ((name, tree) for tree in sqlglot.parse(text, dialect=read) if tree is not None)


def skips(tree: exp.Expression) -> bool:
    """Whether a statement skips rows that others have locked."""
    return any(lock.args.get("wait") is False for lock in tree.find_all(exp.Lock))


def columns(tree: exp.Expression | None) -> set[str]:
    """The names of the columns of messages that an expression reads."""
    found = [] if tree is None else tree.find_all(exp.Column)
    return {column.name for column in found if column.table == "duerow_message"}


def test_every_function_and_lock_of_the_statements_for_postgresql_is_known_to_the_note() -> None:
    called = {str(one.this).lower() for _, tree in trees("postgresql") for one in tree.find_all(exp.Anonymous)}
    assert called == FUNCTIONS.keys()
    assert {name: UNKNOWN.findall(text) for name, text in TEXTS["postgresql"].items() if UNKNOWN.search(text)} == {}


@pytest.mark.parametrize("dialect", TEXTS)
def test_what_reserves_skips_locked_rows_and_asks_for_one_queue_and_priority(dialect: str) -> None:
    claims = [(name, tree) for name, tree in trees(dialect, "reserve/") if re.search(r"/(reserve|pop|pick)\b", name)]
    reading = [(name, tree) for name, tree in claims if skips(tree)]
    assert len(reading) > 8
    assert {name for name, _ in reading} == {name for name, _ in claims}
    for name, tree in reading:
        picked = next(lock.find_ancestor(exp.Select) or tree for lock in tree.find_all(exp.Lock))
        assert {"queue", "priority", "due_at"} <= columns(picked.find(exp.Where)), name


def test_only_one_statement_changes_messages_in_two_parts() -> None:
    def parts(tree: exp.Expression) -> int:
        changes = [*tree.find_all(exp.Update, exp.Delete, exp.Insert)]
        return sum(one.find(exp.Table).name == "duerow_message" for one in changes)

    twice = {name for name, tree in trees("postgresql") if parts(tree) > 1}
    assert {name.partition("-")[0] for name in twice} == {"reserve/commit_and_reserve"}


@pytest.mark.parametrize("end", ["commit", "roll_back", "bury", "release", "move", "extend"])
def test_what_ends_a_turn_finds_its_rows_by_id_and_token_and_never_by_queue(end: str) -> None:
    (tree,) = [tree for name, tree in trees("postgresql", f"settle/{end}") if name == f"settle/{end}"]
    assert columns(tree.find(exp.Where)) == {"id", "token"}
    assert tree.find(exp.Returning) is not None


def test_a_move_writes_the_queue_of_a_row() -> None:
    (tree,) = [tree for name, tree in trees("postgresql", "settle/move") if name == "settle/move"]
    assert isinstance(tree, exp.Update)
    assert "queue" in {assignment.this.name for assignment in tree.expressions}


def test_unique_indexes_of_messages_begin_with_the_queue_and_have_a_condition() -> None:
    found = {}
    for _, tree in trees("postgresql", "migrations"):
        if isinstance(tree, exp.Create) and tree.args.get("unique"):
            index: Any = tree.this
            where = index.args["params"].args.get("where")
            found[index.name] = (next(index.find_all(exp.Ordered)).this.name, where is not None)
    messages = {name: facts for name, facts in found.items() if name.startswith("duerow_message")}
    assert messages == {"duerow_message_key": ("queue", True), "duerow_message_turn": ("queue", True)}


def test_mysql_reserves_in_two_statements_of_which_the_second_does_not_compare_the_token() -> None:
    seen = 0
    for name, tree in trees("mysql", "reserve/"):
        if name.startswith("reserve/reserve") and isinstance(tree, exp.Update):
            seen += 1
            conditions = [part.args.get("on") for part in tree.find_all(exp.Join)] + [tree.find(exp.Where)]
            assert set().union(*map(columns, conditions)) == {"id"}, name
    assert seen == 3
