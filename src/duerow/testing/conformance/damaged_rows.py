"""A message whose row was damaged is buried with the reason, and no other message is affected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from duerow import Database, Message, Pushed, Queue
from duerow.errors import CodecError
from duerow.store import Entry
from duerow.testing.conformance.fixtures import Harm
from duerow.testing.conformance.undecodable import NESTED, push_unreadable
from duerow.testing.contents import empty
from duerow.testing.worker_harness import Workshop

FIELDS = ("id", "due_at", "-created_at", "key", "status", "attempts", "priority", "group", "leased_until")


def each_harmed(db: Database, queue: Queue, harms: dict[str, Harm]) -> Iterator[tuple[str, int, Pushed]]:
    """Yield how a message was damaged, its id, and the id of a message that was pushed after it."""
    odd = push_unreadable(db, Entry("mail", "odd", "json", '{"n": 1}', "[1]", None, None))
    yield "headers that are a list", odd, queue.push("good")
    for name, harm in harms.items():
        empty(db)
        odd = queue.push({"n": 1}, key="odd").id
        good = queue.push("good")
        harm(odd)
        yield name, odd, good


def all_harmed(db: Database, queue: Queue, harms: dict[str, Harm]) -> dict[int, int]:
    """Damage a message in each way; return their ids, each with that of a good message that was pushed after it."""
    odd = push_unreadable(db, Entry("mail", "odd", "json", '{"n": 1}', "[1]", None, None))
    harmed = {odd: queue.push("good").id}
    for name, harm in harms.items():
        odd = queue.push({"n": 1}, key=name).id
        harmed[odd] = queue.push("good").id
        harm(odd)
    return harmed


def test_a_damaged_message_is_buried_with_the_reason_and_the_others_are_handed_out(
    db: Database, queue: Queue, harms: dict[str, Harm]
) -> None:
    for name, odd, good in each_harmed(db, queue, harms):
        taken = queue.reserve_many(5) + queue.reserve_many(5)  # the second one looks at priorities and groups again
        assert [one.message.id for one in taken] == [good.id], name
        buried = queue.get(odd)
        assert buried is not None, name
        assert (buried.status, buried.due_at) == ("dead", None), name
        assert buried.last_error is not None, name
        assert buried.last_error.type == "CodecError", name
        assert buried.last_error.message, name


def test_a_damaged_message_of_a_group_is_buried_and_other_groups_go_on(
    db: Database, queue: Queue, harms: dict[str, Harm]
) -> None:
    for name, harm in harms.items():
        empty(db)
        odd = queue.push({"n": 1}, group="odd").id
        good = [queue.push(group, group=group).id for group in ("left", "right", None)]
        harm(odd)
        taken = queue.reserve_many(5) + queue.reserve_many(5)
        assert sorted(one.message.id for one in taken) == good, name
        assert [message.id for message in queue.find(status="dead")] == [odd], name


def test_a_pop_passes_over_a_damaged_message_and_loses_nothing(
    db: Database, queue: Queue, harms: dict[str, Harm]
) -> None:
    for name, odd, good in each_harmed(db, queue, harms):
        assert [message.id for message in queue.pop_many(5) + queue.pop_many(5)] == [good.id], name
        assert [message.id for message in queue.find(status="dead")] == [odd], name


@pytest.mark.parametrize("claimed", [False, True], ids=["before-a-claim", "after-a-claim"])
def test_an_operator_finds_a_damaged_message_beside_the_others_and_removes_it(
    db: Database, queue: Queue, harms: dict[str, Harm], harms_out_of_line: dict[str, Harm], claimed: bool
) -> None:
    for name, odd, good in each_harmed(db, queue, harms | harms_out_of_line):
        if claimed:
            queue.release_many(queue.reserve_many(5))
        assert {message.id for message in queue.find()} == {odd, good.id}, name
        assert [message.id for message in queue.find(f"id = {odd} and payload.m != 7")] == [odd], name
        assert queue.count() == 2, name
        assert queue.count("payload.m = 7", exact=True) == 0, name
        queue.peek(5)
        queue.stats()
        assert queue.why(odd), name
        assert queue.why(good.id), name
        assert queue.edit(where="id > 0", headers={"seen": True}), name
        assert queue.remove(where=f"id = {odd}", even_if_leased=True), name
        assert [message.id for message in queue.find()] == [good.id], name


def test_damaged_messages_are_found_in_any_order(
    db: Database, queue: Queue, harms: dict[str, Harm], harms_out_of_line: dict[str, Harm]
) -> None:
    harmed = all_harmed(db, queue, harms | harms_out_of_line)
    for order in FIELDS:
        found = [message.id for message in queue.find(order=order, limit=1_000)]
        assert sorted(found) == sorted([*harmed, *harmed.values()]), order
        assert queue.count(by=order.removeprefix("-")), order


def test_a_message_whose_token_cannot_be_raised_is_buried_and_can_be_removed(
    db: Database, queue: Queue, largest_token: Harm | None
) -> None:
    if largest_token is None:
        return  # tokens have no bound, or rows cannot be written
    odd, good = queue.push("odd").id, queue.push("good").id
    largest_token(odd)
    assert [one.message.id for one in queue.reserve_many(5) + queue.reserve_many(5)] == [good]
    buried = queue.get(odd)
    assert buried is not None
    assert buried.status == "dead"
    assert buried.last_error is not None
    assert queue.remove(odd).count == 1


def test_what_no_claim_comes_upon_holds_up_nobody(
    db: Database, queue: Queue, harms_out_of_line: dict[str, Harm]
) -> None:
    for name, _, good in each_harmed(db, queue, harms_out_of_line):
        assert [one.message.id for one in queue.reserve_many(5)] == [good.id], name
        assert queue.reserve() is None, name


def test_an_edit_of_a_damaged_message_that_is_named_says_so(db: Database, queue: Queue) -> None:
    odd = push_unreadable(db, Entry("mail", "odd", "json", "1", f'{{"a":{NESTED}}}', None, None))
    with pytest.raises(CodecError, match="nested"):
        queue.edit(odd, headers={"seen": True})


def test_a_worker_goes_on_past_damaged_messages_and_counts_no_attempt_of_others(
    shop: Workshop, harms: dict[str, Harm]
) -> None:
    odd = [
        push_unreadable(shop.db, Entry("mail", "deep", "json", NESTED, None, None, None)),
        push_unreadable(shop.db, Entry("mail", "headers", "json", "1", f'{{"a":{NESTED}}}', None, None)),
    ]
    for name, harm in harms.items():
        odd.append(shop.queue.push({"n": 1}, key=name).id)
        harm(odd[-1])
    good = [shop.queue.push(number).id for number in range(3)]
    seen: list[tuple[int, int]] = []

    async def handle(message: Message) -> None:
        seen.append((message.id, message.attempts))

    shop.work(handle, batch=1)
    assert sorted(seen) == [(id, 1) for id in good]
    assert {message.id for message in shop.queue.find(status="dead")} == set(odd)


def test_reading_page_by_page_comes_to_an_end_past_damaged_messages(
    db: Database, queue: Queue, harms: dict[str, Harm], harms_out_of_line: dict[str, Harm]
) -> None:
    harmed = all_harmed(db, queue, harms | harms_out_of_line)
    later = queue.push("later", delay=timedelta(days=1))
    whole = {*harmed, *harmed.values(), later.id}
    for order in ("id", "due_at", "-due_at"):
        seen: list[int] = []
        page = queue.find(order=order, limit=1)
        while page and len(seen) <= len(whole):
            seen.append(page[0].id)
            page = queue.find(order=order, limit=1, after=page[0])
        assert len(seen) == len(set(seen)), order
        assert whole - harmed.keys() <= set(seen), order
