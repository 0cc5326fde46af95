"""Arrays of bound values arrive the same in binary form, on duerow's own connections, and as text on others."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.adapt import PyFormat
from sqlalchemy import create_engine

import duerow
from duerow import Draft, aio
from duerow.stores.sql.connections.sync import pipelined
from duerow.stores.sql.dialects.postgresql.array_values import ArrayValue, BigIntArray, JsonArray, TextArray, adapt
from duerow.testing.conformance.fixtures import Place

ECHO = "SELECT CAST(%s AS text[])"

ODD = ["", "a", 'say "hi"', "back\\slash", "a\x1fb", "{,}", "NULL", "é€😀", "  ", "line\nbreak", "x" * 3_000, None]

ARRAYS: list[tuple[str, ArrayValue]] = [
    ("text", TextArray(ODD)),
    ("text", TextArray(["only", "text"])),
    ("text", TextArray([None, None])),
    ("text", TextArray([])),
    ("json", JsonArray(['{"a": "é"}', "null", '"\\\\"', None, f'"{"y" * 2_000}"'])),
    ("bigint", BigIntArray([0, -1, 1, 2**63 - 1, -(2**63), 258])),
    ("bigint", BigIntArray([])),
]


@pytest.mark.parametrize(("element", "value"), ARRAYS)
def test_an_array_arrives_the_same_in_both_forms(element: str, value: ArrayValue, place: Place) -> None:
    read = sql.SQL("SELECT array_to_json(CAST(%s AS {}[]))::text, cardinality(CAST(%s AS {}[]))").format(
        *2 * [sql.SQL(element)]
    )
    with psycopg.connect(place.url) as connection:
        as_text = connection.execute(read, 2 * [str(value)]).fetchone()
        adapt(connection)
        assert connection.execute(read, 2 * [value]).fetchone() == as_text
        assert as_text is not None
        assert as_text[1] == len(value.values)


def test_text_is_sent_in_the_encoding_of_the_connection(place: Place) -> None:
    with psycopg.connect(place.url, client_encoding="latin1") as connection:
        adapt(connection)
        assert connection.execute(ECHO, [TextArray(["é", "b"])]).fetchone() == (["é", "b"],)


def test_text_is_utf_8_for_a_server_that_knows_no_encoding(place: Place) -> None:
    with psycopg.connect(place.url, client_encoding="sql_ascii") as connection:
        adapt(connection)
        assert connection.execute(ECHO, [TextArray(["é"])]).fetchone() == ([b"\xc3\xa9"],)


def test_lists_of_the_user_are_still_written_by_psycopg_and_no_connection_adds_a_class(place: Place) -> None:
    with psycopg.connect(place.url) as connection, psycopg.connect(place.url) as other:
        adapt(connection)
        adapt(other)
        made = [one.adapters.get_dumper(TextArray, PyFormat.AUTO) for one in (connection, other)]
        assert made[0] is made[1]
        connection.execute("CREATE TEMPORARY TABLE lists (texts text[], numbers bigint[])")
        with connection.cursor().copy("COPY lists FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["text[]", "int8[]"])
            copy.write_row((["a"], [1]))
        assert connection.execute("SELECT * FROM lists").fetchone() == (["a"], [1])


@pytest.mark.parametrize("wrong", ["text", 2**63, 1.5, None])
def test_only_integers_of_64_bits_are_an_array_of_integers(wrong: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        BigIntArray([1, wrong])


def test_a_batch_through_a_users_engine_or_connection_arrives_as_through_duerows_own(place: Place) -> None:
    drafts = [Draft({"n": number, "text": text}, group=text or None) for number, text in enumerate(ODD) if text]
    drafts = [one for one in drafts if len(str(one.group)) < 100]
    engine = create_engine(place.url.replace("postgresql:", "postgresql+psycopg:", 1))
    with duerow.connect(place.url, **place.settings) as db, closing(psycopg.connect(place.url)) as own:
        db.queue("own").push_many(drafts)
        db.queue("within").push_many(drafts, within=own)
        own.commit()
        with duerow.connect(engine, **place.settings) as through:
            through.queue("engine").push_many(drafts)
        found = [[(one.payload, one.group) for one in db.queue(name).find()] for name in ("own", "within", "engine")]
    engine.dispose()
    assert found[0] == found[1] == found[2] == [(one.payload, one.group) for one in drafts]


def test_a_large_push_is_sent_in_binary_form(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: set[type] = set()
    size = pipelined._size

    def noting(text: str, values: Any) -> int:
        kinds.update(map(type, values.values()))
        return size(text, values)

    monkeypatch.setattr(pipelined, "_size", noting)
    with duerow.connect(place.url, **place.settings) as db:
        db.queue("mail").push_many([Draft(number) for number in range(1_500)])
        assert db.queue("mail").count() == 1_500
    assert JsonArray in kinds


def test_a_connection_of_another_handle_does_not_change_what_a_users_connection_is_sent(place: Place) -> None:
    engine = create_engine(place.url.replace("postgresql:", "postgresql+psycopg:", 1))
    with duerow.connect(place.url, **place.settings) as db, duerow.connect(place.url, **place.settings) as other:
        queue = db.queue("mail")
        other.queue("work").push(0)

        def handle(message: duerow.Message, connection: Any) -> None:
            queue.push_many([Draft("a", key="1"), Draft("b", key="2")], within=connection)

        duerow.Worker(other.queue("work"), handle, transactional=True).run(until="idle")
        with engine.begin() as connection:
            queue.push_many([Draft("c", key="3"), Draft("d", key="4")], within=connection)
        assert sorted(message.payload for message in queue.find()) == ["a", "b", "c", "d"]
    engine.dispose()


async def test_awaited_batches_arrive_and_are_settled(place: Place) -> None:
    async with await aio.connect(place.url, **place.settings) as db:
        queue = db.queue("mail")
        await queue.push_many([Draft(text, key=str(number)) for number, text in enumerate(ODD)])
        reserved = await queue.reserve_many(len(ODD))
        assert {one.message.payload for one in reserved} == set(ODD)
        moved = [(one, duerow.Move("post", one.message.payload)) for one in reserved[:6]]
        assert await queue.settle([*moved, *((one, duerow.Commit()) for one in reserved[6:])]) == []
        assert [one.payload for one in await db.queue("post").find()] == [one.message.payload for one in reserved[:6]]
        assert await queue.count() == 0
