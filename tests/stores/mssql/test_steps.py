"""Steps are handed to pyodbc as it takes them: in transactions, with values in their order. No server is needed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import create_engine

from duerow.errors import ConfigurationError, Conflict
from duerow.plan import run
from duerow.store import Entry
from duerow.stores.sql.connections.compiled import Text, Texts
from duerow.stores.sql.dialects.mssql.compiler import written
from duerow.stores.sql.dialects.mssql.connections import SqlServerConnections, TsqlSteps
from duerow.stores.sql.dialects.mssql.dialect import SqlServer
from duerow.stores.sql.plans.store import SqlStore
from tests.sql.texts import statements
from tests.stores.mssql.test_errors import said

Answers = Callable[[str], Any]


class Connection:
    """A connection of pyodbc's that writes down what it is told.

    Args:
        answers: given a text, returns the rows, a number of rows that were changed, or an error to be raised.
        autocommit: whether it commits each statement by itself.
    """

    closed = False

    def __init__(self, answers: Answers = lambda text: [], autocommit: bool = True) -> None:
        self.answers, self.autocommit = answers, autocommit
        self.told: list[tuple[str, Any]] = []
        self.description: Any = None

    def cursor(self) -> Connection:
        return self

    def execute(self, text: str, values: Any = ()) -> None:
        self.told.append((text, values))
        found = self.answers(text)
        if isinstance(found, Exception):
            raise found
        self.rows, self.description = found, None  # a count of rows comes first, as without NOCOUNT

    def nextset(self) -> bool:
        self.description = [("column",)]
        return True

    def fetchall(self) -> Any:
        return self.rows

    def commit(self) -> None:
        self.told.append(("commit()", ()))

    def rollback(self) -> None:
        self.told.append(("rollback()", ()))

    @property
    def verbs(self) -> list[str]:
        return [text.partition("; ")[2].split()[0] if text.startswith("DECLARE") else text for text, _ in self.told]


Connection.__module__ = "pyodbc"


def store() -> SqlStore:
    return SqlStore(SqlServer(), "duerow_", None, None)


def steps(connection: Connection, whose: Any = "own") -> TsqlSteps:
    return TsqlSteps(connection, SqlServer(), Texts(SqlServer(), written(), raw=True), whose)


def entry(key: str | None) -> Entry:
    return Entry("mail", key, "json", '"hello"', None, None, None)


STATEMENTS = statements(store().context.statements)


@pytest.mark.parametrize("name", STATEMENTS)
def test_each_placeholder_has_its_value(name: str) -> None:
    statement = STATEMENTS[name]
    parts = getattr(statement.element, "statements", [statement])
    for part in parts:
        text = Text(part, written())
        assert text.text.count("?") == len(text.positions or ())
        assert len(text.positions or ()) <= 2_100
        given = {place: place for place in text.positions or () if place not in text.constants}
        assert text.values(given) == tuple(text.constants.get(place, place) for place in text.positions or ())


def test_what_takes_two_statements_is_one_transaction() -> None:
    connection = Connection()
    execute = steps(connection)
    own = store()
    run(
        iter_one(
            own.context.step(
                own.context.statements.queues.put_settings(("paused",)), {"queue_in": "mail", "paused_in": True}
            )
        ),
        execute,
    )
    execute.commit()
    assert [text.split()[0] for text, _ in connection.told] == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]
    assert connection.told[1][1] == ("mail", True)


def iter_one(step: Any) -> Any:
    return (yield step)


def test_a_callers_transaction_is_neither_begun_nor_ended() -> None:
    connection = Connection(autocommit=False)
    own = store()
    step = own.context.step(
        own.context.statements.queues.put_settings(("paused",)), {"queue_in": "a", "paused_in": True}
    )
    run(iter_one(step), steps(connection, "joined"))
    assert [text.split()[0] for text, _ in connection.told] == ["UPDATE", "INSERT"]


def test_words_come_back_as_text_and_rows_behind_counts_are_found() -> None:
    rows = [(7, "ключ ".encode("utf-16-le"), None)]
    connection = Connection(lambda text: rows)
    own = store()
    step = own.context.given(own.context.statements.push.holder_ids, ("queue", "key"), [("mail", "ключ ")])
    assert run(iter_one(step), steps(connection)) == [(7, "ключ ", None)]
    assert connection.told[0][1] == ("mail", "ключ ")


def test_a_deadlock_is_a_conflict_whose_transaction_is_over_and_whose_connection_is_not() -> None:
    connection = Connection(lambda text: said("40001", 1205) if text.startswith("UPDATE") else [])
    own = store()
    execute = steps(connection)
    with pytest.raises(Conflict):
        run(
            iter_one(
                own.context.step(
                    own.context.statements.queues.put_settings(("paused",)), {"queue_in": "a", "paused_in": True}
                )
            ),
            execute,
        )
    assert execute.rolled_back()
    assert connection.told[-1][0] == "IF @@TRANCOUNT > 0 ROLLBACK"
    assert not execute.begun


def test_large_batches_are_cut_below_the_number_of_locks_that_would_lock_a_table() -> None:
    sizes: list[int] = []

    def answers(text: str) -> Any:
        return [] if "INSERT" not in text else [(number,) for number in range(1_000)]

    connection = Connection(answers)
    run(store().messages.push([entry(None)] * 2_500, "ignore"), steps(connection))
    for text, values in connection.told:
        if "INSERT" in text:
            sizes.append(next(value for value in values if str(value).startswith("[")).count("[") - 1)
    assert sizes == [1_000, 1_000, 500]


def test_a_connection_that_commits_each_statement_is_refused_as_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqlServerConnections, "_check_database", lambda self, joined, raw: None)  # there is no server
    module = SimpleNamespace(paramstyle="qmark", version="5.2.0", Cursor=Connection, Error=Exception)
    engine = create_engine("mssql+pyodbc://nobody@nowhere/none?driver=any", module=module)
    connections = SqlServerConnections(engine, store().context, own=False)
    with pytest.raises(ConfigurationError, match="is in autocommit mode"):
        connections.join(Connection(autocommit=True))
    joined: Any = connections.join(Connection(autocommit=False))
    assert isinstance(joined.execute, TsqlSteps)
