"""A message that has failed for good moves unchanged to the dead-letter queue, and can be redriven."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from duerow import Bury, Database, Draft, Queue, Retry, fixed, limited
from duerow.errors import ConfigurationError, InvalidCondition, InvalidMessage, LeaseLost, NotSupported
from duerow.message import OnDuplicate
from duerow.queue.redrive import Redriven
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.contents import payloads


def give_up(queue: Queue, reason: str = "no such address") -> Any:
    """Reserve the next message and bury it."""
    reservation = queue.reserve()
    assert reservation is not None
    queue.bury(reservation, reason)
    return reservation


def fail(queue: Queue, error: Exception) -> None:
    """Handle the next message, with a failure."""
    with queue.reserving():
        raise error


def test_a_buried_message_moves_to_the_dead_letter_queue_and_says_why(
    mail: Queue, letters: Queue, clock: MovableClock
) -> None:
    mail.push({"to": "Ana"}, key="m-1", headers={"trace": "t"}, priority=3, group="g")
    given_up = give_up(mail)
    assert mail.count() == 0
    [letter] = letters.find()
    assert (letter.id, letter.payload, letter.status, letter.attempts) == (given_up.message.id, {"to": "Ana"}, "new", 0)
    assert (letter.key, letter.priority, letter.group) == (None, 3, "g")
    assert letter.headers == {
        "trace": "t",
        "dead-letter-from": "mail",
        "dead-letter-at": clock.now().isoformat(),
        "dead-letter-attempts": 1,
        "dead-letter-reason": "no such address",
        "dead-letter-key": "m-1",
    }


def test_a_message_whose_last_attempt_failed_moves_there(mail: Queue, letters: Queue) -> None:
    mail.push("hello")
    for attempt in (1, 2):
        reservation = mail.reserve()
        assert reservation is not None
        assert letters.count() == 0, attempt
        mail.rollback(reservation, error=ValueError("no line"))
    [letter] = letters.find()
    assert letter.headers["dead-letter-reason"] == "ValueError: no line"
    assert letter.headers["dead-letter-attempts"] == 2


def test_a_message_whose_consumers_just_die_moves_there(mail: Queue, letters: Queue, clock: MovableClock) -> None:
    mail.push("kills", key="k", headers={"trace": "t"})
    mail.push("later", delay=minutes(2))
    for _ in range(2):
        assert [one.message.payload for one in mail.reserve_many(5)] == ["kills"]
        clock.advance(minutes(1))
    assert [one.message.payload for one in mail.reserve_many(5)] == ["later"]
    [letter] = letters.find()
    assert letter.payload == "kills"
    assert str(letter.headers["dead-letter-reason"]).startswith("was in hand when its worker died: lease of ")
    assert letter.headers["dead-letter-attempts"] == 2
    assert (letter.headers["dead-letter-key"], letter.headers["trace"]) == ("k", "t")
    assert datetime.fromisoformat(str(letter.headers["dead-letter-at"])) == clock.now()


def test_many_are_given_up_in_one_settlement(mail: Queue, letters: Queue) -> None:
    mail.push_many([Draft(place) for place in range(5)])
    assert mail.bury_many(mail.reserve_many(5), "enough") == []
    assert (mail.count(), payloads(letters)) == (0, [0, 1, 2, 3, 4])


def test_the_key_of_a_dead_letter_is_free_again(mail: Queue, letters: Queue) -> None:
    for _ in range(2):
        assert mail.push("hello", key="m-1").outcome == "created"
        give_up(mail)
    assert [letter.headers["dead-letter-key"] for letter in letters.find()] == ["m-1", "m-1"]


def test_a_dead_letter_of_a_group_lets_the_next_have_its_turn(mail: Queue) -> None:
    mail.push_many([Draft("first", group="g"), Draft("second", group="g")])
    give_up(mail)
    reservation = mail.reserve()
    assert reservation is not None
    assert reservation.message.payload == "second"


def test_a_handler_that_gives_up_inside_reserving_sends_it_there(mail: Queue, letters: Queue) -> None:
    mail.push("hello")
    fail(mail, Bury("no use"))
    assert payloads(letters) == ["hello"]
    mail.push("again")
    fail(mail, Retry(after=hours(1)))
    assert letters.count() == 1


def test_without_a_dead_letter_queue_it_stays_in_place(queue: Queue) -> None:
    queue.push("hello")
    give_up(queue)
    assert queue.count("dead") == 1


def test_redrive_brings_dead_letters_back_as_they_were_pushed(mail: Queue, letters: Queue) -> None:
    mail.push_many([Draft(place, key=f"k{place}", headers={"trace": "t"}, priority=2) for place in range(3)])
    mail.bury_many(mail.reserve_many(3), "enough")
    assert mail.redrive(dry_run=True).count == 3
    assert mail.redrive().count == 3
    assert letters.count() == 0
    for place, message in enumerate(mail.find()):
        assert (message.payload, message.key, message.headers["trace"]) == (place, f"k{place}", "t")
        assert (message.attempts, message.status, message.priority, message.last_error) == (0, "new", 2, None)
        assert not [name for name in message.headers if name.startswith("dead-letter")]


def test_redrive_brings_back_as_many_as_are_asked_for(mail: Queue, letters: Queue) -> None:
    mail.push_many([Draft(place) for place in range(5)])
    mail.bury_many(mail.reserve_many(5), "enough")
    assert mail.redrive(2, dry_run=True).count == 2
    assert mail.redrive(2).count == 2
    assert (mail.count(), letters.count()) == (2, 3)


def test_redrive_brings_back_those_of_which_a_condition_holds_wherever_they_are(
    db: Database, mail: Queue, letters: Queue
) -> None:
    stays = db.queue("mail")
    for queue in (mail, stays):
        queue.push_many([Draft({"n": place}, key=f"{place} {queue.dead_letter}") for place in range(3)])
        for reservation in queue.reserve_many(3):
            queue.bury(reservation, f"reason {reservation.message.payload['n']}")
    assert mail.redrive(where="payload.n > 0", dry_run=True) == Redriven(4)
    assert mail.redrive(3, where="payload.n > 0") == Redriven(3)
    assert letters.redrive(where="headers.\"dead-letter-reason\" = 'reason 7'") == Redriven()
    assert letters.redrive(where="headers.\"dead-letter-reason\" like '% 0'") == Redriven(1)
    assert [message.payload["n"] for message in mail.find("status = 'dead'", order="id")] == [0, 2]
    for call in (mail, letters):
        with pytest.raises(InvalidCondition):
            call.redrive(where="colour = 1")


def test_redrive_on_a_dead_letter_queue_sends_each_back_to_where_it_came_from(db: Database, letters: Queue) -> None:
    for name in ("mail", "billing"):
        queue = db.queue(name, dead_letter="mail-dead")
        queue.push(f"from {name}")
        give_up(queue)
    letters.push("no dead letter")
    assert letters.redrive().count == 2
    assert [payloads(db.queue(name)) for name in ("mail", "billing", "mail-dead")] == [
        ["from mail"],
        ["from billing"],
        ["no dead letter"],
    ]
    [left] = letters.find()
    assert (left.attempts, left.leased_by) == (0, None)


def test_redrive_on_a_queue_leaves_the_dead_letters_of_others(db: Database, mail: Queue, letters: Queue) -> None:
    other = db.queue("billing", dead_letter="mail-dead")
    for queue in (mail, other):
        queue.push(queue.name)
        give_up(queue)
    assert mail.redrive().count == 1
    assert payloads(letters) == ["billing"]


@pytest.mark.parametrize("stays", [True, False])
def test_redrive_does_as_it_is_told_where_a_key_is_taken_also_with_those_that_stayed(
    db: Database, stays: bool, clock: MovableClock
) -> None:
    queue = db.queue("mail", dead_letter=None if stays else "mail-dead", history=hours(1))
    modes: list[tuple[OnDuplicate, str, bool]] = [
        ("ignore", "new", True),
        ("earliest", "new", False),
        ("replace", "old", False),
    ]
    for mode, content, waits in modes:
        for payload in ("older", "old"):
            queue.push(payload, key="k", headers={"trace": payload}, group="g", priority=3)
            given_up = give_up(queue)
        live = queue.push("new", key="k", delay=hours(1), group="g").id
        assert queue.redrive(dry_run=True) == queue.redrive() == Redriven(0, 2)
        if mode != "ignore" and not db.store.capabilities.transactions:
            with pytest.raises(NotSupported):
                queue.redrive(on_duplicate=mode)
            assert queue.count("dead") + db.queue("mail-dead").count() == 2
        else:
            assert queue.redrive(dry_run=True, on_duplicate=mode) == Redriven(2, 0)
            assert queue.redrive(on_duplicate=mode) == Redriven(2, 0)
            [message] = queue.find()
            assert (message.id, message.payload, queue.peek() == []) == (live, content, waits)
            assert (message.status, message.headers.get("trace")) == ("new", "old" if content == "old" else None)
            assert db.queue("mail-dead").count() == 0
        if stays and not queue.count("dead"):
            last = queue.history(id=given_up.message.id)[0]
            assert (last.outcome, last.error and last.error.type) == ("done", "DuplicateKey")
        queue.purge("mail")
        db.queue("mail-dead").purge("mail-dead")


def test_redrive_brings_all_its_own_back_whatever_else_is_in_their_queue_and_a_dry_run_tells_how_many(
    db: Database, mail: Queue, clock: MovableClock
) -> None:
    letters, other = db.queue("mail-dead", history=hours(1)), db.queue("billing", dead_letter="mail-dead")
    other.push("at work", group="g")
    give_up(other)
    mail.push_many([Draft(payload, group="g", key=payload) for payload in ("taken", "back", "put off")])
    for _ in range(3):
        give_up(mail)
    mail.push("new", key="taken", delay=hours(1))
    letters.reschedule(where="payload = 'put off'", delay=minutes(2))
    at_work = letters.reserve(lease=minutes(1))
    assert at_work is not None
    letters.pause()
    assert mail.redrive(dry_run=True) == mail.redrive() == Redriven(1, 1)
    assert (payloads(mail), payloads(letters)) == (["back", "new"], ["at work", "taken", "put off"])
    clock.advance(minutes(1))  # no consumer holds it now
    assert letters.redrive(1, dry_run=True) == letters.redrive(1) == Redriven(1, 0)
    with pytest.raises(LeaseLost):
        letters.commit(at_work)
    [turn] = [turn for turn in letters.history() if turn.outcome == "moved"]
    assert (turn.moved_to, turn.payload, turn.finished_at) == ("billing", "at work", clock.now())
    clock.advance(minutes(1))
    assert letters.redrive() == Redriven(1, 1)
    [turn] = letters.history("payload = 'put off'")
    assert (turn.moved_to, turn.worker, turn.started_at) == ("mail", None, clock.now())


def test_a_letter_with_headers_that_no_dead_letter_has_stays_where_it_is(mail: Queue, letters: Queue) -> None:
    letters.push("by hand", headers={"dead-letter-from": "no such name"})
    letters.push("by hand", headers={"dead-letter-from": "mail", "dead-letter-key": ""})
    letters.push("moved here by hand", headers={"dead-letter-from": "mail-dead"})
    assert letters.redrive(dry_run=True) == letters.redrive() == Redriven(0, 2)
    assert (letters.count(), mail.count()) == (3, 0)


def test_a_dead_letter_that_is_given_up_itself_finds_its_way_back_to_where_it_came_from_first(
    db: Database, mail: Queue, clock: MovableClock
) -> None:
    letters = db.queue("mail-dead", dead_letter="hopeless", lease=minutes(1), retry=limited(1, fixed(hours(1))))
    mail.push("hello", key="k", headers={"trace": "t"})
    give_up(mail)
    [first] = letters.find()
    assert letters.reserve() is not None  # as a consumer of dead letters that then dies
    clock.advance(minutes(1))
    assert letters.reserve() is None
    [last] = db.queue("hopeless").find()
    assert (last.headers["dead-letter-from"], "dead-letter-key" in last.headers) == ("mail-dead", False)
    assert letters.redrive() == Redriven(1, 0)
    [back] = letters.find()
    assert (back.key, {**back.headers, "hops": 0}) == (None, {**first.headers, "hops": 0})
    assert mail.redrive() == Redriven(1, 0)
    [message] = mail.find()
    assert (message.key, {**message.headers, "hops": 0}) == ("k", {"trace": "t", "hops": 0})


def test_dead_letters_never_go_in_a_circle(db: Database) -> None:
    db.queue("a", dead_letter="b")
    db.queue("b", dead_letter="c")
    for name, target in (("c", "a"), ("b", "b"), ("c", "b")):
        with pytest.raises(ConfigurationError, match="circle"):
            db.queue(name, dead_letter=target)
    db.queue("c")


def test_what_is_no_queue_is_refused(db: Database, mail: Queue) -> None:
    with pytest.raises(InvalidMessage):
        db.queue("mail", dead_letter="no queue")
    with pytest.raises(ConfigurationError):
        mail.redrive(0)


def test_redrive_brings_back_those_that_stayed_in_their_queue(queue: Queue) -> None:
    queue.push_many([Draft(place, key=f"k{place}") for place in range(5)])
    queue.push("live", delay=hours(1))
    queue.bury_many(queue.reserve_many(5), "enough")
    queue.push("new", key="k0")
    assert (queue.redrive(dry_run=True), queue.redrive(2, dry_run=True).count) == (Redriven(4, 1), 2)
    first = queue.redrive(2, rate=1000)
    assert (first.count, first.skipped) == (2, 1)
    rest = queue.redrive()
    assert (rest.count, rest.skipped) == (2, 1)
    [dead] = queue.find(status="dead")
    assert dead.key == "k0"
    revived = queue.find("payload > 0")
    assert [(message.payload, message.attempts, message.status) for message in revived] == [
        (place, 0, "new") for place in range(1, 5)
    ]
    assert all(message.leased_by is None for message in queue.find())


def test_redrive_on_a_queue_brings_back_its_own_from_both_places(db: Database, mail: Queue) -> None:
    db.queue("mail").push("stayed")
    give_up(db.queue("mail"))
    mail.push("went")
    give_up(mail)
    assert mail.redrive(dry_run=True).count == 2
    assert mail.redrive(rate=1000).count == 2
    assert sorted(payloads(mail)) == ["stayed", "went"]


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "fast", True])
def test_a_rate_that_is_none_is_refused(mail: Queue, rate: Any) -> None:
    with pytest.raises(ConfigurationError, match="messages per second"):
        mail.redrive(rate=rate)
