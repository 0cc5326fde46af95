"""A queue arrives in another database as it was, whatever the two databases are; what cannot go is counted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow import Database, Queue, fixed, limited
from duerow.encryption import Encryption
from duerow.errors import ConfigurationError, InvalidMessage, NotSupported, QueueDraining
from duerow.queue.copy import Copied
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import unwrapped
from tests.copies.conftest import Make, Pair
from tests.copies.contents import told, turns

WEEK = timedelta(days=7)


def mail(db: Database, **more: Any) -> Queue:
    """The queue, as it is declared."""
    terms: dict[str, Any] = {"retry": limited(2, fixed(minutes(5))), "history": WEEK, "dead_letter": "mail-dead"}
    return db.queue("mail", **{**terms, "indexed": {"n": int}, **more})


def first(queue: Queue, payload: Any, **more: Any) -> Any:
    """Push a message before all others, and reserve it."""
    queue.push(payload, priority=-9, **more)
    return queue.reserve()


def fill(pair: Pair, db: Database, sealed: bool = True) -> None:
    """Bring messages into every state: 9 in the queue, one of them dead, a dead letter, and 4 turns."""
    queue = mail(db)
    queue.declare()
    queue.push({"n": 1.0, "ü": "\\"}, key="k-1", headers={"trace": "t", "x": 1.0}, priority=3)
    queue.push(b"\x00\xff", delay=hours(1))
    queue.push("stopped", key="stopped")
    queue.reschedule(key="stopped", due=None)
    for n in range(2):
        queue.push({"n": n}, group="a")
    if sealed:
        pair.open("source", encryption=Encryption([Encryption.new_key()])).queue("mail").push({"n": 7}, key="sealed")
    first(queue, "failed", key="f").rollback(error="no answer")
    first(queue, "done").commit()
    first(mail(db, dead_letter=None), "dead", key="d").bury("no use")
    queue.push("alive", key="d")
    first(queue, "letter", key="l").bury("no use either")
    first(db.queue("other", dead_letter="mail-dead"), "another's").bury("not asked for")


@pytest.mark.parametrize("move", [False, True], ids=["copied", "moved"])
def test_a_queue_arrives_as_it_was_with_its_letters_and_history_between_any_two_databases(
    pair: Pair, clock: MovableClock, move: bool
):
    source, target = pair.open("source"), pair.open("target")
    fill(pair, source)
    if move:
        source.queue("mail").pause()
    queues = ("mail", "mail-dead")
    before = {name: told(source, name) for name in queues}
    ids = {name: told(source, name, ()) for name in (*queues, "other")}
    history = turns(source)
    report = pair.copy(source, target, move=move)

    assert report == Copied(messages=9, dead=1, letters=1, turns=4, moved=move)
    assert told(target) == before["mail"]
    assert told(target, "mail-dead") == before["mail-dead"][:1]
    assert turns(target) == history
    assert target.queue("mail").definition() == source.queue("mail").definition()
    assert target.queue("mail").stats().paused is not move
    assert turns(source) == history
    if move:
        assert told(source) == []
        assert told(source, "mail-dead", ()) == ids["mail-dead"][1:]
        assert pair.copy(source, target, move=True) == Copied(turns_before=4, moved=True)
    else:
        assert {name: told(source, name, ()) for name in ids} == ids
        assert pair.copy(source, target) == Copied(before=10, turns_before=4)
    assert [len(told(target, name)) for name in queues] == [9, 1]

    # Life goes on there: in the order of the group, and a failed one where its history stands.
    there = mail(target)
    there.resume()
    clock.advance(minutes(6))
    handed = there.reserve_many(9)
    assert [one.message.payload["n"] for one in handed if isinstance(one.message.payload, dict)] == [0, 1.0]
    [failed_before] = [one for one in handed if one.message.payload == "failed"]
    assert failed_before.attempt == 2
    failed_before.commit()
    failed = [turn for turn in turns(target, without=()) if turn["key"] == "f"]
    assert [turn["outcome"] for turn in failed] == ["failed", "done"]
    assert {turn["id"] for turn in failed} == {failed_before.message.id}


def test_what_cannot_leave_stays_and_is_counted_and_goes_with_a_later_call(
    make_pair: Make, clock: MovableClock, at_once: None
):
    pair = make_pair("sqlite", "memory", "sync")
    source, target = pair.open("source"), pair.open("target")
    queue = source.queue("mail")
    ids = {
        name: queue.push(name, key=name, group=group).id
        for name, group in [
            ("leased", None),
            ("head", "a"),
            ("behind", "a"),
            ("taken", "b"),
            ("behind it", "b"),
            ("free", "c"),
            ("lapsed", None),
        ]
    }
    queue.reschedule(key="taken", due=None)
    held = {one.message.payload: one for one in queue.reserve_many(9)}
    for name in ("lapsed", "free"):
        held[name].extend(minutes(0.1))
    clock.advance(minutes(0.5))
    queue.pause()
    target.queue("mail").push("theirs", key="taken", delay=hours(1))
    asked: dict[str, Any] = {"move": True, "beside": True}

    report = pair.copy(source, target, **asked)
    assert report == Copied(messages=2, leased=2, taken=(ids["taken"],), behind=2, moved=True)
    assert (report.left, bool(report)) == (5, False)
    assert [one["payload"] for one in told(target)] == ['"theirs"', '"free"', '"lapsed"']
    assert [one.attempts for one in target.queue("mail").find("attempts = 1")] == [1, 1]
    left = queue.find()
    assert [one.payload for one in left] == ["leased", "head", "behind", "taken", "behind it"]
    assert not any(one.headers for one in left)
    assert queue.get(ids["taken"]).due_at is None
    held["leased"].commit()  # its holder notices nothing
    held["head"].release()
    target.queue("mail").remove(key="taken")
    assert pair.copy(source, target, **asked) == Copied(messages=4, moved=True)
    assert [one["key"] for one in told(target)] == ["free", "lapsed", "head", "behind", "taken", "behind it"]
    assert pair.copy(source, target, **asked) == Copied(moved=True)


def test_a_copy_has_what_is_leased_too_due_when_the_lease_ends_and_another_name_copies_once_more(
    make_pair: Make, clock: MovableClock
):
    pair = make_pair("memory", "sqlite", "async")
    source, target = pair.open("source"), pair.open("target")
    source.queue("mail").push("leased", key="k")
    source.queue("mail").reserve()
    assert pair.copy(source, target) == Copied(messages=1, leased=1)
    there = target.queue("mail")
    [copied] = there.find()
    assert (copied.due_at, copied.leased_by, copied.attempts) == (clock.now() + minutes(1), None, 1)
    there.purge("mail")
    assert pair.copy(source, target) == Copied(before=1)
    assert pair.copy(source, target, name="once more") == Copied(messages=1, leased=1)
    there.purge("mail")
    there.push("theirs", key="k")
    assert pair.copy(source, target, name="third", beside=True) == Copied(taken=(1,))
    there.purge("mail")
    assert pair.copy(source, target, name="third", beside=True) == Copied(messages=1, leased=1)


def test_a_queue_can_have_another_name_there_and_its_letters_find_back_to_it(make_pair: Make, at_once: None):
    pair = make_pair("sqlite", "sqlite", "sync")
    source, target = pair.open("source"), pair.open("target")
    fill(pair, source, sealed=False)
    source.queue("mail").pause()
    report = pair.copy(source, target, to="post", move=True, history=timedelta(0))
    assert report == Copied(messages=8, dead=1, letters=1, moved=True)
    assert turns(target, "post") == []
    brought = target.as_defined("post").redrive()
    assert (brought.count, brought.skipped) == (1, 1)  # the key of the one that is dead in its place is taken
    assert [one.key for one in target.queue("post").find("payload = 'letter'")] == ["l"]


@pytest.mark.parametrize(
    ("terms", "error", "says"),
    [
        ({"queue": "mial"}, ConfigurationError, "no queue 'mial'"),
        ({"queue": "no name"}, InvalidMessage, "cannot be called"),
        ({"queue": "pair/sets"}, ConfigurationError, "sets of a join"),
        ({"to": "?"}, InvalidMessage, "cannot be called"),
        ({"history": "a week"}, InvalidMessage, "history must be a timedelta"),
        ({"name": ""}, ConfigurationError, "name must be text"),
        ({"to": "busy"}, ConfigurationError, "has messages from elsewhere"),
        ({"to": "closed"}, QueueDraining, "closed"),
        ({"to": "other"}, ConfigurationError, "lease: target"),
        ({"move": True}, ConfigurationError, "pause the queue in the source"),
        ({"queue": "undeclared"}, ConfigurationError, "does not say how long to keep it"),
        ({"queue": "interrupted"}, ConfigurationError, "a move was interrupted"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_before_anything_changes(
    make_pair: Make, terms: dict[str, Any], error: type[Exception], says: str
):
    pair = make_pair("memory", "sqlite", "async")
    source, target = pair.open("source"), pair.open("target")
    fill(pair, source, sealed=False)
    first(source.queue("undeclared", history=WEEK), 1).commit()
    source.queue("interrupted").push(1, headers={"copying": "move/1"})
    target.queue("busy").push("theirs")
    target.queue("closed").drain(wait=False)
    target.queue("other", lease=minutes(3)).declare()
    queues = ("mail", "undeclared", "interrupted", "busy", "other", "closed")
    before = [told(db, name, ()) for db in (source, target) for name in queues], target.definitions()
    with pytest.raises(error, match=says):
        pair.copy(source, target, **{"queue": "mail", **terms})
    after = [told(db, name, ()) for db in (source, target) for name in queues], target.definitions()
    assert after == before


def test_databases_that_cannot_be_the_two_of_a_copy_are_refused(make_pair: Make):
    pair = make_pair("sqlite", "sqlite", "sync")
    source, again = pair.open("source"), pair.open("source")
    source.queue("mail").push(1)
    with pytest.raises(ConfigurationError, match="the same tables"):
        pair.copy(source, again, to="elsewhere")
    with pytest.raises(ConfigurationError, match="two open databases"):
        duerow.copy(source, "sqlite:///other.db", "mail")  # type: ignore[arg-type]
    with duerow.connect("memory://?transactions=off") as weak, pytest.raises(NotSupported, match="SQLite"):
        duerow.copy(source, weak, "mail")
    assert [len(told(source)), source.queue("mail").get(1).headers] == [1, {}]


@pytest.mark.parametrize("move", [False, True], ids=["copied", "moved"])
def test_the_same_tables_reached_in_two_ways_are_refused(make_pair: Make, move: bool):
    pair = make_pair("postgresql", "postgresql", "sync")
    there = pair.places["source"]
    pair.places["target"] = Place(there.url.replace("127.0.0.1", "localhost"), there.settings)
    source, target = pair.open("source"), pair.open("target")
    assert unwrapped(source).connections.place != unwrapped(target).connections.place
    source.queue("mail").push(1)
    with pytest.raises(ConfigurationError, match="same tables, reached in two ways"):
        pair.copy(source, target, "mail", move=move, beside=True)
    assert len(source.queue("mail").find()) == 1


def test_encrypted_messages_are_encrypted_anew_for_a_queue_of_another_name_or_refused_without_the_key(make_pair: Make):
    pair = make_pair("sqlite", "memory", "sync")
    keys = Encryption([Encryption.new_key()], readable={"mail": ["n"]})
    bare, source, target = pair.open("source"), pair.open("source", encryption=keys), pair.open("target")
    mail(bare).declare()
    mail(source).push({"n": 7}, key="k")
    mail(source).push({"n": 8}, key="dead")
    first(mail(source), {"n": 7}, key="letter").bury("no use")
    with pytest.raises(ConfigurationError, match="is encrypted for that queue"):
        pair.copy(bare, target, queue="mail", to="other", history=WEEK)
    assert target.queues() == []
    assert pair.copy(source, target, queue="mail", to="other", history=WEEK)
    there = pair.open("target", encryption=keys)
    assert [one.payload for one in there.queue("other").find(status="new")] == [{"n": 7}, {"n": 8}]
    assert [one.payload for one in there.queue("mail-dead").find()] == [{"n": 7}]
