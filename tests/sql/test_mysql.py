"""What MySQL is sent is its SQL, as a parser reads it, and rests on nothing that only MariaDB has."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
import sqlglot
from sqlalchemy import BigInteger, Column, MetaData, Table
from sqlglot import exp

from duerow.stores.sql.dialects.mysql.mysql_writes import in_order, ordered
from tests.sql.texts import reviewed

TEXTS = reviewed("mysql")

CHARSET = re.compile(r"\s+CHARACTER\s+SET\s+\w+(\s+COLLATE\s+\w+)?(?=\s+PATH)")
"""What MySQL takes in a column of JSON_TABLE, and the parser does not know."""

OF_MARIADB_ALONE = re.compile(
    r"RETURNING|NEXTVAL|LASTVAL|SEQUENCE|SET STATEMENT|utf8mb4_nopad_bin|LOCK IN SHARE MODE"
    r"|(INDEX|COLUMN) IF|VALUES\(\w+\)"
)


@cache
def parsed(text: str) -> list[Any]:
    """Return the statements of a text; every test only reads them."""
    return sqlglot.parse(CHARSET.sub("", text), dialect="mysql")


@pytest.mark.parametrize("name", TEXTS)
def test_each_statement_for_mysql_can_be_parsed_and_has_nothing_of_mariadb_alone(name: str) -> None:
    assert parsed(TEXTS[name])
    assert OF_MARIADB_ALONE.findall(TEXTS[name]) == []


def test_no_assignment_reads_what_an_earlier_one_has_set() -> None:
    seen = 0
    for name, text in TEXTS.items():
        for statement in parsed(text):
            for update in statement.find_all(exp.Update):
                seen += 1
                assert read_too_late(update) == [], name
    assert seen > 20


def read_too_late(update: exp.Update) -> list[str]:
    """The columns that are read in an assignment after another one has set them."""
    set_already: set[tuple[str, str]] = set()
    late = []
    for assignment in update.expressions:
        read = {(column.table, column.name) for column in assignment.expression.find_all(exp.Column)}
        late += [name for _, name in read & set_already]
        set_already.add((assignment.this.table, assignment.this.name))
    return late


def test_the_check_itself_finds_what_it_looks_for() -> None:
    late = sqlglot.parse_one("UPDATE t SET t.a = 1, t.b = t.a, t.c = found.a", dialect="mysql")
    assert read_too_late(late.find(exp.Update)) == ["a"]  # type: ignore[arg-type]


def test_assignments_are_put_in_an_order_in_which_none_is_read_too_late() -> None:
    rows = Table("rows", MetaData(), *(Column(name, BigInteger) for name in "abc"))
    a, b, c = rows.c
    assert list(ordered(rows, {"a": a + 1, "b": a + c, "c": c + 1})) == ["b", "a", "c"]
    assert in_order({"a": {"a"}, "b": {"a"}, "c": {"b"}}) == ["c", "b", "a"]
    assert in_order({"a": {"b"}, "b": {"a"}, "c": set()}) == ["c"]
    with pytest.raises(NotImplementedError, match="old values of a, b"):
        ordered(rows, {"c": c + 1, "a": b, "b": a})
