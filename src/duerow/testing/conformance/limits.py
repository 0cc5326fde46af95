"""A message whose expired leases have used up its attempts is buried by the next claim instead of handed out."""

from __future__ import annotations

from duerow import Database, Draft, Queue, fixed, limited
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.contents import stored


def lose(queue: Queue, clock: MovableClock) -> None:
    """Reserve a message as a consumer that then dies, and let its lease end."""
    assert queue.reserve(lease=minutes(1)) is not None
    clock.advance(minutes(1))


def test_a_message_that_kills_its_consumers_is_buried_at_the_limit(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(3, fixed(seconds(1))))
    pushed = queue.push("poison", key="m-1")
    for _ in range(3):
        lose(queue, clock)
    last = stored(queue, pushed.id)
    assert queue.reserve() is None
    message = stored(queue, pushed.id)
    assert (message.status, message.due_at, message.attempts, message.token) == ("dead", None, 3, last.token + 1)
    assert (message.leased_by, message.leased_until) == (None, None)
    assert message.last_error is not None
    ended = f"{clock.now():%Y-%m-%d %H:%M:%S}"
    assert (
        message.last_error.message
        == f"was in hand when its worker died: lease of {last.leased_by} ended at {ended} UTC, attempt 3 of 3"
    )
    assert not queue.contains("m-1")


def test_buried_messages_do_not_count_towards_how_many_were_asked_for(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(1, fixed(seconds(1))))
    queue.push_many([Draft("poison") for _ in range(5)])
    queue.reserve_many(5)
    clock.advance(hours(1))
    queue.push_many([Draft("good"), Draft("good too"), Draft("later")])
    assert [one.message.payload for one in queue.reserve_many(2)] == ["good", "good too"]
    assert queue.count("dead") == 5
    one = queue.reserve()
    assert one is not None
    assert one.message.payload == "later"


def test_a_reserve_of_one_goes_on_past_buried_messages(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(1, fixed(seconds(1))))
    queue.push_many([Draft("poison") for _ in range(3)])
    queue.reserve_many(3)
    clock.advance(hours(1))
    queue.push("good")
    reservation = queue.reserve()
    assert reservation is not None
    assert reservation.message.payload == "good"


def test_below_the_limit_a_lost_message_is_handed_out_with_its_number(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(3, fixed(seconds(1))))
    queue.push("hello")
    for attempt in (1, 2, 3):
        reservation = queue.reserve(lease=minutes(1))
        assert reservation is not None
        assert reservation.attempt == attempt
        clock.advance(minutes(1))
    assert queue.reserve() is None


def test_without_a_limit_a_lost_message_is_handed_out_for_ever(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=fixed(seconds(1)))
    pushed = queue.push("hello")
    for _ in range(40):
        lose(queue, clock)
    assert stored(queue, pushed.id).status == "new"
    reservation = queue.reserve()
    assert reservation is not None
    assert reservation.message.last_error is not None
    assert reservation.message.last_error.message.endswith("attempt 40 of any number")


def test_a_message_whose_turns_were_settled_is_handed_out_whatever_its_attempts(
    db: Database, clock: MovableClock
) -> None:
    patient = db.queue("mail", retry=fixed(seconds(1)))
    patient.push("hello")
    for _ in range(5):
        reservation = patient.reserve()
        assert reservation is not None
        patient.rollback(reservation, delay=seconds(0))
    strict = db.queue("mail", retry=limited(2, fixed(seconds(1))))
    reservation = strict.reserve(lease=minutes(1))
    assert reservation is not None
    assert reservation.attempt == 6
    clock.advance(minutes(1))
    assert strict.reserve() is None
    assert strict.count("dead") == 1


def test_a_released_turn_is_no_used_up_attempt(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(1, fixed(seconds(1))))
    queue.push("hello")
    for _ in range(3):
        reservation = queue.reserve()
        assert reservation is not None
        queue.release(reservation)
        clock.advance(hours(1))
    assert queue.reserve() is not None


def test_a_moved_message_has_all_its_attempts_again(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(2, fixed(seconds(1))))
    queue.push("hello")
    lose(queue, clock)
    reservation = queue.reserve()
    assert reservation is not None
    queue.move(reservation, "mail")
    lose(queue, clock)
    again = queue.reserve()
    assert again is not None
    assert again.attempt == 2


def test_an_extended_lease_ends_at_its_new_end(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(1, fixed(seconds(1))))
    pushed = queue.push("hello")
    reservation = queue.reserve(lease=minutes(1))
    assert reservation is not None
    until = queue.extend(reservation, hours(1)).until
    clock.advance(minutes(2))
    assert queue.reserve() is None
    assert stored(queue, pushed.id).status == "new"
    clock.advance(hours(1))
    assert queue.reserve() is None
    error = stored(queue, pushed.id).last_error
    assert error is not None
    assert f"{until:%Y-%m-%d %H:%M:%S}" in error.message
