"""A row that the database refuses to change is found among the rows of a claim, and the others are handed out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from duerow.clock import micros
from duerow.errors import Conflict, DuerowError, StoreRefused, StoreUnavailable
from duerow.payload.codec import decode_failure
from duerow.plan import BEGIN
from duerow.store import Reserved
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.refused_rows import PASSED_OVER_FOR
from duerow.testing.clock import MovableClock

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def store() -> SqlStore:
    return SqlStore(PostgreSQL(), "duerow_", None, MovableClock())


def refused(kind: Callable[[str], DuerowError] = StoreRefused) -> DuerowError:
    """Return the error of a row that cannot be changed."""
    error = kind("a trigger objects")
    error.of_row = True
    return error


class Server:
    """Answers the steps of a claim.

    Args:
        store: the store that makes the steps.
        rows: the ids of the rows that are due.
        broken: the errors of rows that cannot be handed out.
        stuck: the errors of those that cannot even be buried.
    """

    def __init__(
        self,
        store: SqlStore,
        rows: list[int],
        broken: dict[int, Exception],
        stuck: dict[int, Exception] | None = None,
    ) -> None:
        self.store, self.rows, self.broken, self.stuck = store, rows, broken, stuck or {}
        self.tried: list[list[int]] = []
        self.promoted: list[tuple[str, str]] = []
        self.undone = 0
        self.checked = 0

    def __call__(self, step: Any) -> list[Any]:
        statements = self.store.context.statements
        if step is BEGIN:
            return []
        values = dict(step.values)
        self.undone += step.statement is statements.savepoints.to_savepoint
        self.checked += step.statement is statements.savepoints.check_constraints
        if "limit_in" in values:
            return [(id, NOON, micros(NOON)) for id in self.rows]
        if "given_group" in values:
            self.promoted.append((values["given_queue"], values["given_group"]))
        elif "consumer" in values:
            return self.take(ids_of(values))
        elif "given_error" in values:
            return self.set_aside(*ids_of(values), values["given_error"])
        return []

    def take(self, ids: list[int]) -> list[Any]:
        self.tried.append(ids)
        for id in ids:
            if id in self.broken:
                raise self.broken[id]
        self.rows = [id for id in self.rows if id not in ids]
        until = micros(NOON + MINUTE)
        return [(id, "1", "json", None, None, "new", NOON, NOON, None, 1, 1, until, None) for id in ids]

    def set_aside(self, id: int, error: str) -> list[Any]:
        if id in self.stuck:
            raise self.stuck[id]
        self.rows.remove(id)
        self.error = error
        return [(id, "other", f"k{id}", 4, f"g{id}")]


def ids_of(values: dict[str, Any]) -> list[int]:
    return [int(id) for id in str(values["given_id"]).strip("{}").split(",")]


def claimed(store: SqlStore, server: Server, limit: int = 5) -> Reserved:
    """Claim up to so many messages, trying them apart."""
    plan = store.messages.reserve("mail", limit, MINUTE, 20, "me", apart=True)
    step = next(plan)
    try:
        while True:
            try:
                answer = server(step)
            except DuerowError as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as stop:
        result: Reserved = stop.value
        return result


def test_one_refused_row_is_found_by_halves_and_buried_with_the_reason_and_the_others_are_handed_out(
    store: SqlStore,
) -> None:
    server = Server(store, [1, 2, 3, 4, 5], {4: refused()})
    reserved = claimed(store, server)
    assert [one.id for one in reserved.records] == [1, 2, 3, 5]
    assert server.tried[:5] == [[1, 2, 3, 4, 5], [1, 2], [3, 4, 5], [3], [4, 5]]
    [buried] = reserved.buried
    assert (buried.id, buried.key, buried.attempts, buried.error) == (4, "k4", 4, server.error)
    why = decode_failure(server.error)
    assert why is not None
    assert (why.type, why.message.partition(": ")[0]) == ("StoreRefused", "it could not be handed out")
    assert server.promoted == [("mail", "g4")]
    assert not store.context.refusals.of("mail")
    assert server.checked == 3  # for each part that was taken: 1 and 2, 3, 5


def test_several_refused_rows_are_all_reported(store: SqlStore) -> None:
    reserved = claimed(store, Server(store, [1, 2, 3], {1: refused(), 3: refused()}))
    assert [one.id for one in reserved.records] == [2]
    assert [one.id for one in reserved.buried] == [1, 3]


def test_a_row_that_cannot_even_be_buried_is_skipped_for_a_while_and_the_log_says_so(
    store: SqlStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "duerow.store")
    server = Server(store, [1, 2], {1: refused()}, {1: refused()})
    reserved = claimed(store, server)
    assert ([one.id for one in reserved.records], reserved.buried) == ([2], [])
    assert store.context.refusals.of("mail") == {1}
    [record] = caplog.records
    said = f"message 1 of mail can be neither handed out nor buried; skipping it for {PASSED_OVER_FOR:.0f} seconds: "
    assert record.getMessage().startswith(said)
    assert "a trigger objects" in record.getMessage()
    told = vars(record)
    assert (told["event"], told["queue"], told["message_id"]) == ("skipped", "mail", 1)
    assert server.undone == 3  # the claim of both, that of the first, and its burial


def test_a_row_that_another_consumer_has_just_taken_is_left_alone(store: SqlStore) -> None:
    server = Server(store, [1, 2], {1: refused(Conflict)})
    reserved = claimed(store, server)
    assert ([one.id for one in reserved.records], reserved.buried) == ([2], [])
    assert server.rows == [1]
    assert not store.context.refusals.of("mail")


@pytest.mark.parametrize("burying", [False, True])
def test_an_error_that_is_not_about_a_row_ends_the_claim(store: SqlStore, burying: bool) -> None:
    away = StoreUnavailable("it is away")
    server = Server(store, [1], {1: refused() if burying else away}, {1: away})
    with pytest.raises(StoreUnavailable):
        claimed(store, server)
