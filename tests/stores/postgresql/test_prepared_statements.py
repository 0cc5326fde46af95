"""Statements that are executed often are prepared on the connections that only duerow uses."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import sql

import duerow
from duerow import Draft, aio
from duerow.errors import Conflict, DuplicateKey, StoreRefused
from duerow.stores.sql.connections.engines import AT_HAND
from duerow.stores.sql.connections.psycopg_cursors import numbered
from duerow.stores.sql.connections.sync.connections import BlockingConnections
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face, unwrapped

OFTEN = 8
PREPARED = "SELECT statement FROM pg_prepared_statements WHERE name LIKE 'duerow_%'"


def test_parameters_are_numbered_in_the_order_of_their_names() -> None:
    assert numbered("SELECT %(a)s, 5 %% %(b)s, %(a)s") == ("SELECT $1, 5 % $2, $1", ("a", "b"))


def prepared(connection: psycopg.Connection) -> list[str]:
    return [statement for (statement,) in connection.execute(PREPARED)]


def test_a_statement_is_prepared_once_however_often_it_is_executed(place: Place) -> None:
    with duerow.connect(place.url, **place.settings) as db:
        queue = db.queue("mail")
        ids = [queue.push(number).id for number in range(4 * OFTEN)]
        with db.connections.open() as execute:
            [statement] = [one for one in prepared(execute.raw) if one.startswith("INSERT")]
        assert "$1" in statement
        assert [(message.id, message.payload) for message in queue.find()] == list(
            zip(ids, range(4 * OFTEN), strict=True)
        )


async def test_an_awaited_statement_is_prepared_once_however_often_it_is_executed(place: Place) -> None:
    async with await aio.connect(place.url, **place.settings) as db:
        queue = db.queue("mail")
        for number in range(4 * OFTEN):
            await queue.push(number)
        async with db.connections.open() as execute:
            names = await (await execute.raw.execute(PREPARED)).fetchall()
        assert len([name for (name,) in names if name.startswith("INSERT")]) == 1
        assert await queue.count() == 4 * OFTEN


def test_nothing_is_prepared_if_the_threshold_is_none(place: Place) -> None:
    with duerow.connect(place.url, prepare_threshold="none", **place.settings) as db:
        queue = db.queue("mail")
        for number in range(OFTEN):
            queue.push(number)
        with db.connections.open() as execute:
            assert execute.raw.execute("SELECT name FROM pg_prepared_statements").fetchall() == []
        assert queue.count() == OFTEN


def test_calls_go_on_after_a_rollback_has_forgotten_what_was_prepared(face: Face, place: Place) -> None:
    with face.connect(place.url, prepare_threshold=0, **place.settings) as db:
        queue = db.queue("mail")
        for round in range(3):
            for number in range(OFTEN):
                queue.push(number, key=f"{round} {number}")
            with pytest.raises(DuplicateKey):
                queue.push_many([Draft(0, key=f"{round} 0")], on_duplicate="reject")
        assert queue.count() == 3 * OFTEN


def test_a_connection_that_comes_back_from_the_pool_prepares_nothing_again(place: Place) -> None:
    with duerow.connect(place.url, **place.settings) as db:
        queue = db.queue("mail")
        for number in range(OFTEN):
            queue.push(number)
        lent = [db.connections.open() for _ in range(AT_HAND + 1)]
        first, *_ = [opened.__enter__().raw for opened in lent]
        before = prepared(first)
        for opened in reversed(lent):
            opened.__exit__(None, None, None)
        assert first not in [link.execute.raw for link in db.connections._at_hand]
        for link in list(db.connections._at_hand):
            db.connections._at_hand.remove(link)
            link.lent.invalidate()
        for number in range(OFTEN):
            queue.push(number)
        assert [link.execute.raw for link in db.connections._at_hand] == [first]
        assert prepared(first) == before


def test_calls_go_on_after_the_session_has_lost_what_was_prepared(face: Face, place: Place) -> None:
    with face.connect(place.url, prepare_threshold=0, **place.settings) as db:
        queue = db.queue("mail")
        for number in range(OFTEN):
            deallocate(session(db))
            queue.push(number)
            deallocate(session(db))
            queue.push_many([Draft(number, key=f"{number}"), Draft(number, key=f"{number} 2")], on_duplicate="replace")
        assert queue.count() == 3 * OFTEN


def session(db: Any) -> Any:
    """libpq's connection of the one session of this handle."""
    connections = unwrapped(db).connections
    if isinstance(connections, BlockingConnections):
        [link] = connections._at_hand
    else:
        [hand] = connections._hands._hands.values()
        [link] = hand.idle
    return link.execute.raw.pgconn


def names(server: Any) -> set[bytes]:
    """What duerow has prepared in a session."""
    found = server.exec_(b"SELECT name FROM pg_prepared_statements WHERE name LIKE 'duerow_%'")
    return {found.get_value(row, 0) for row in range(found.ntuples)}


def deallocate(server: Any) -> None:
    """Have the server deallocate what duerow has prepared in a session, behind its back."""
    for name in names(server):
        server.exec_(b"DEALLOCATE " + name)


def test_a_statement_that_is_missing_is_executed_by_a_cursor_or_its_transaction_is_repeated(place: Place) -> None:
    text = "SELECT %(n)s::int"
    with duerow.connect(place.url, prepare_threshold=0, **place.settings) as db, db.connections.open() as execute:
        statements = execute.prepared
        assert statements is not None
        for _ in range(2):
            assert statements.execute(text, {"n": 1}) == [(1,)]
            deallocate(execute.raw.pgconn)
            assert statements.execute(text, {"n": 1}) is None
        assert statements.execute(text, {"n": 1}) == [(1,)]
        execute.raw.execute("BEGIN")
        deallocate(execute.raw.pgconn)
        with pytest.raises(Conflict):
            statements.execute(text, {"n": 1})
        execute.raw.rollback()
        assert statements.execute(text, {"n": 1}) == [(1,)]


def test_a_rollback_leaves_prepared_what_duerow_has_prepared(face: Face, place: Place) -> None:
    with face.connect(place.url, **place.settings) as db:
        queue = db.queue("mail")
        for number in range(OFTEN):
            queue.push_many([Draft(number, key=f"{number}")], on_duplicate="reject")
        before = names(session(db))
        with pytest.raises(DuplicateKey):
            queue.push_many([Draft(0, key="0")], on_duplicate="reject")
        assert before <= names(session(db)) != set()


def test_calls_go_on_after_psycopg_has_deallocated_everything_because_something_was_dropped(place: Place) -> None:
    with duerow.connect(place.url, prepare_threshold=0, **place.settings) as db:
        queue = db.queue("mail")
        for number in range(OFTEN):
            queue.push_many([Draft(number), Draft(number, key=f"{number}")])
            with db.connections.open() as execute:
                execute.raw.execute(f"DROP TABLE IF EXISTS nothing_{number}")
            queue.push(number)
        assert queue.count() == 3 * OFTEN


def test_an_error_at_the_commit_of_a_single_statement_is_raised(face: Face, place: Place) -> None:
    with face.connect(place.url, prepare_threshold=0, **place.settings) as db:
        queue = db.queue("mail")
        for number in range(OFTEN):
            queue.push(number)
        with psycopg.connect(place.url, autocommit=True) as owner:
            owner.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(place.settings["schema"])))
            owner.execute(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN RAISE EXCEPTION 'refused at the commit' USING ERRCODE = '23514'; END $$;
                CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON duerow_message
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();
                """
            )
            with pytest.raises(StoreRefused):
                queue.push("refused")
            owner.execute("DROP TRIGGER refused ON duerow_message; DROP FUNCTION refuse()")
        queue.push("taken")
        assert [message.payload for message in queue.find()] == [*range(OFTEN), "taken"]


def test_statements_of_the_same_text_are_prepared_for_each_kind_of_value(place: Place) -> None:
    with duerow.connect(place.url, prepare_threshold=0, **place.settings) as db:
        queue = db.queue("mail")
        queue.push_many(Draft(number) for number in range(10))
        # psycopg sends these limits as int2 and int4.
        assert [len(queue.reserve_many(limit)) for limit in (1, 2, 40_000)] == [1, 2, 7]
        [link] = db.connections._at_hand
        variants = {len(known.names) for known in link.execute.prepared._known.values()}
        assert variants == {1, 2}


def test_an_error_is_raised_as_the_server_names_it(face: Face, place: Place) -> None:
    with face.connect(place.url, prepare_threshold=0, **place.settings) as db:
        queue = db.queue("mail")
        queue.push("kept")
        queue.push("kept")
        with psycopg.connect(place.url, autocommit=True) as superuser:
            superuser.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(place.settings["schema"])))
            superuser.execute("ALTER TABLE duerow_message RENAME TO elsewhere")
            with pytest.raises(duerow.errors.DuerowError, match="duerow_message"):
                queue.push("lost")
            superuser.execute("ALTER TABLE elsewhere RENAME TO duerow_message")
        queue.push("kept")
        assert [message.payload for message in queue.find()] == ["kept"] * 3


def test_an_interrupted_call_leaves_no_answer_for_the_next(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with duerow.connect(place.url, prepare_threshold=0, **place.settings) as db:
        queue = db.queue("mail")
        queue.push(0)
        [link] = db.connections._at_hand
        statements: Any = link.execute.prepared

        def interrupted(_: Any) -> Any:
            raise KeyboardInterrupt

        monkeypatch.setattr(statements, "_answer", interrupted)  # the statement is on its way by then
        with pytest.raises(KeyboardInterrupt):
            queue.push(1)
        assert link not in db.connections._at_hand
        monkeypatch.undo()
        queue.push(2)
        assert 2 in [message.payload for message in queue.find()]
