"""Which statements stage and publish a batch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from duerow.plan import BEGIN, Plan
from duerow.store import Entry, Published
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.plans.push import PushPlans
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.priorities import PriorityLine
from duerow.testing.clock import MovableClock

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def store() -> SqlStore:
    """A store whose statements take two rows at most."""
    store = SqlStore(PostgreSQL(), "duerow_", None, MovableClock())
    store.context.dialect.chunk = 2
    return store


def carried_out(plan: Plan[Any], *answers: list[Any]) -> tuple[list[Any], Any]:
    """Return the steps of a plan, and its result; after these answers the database returns nothing."""
    steps, left, step = list[Any](), list(answers), next(plan)
    try:
        while True:
            steps.append(step)
            step = plan.send(left.pop(0) if left else [])
    except StopIteration as stop:
        return steps, stop.value


def entry(due: datetime | None = None, key: str | None = None, group: str | None = None, priority: int = 0) -> Entry:
    return Entry("mail", key, "json", "1", None, due, None, group, priority)


def staged(store: SqlStore, *entries: Entry) -> list[dict[str, Any]]:
    """Stage entries; return the values of the steps."""
    steps, _ = carried_out(store.bulk.stage("b", "p", entries), [], [(9,)])
    return [{} if step is BEGIN else dict(step.values) for step in steps]


def staging(keyed: bool = False, grouped: bool = False, entries: int = 3, priority: int = 0) -> tuple[Any, ...]:
    """Return a row about what a part has staged."""
    lines = msgspec.json.encode([("mail", priority, grouped)]).decode()
    return (9, "p", entries, keyed, grouped, lines, NOON)


def published(store: SqlStore, row: tuple[Any, ...], *answers: list[Any], **more: Any) -> tuple[list[Any], Published]:
    """Publish a part; return the steps and the result."""
    return carried_out(store.bulk.publish("b", {"p": row[2]}, **more), [], [row], *answers)


def test_staged_entries_are_numbered_through_all_statements(store: SqlStore) -> None:
    values = staged(store, *(entry() for _ in range(5)))
    numbers = [{name: one for name, one in step.items() if "place" in name or name == "given"} for step in values[2:]]
    assert len(numbers) == 3
    assert len({str(one) for one in numbers}) == 3
    assert numbers[-1]["given_place"] == 4


def test_what_is_staged_is_summed_up_so_that_nobody_reads_it_to_publish_it(store: SqlStore) -> None:
    said = staged(store, entry(NOON + HOUR, group="g", priority=3), entry(NOON, key="k"), entry())[1]
    assert (said["entries_in"], said["keyed_in"], said["grouped_in"]) == (3, True, True)
    assert msgspec.json.decode(said["lines_in"]) == [["mail", 0, False], ["mail", 3, True]]
    assert said["due_in"] == store.context.dialect.write_moment(NOON)
    plain = staged(store, entry())[1]
    assert (plain["keyed_in"], plain["grouped_in"], plain["due_in"]) == (False, False, None)


@pytest.mark.parametrize(("keyed", "grouped"), [(False, False), (False, True), (True, False), (True, True)])
def test_one_statement_publishes_a_part_and_puts_entries_of_groups_behind_others_unless_some_have_keys(
    store: SqlStore, keyed: bool, grouped: bool
) -> None:
    steps, result = published(store, staging(keyed, grouped))
    statement = store.context.statements.stage.publish(keyed, grouped and not keyed)
    assert [dict(step.values)["staging_in"] for step in steps if step is not BEGIN and step.statement is statement] == [
        9
    ]
    assert result == Published(False, 3)


def test_entries_whose_keys_may_be_taken_from_others_are_read_and_pushed_in_chunks(store: SqlStore) -> None:
    steps, _ = published(store, staging(keyed=True), on_duplicate="replace")
    reads = [dict(step.values) for step in steps if "place_in" in getattr(step, "values", ())]
    assert [(one["place_in"], one["limit_in"]) for one in reads] == [(0, 2), (2, 2)]


def test_entries_without_keys_are_published_by_one_statement_whatever_happens_to_duplicates(store: SqlStore) -> None:
    steps, _ = published(store, staging(), on_duplicate="replace")
    assert store.context.statements.stage.publish(False, False) in [
        step.statement for step in steps if step is not BEGIN
    ]


def test_the_claims_of_this_process_look_where_a_batch_was_published(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered: list[Any] = []
    monkeypatch.setattr(store.context.floors, "lower", lowered.append)
    published(store, staging(grouped=True, priority=3))
    assert lowered == [NOON]
    assert PriorityLine(3, True) in store.context.priorities.of("mail")


def test_a_delay_that_was_staged_is_kept(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed: list[Entry] = []

    def add(self: PushPlans, entries: list[Entry], on_duplicate: str) -> Plan[None]:
        pushed.extend(entries)
        yield from ()

    monkeypatch.setattr(PushPlans, "add", add)
    row = ("mail", "k", "json", "1", None, None, 0, None, 5_000_000)
    steps, _ = published(store, staging(keyed=True, entries=1), [], [row], on_duplicate="replace")
    assert [(one.key, one.delay) for one in pushed] == [("k", timedelta(seconds=5))], steps
