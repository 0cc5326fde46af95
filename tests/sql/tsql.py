"""Reads T-SQL where no server does: one library knows its grammar, another tells values and conditions apart."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError

UNKNOWN = "ALTER TABLE duerow_message SET (LOCK_ESCALATION = DISABLE);"
"""What Microsoft's documentation has of T-SQL, and the grammar has not."""

CONDITIONS = (exp.Predicate, exp.Connector, exp.Not, exp.Exists, exp.Escape)

NOT_TSQL = (exp.Boolean, exp.Offset, exp.Fetch, exp.Lock, exp.OnConflict)


def complaints(text: str, grammar: bool = True) -> list[str]:
    """Return what is wrong with a text in T-SQL; placeholders are names after a colon. The grammar takes its time."""
    text = re.sub(r"(?<![\w:]):(\w+)", r"@\1", text.replace("\\:", ":").replace(UNKNOWN, ""))
    return [*(_of_grammar(text) if grammar else ()), *_of_values(text)]


@cache
def _grammar() -> Any:
    from sqlfluff.core import FluffConfig, Linter  # takes long, and every process of the tests imports this file

    return Linter(config=FluffConfig(overrides={"dialect": "tsql"}))


def _of_grammar(text: str) -> Iterator[str]:
    for violation in _grammar().parse_string(text).violations:
        yield violation.desc()[:200]


def _of_values(text: str) -> Iterator[str]:
    """Complain of a condition where T-SQL wants a value, and the other way round: it has no values that are true."""
    if re.search(r"\bRETURNING\b", text):  # both libraries take it for the beginning of something else
        yield "not T-SQL: RETURNING"
    try:
        statements = sqlglot.parse(_understood(text), read="tsql", error_level=ErrorLevel.RAISE)
    except ParseError as error:
        yield str(error)[:200]
        return
    for statement in statements:
        assert statement is not None
        for node in statement.walk():
            yield from _of_node(node)


def _understood(text: str) -> str:
    """Return a text without the phrases that this parser does not know, which are no values and conditions."""
    text = re.sub(r"\bDELETE\s+FROM (\w+)(\s+OUTPUT\b)", r"DELETE \1\2", text)
    text = re.sub(r"(?<=\n)(OUTPUT deleted\.\w+\n)(?=WHERE)", r"\1FROM taken\n", text)
    return text.replace(" NONCLUSTERED", "").replace("SAVE TRANSACTION", "BEGIN TRANSACTION")


def _of_node(node: exp.Expression) -> Iterator[str]:
    if isinstance(node, NOT_TSQL):
        yield f"not T-SQL: {node.sql('tsql')}"
    if isinstance(node, exp.Tuple) and isinstance(node.parent, exp.Predicate) and not isinstance(node.parent, exp.In):
        yield f"rows are not compared: {node.parent.sql('tsql')}"
    values: list[exp.Expression] = []
    conditions: list[exp.Expression | None] = []
    match node:
        case exp.Select() | exp.Returning() | exp.Coalesce():
            values = list(node.expressions)
        case exp.If():
            conditions, values = [node.this], [each for each in (node.args.get("true"),) if each is not None]
        case exp.Case():
            values = [each for each in (node.args.get("default"),) if each is not None]
        case exp.Where() | exp.Not():
            conditions = [node.this]
        case exp.Join():
            conditions = [node.args.get("on")]
        case exp.Connector():
            conditions = [node.left, node.right]
        case exp.Update():
            values = [each.expression for each in node.expressions]
    for value in values:
        if isinstance(_bare(value), CONDITIONS):
            yield f"a condition as a value: {value.sql('tsql')}"
    for condition in conditions:
        if condition is not None and not isinstance(_bare(condition), CONDITIONS):
            yield f"a value as a condition: {condition.sql('tsql')}"


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren | exp.Alias):
        node = node.this
    return node
