"""Encrypted payloads can be read only with the key, come back unchanged, and are not lost if a key is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duerow import Database, Draft, Move, Pipeline, Relay
from duerow.encryption import Encryption, key_id
from duerow.errors import CodecError, ConfigurationError, KeyMissing
from duerow.payload.codec import Encoded
from duerow.payload.dead_letter_headers import Home
from duerow.settlement import decide
from duerow.store import Entry, Record
from duerow.testing.clock import MovableClock, minutes
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.conformance.payloads import EDGES, JSON, shape
from duerow.testing.contents import empty, everything

OLD, NEW = Encryption.new_key(), Encryption.new_key()
NUMBER = "4111-1111-1111-1111"


@dataclass
class Card:
    """A declared payload with a secret."""

    number: str
    limit: Decimal


def with_keys(open_database: OpenDatabase) -> Database:
    """Return the database of this test, with encryption keys."""
    return open_database(encryption=Encryption([OLD], readable={"cards": ["company", "owner.country"]}))


def put(db: Database, record: Record, **changed: Any) -> None:
    """Put a message back, changed as an attacker might change it in the database."""
    record = msgspec.structs.replace(record, **changed)
    entry = Entry(record.queue, record.key, record.kind, record.payload, None, None, None)
    db.run(lambda: db.store.messages.push([entry], "ignore"))


def test_an_encrypted_payload_comes_back_the_same_and_cannot_be_read_in_the_database(
    open_database: OpenDatabase,
) -> None:
    db = with_keys(open_database)
    queue = db.queue("cards")
    queue.push({"number": NUMBER})
    [record] = everything(db)
    assert NUMBER not in record.payload
    assert record.kind == "json+encrypted"
    assert [message.payload for message in queue.peek()] == [{"number": NUMBER}]
    message = queue.pop()
    assert message is not None
    assert message.payload == {"number": NUMBER}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(batch=st.lists(JSON | st.binary(max_size=30) | st.sampled_from(EDGES), min_size=1, max_size=5))
def test_any_encrypted_payload_comes_back_equal_and_of_the_same_types(
    open_database: OpenDatabase, batch: list[Any]
) -> None:
    db = with_keys(open_database)
    queue = db.queue("cards")
    queue.push_many([Draft(payload) for payload in batch])
    assert [shape(message.payload) for message in queue.pop_many(10)] == [shape(payload) for payload in batch]


def test_a_declared_payload_is_encrypted_and_comes_back_with_its_types(open_database: OpenDatabase) -> None:
    db = with_keys(open_database)
    queue = db.queue("cards", payload=Card)
    queue.push(Card(NUMBER, Decimal("10.50")))
    [record] = everything(db)
    assert NUMBER not in record.payload
    assert record.kind == "Card+encrypted"
    message = queue.pop()
    assert message is not None
    assert message.payload == Card(NUMBER, Decimal("10.50"))


WAYS_ON: dict[str, Callable[[Any, Any], object]] = {
    "as it is": lambda queue, mine: queue.move(mine, "other"),
    "with a new payload": lambda queue, mine: queue.move(mine, "other", {"number": NUMBER, "n": 1}),
    "with a patch": lambda queue, mine: queue.move(mine, "other", patch={"n": 1}),
    "by a station": lambda queue, mine: queue.settle([(mine, relayed(mine.message))]),
    "with a commit": lambda queue, mine: queue.commit(mine, then=[Draft({"number": NUMBER}, queue="other")]),
    "to several": lambda queue, mine: queue.settle([(mine, decide(mine.message, [Move("other")], queue.retry))]),
}


def relayed(message: Any) -> Any:
    """Return the settlement of a station that sends the payload on."""
    station = Relay("cards", lambda message: message.payload, to="other")
    Pipeline("p", [station], outputs=["other"])
    return station.settlement(message, 10)


@pytest.mark.parametrize("way", WAYS_ON)
def test_a_payload_stays_encrypted_on_every_way_to_another_queue(open_database: OpenDatabase, way: str) -> None:
    db = with_keys(open_database)
    if way in ("with a commit", "to several") and not db.store.capabilities.transactions:
        return  # this store refuses these, which another promise covers
    queue = db.queue("cards")
    queue.push({"number": NUMBER})
    reservation = queue.reserve()
    assert reservation is not None
    WAYS_ON[way](queue, reservation)
    [record] = everything(db)
    assert (record.queue, record.kind) == ("other", "json+encrypted")
    assert NUMBER not in record.payload
    [message] = db.queue("other").find()
    assert message.payload["number"] == NUMBER


def test_fields_that_are_named_for_it_stay_readable_in_their_places(open_database: OpenDatabase) -> None:
    db = with_keys(open_database)
    queue = db.queue("cards")
    payload = {"number": NUMBER, "company": 3345, "owner": {"country": "HR", "name": "Ana"}}
    queue.push(payload)
    queue.push({"number": NUMBER, "owner": 1})
    queue.push([NUMBER])
    shown = [msgspec.json.decode(record.payload) for record in everything(db)]
    for each in shown:
        del each["encrypted"]
    assert shown == [{"company": 3345, "owner": {"country": "HR"}}, {}, {}]
    assert [message.payload for message in queue.find()] == [payload, {"number": NUMBER, "owner": 1}, [NUMBER]]


def test_any_key_decrypts_and_the_first_one_encrypts(open_database: OpenDatabase) -> None:
    before, between, after = (
        open_database(encryption=Encryption(keys)).queue("cards") for keys in ([OLD], [NEW, OLD], [NEW])
    )
    before.push("with the old key")
    between.push("with the new key")
    assert [message.payload for message in between.find()] == ["with the old key", "with the new key"]
    first, second = between.reserve_many(2)
    between.commit(first)
    between.release(second)
    [message] = after.find()
    assert message.payload == "with the new key"


def test_a_message_whose_key_is_missing_is_put_off_and_not_harmed(
    open_database: OpenDatabase, clock: MovableClock
) -> None:
    knowing, ignorant, bare = (
        open_database(encryption=encryption).queue("cards")
        for encryption in (Encryption([NEW, OLD]), Encryption([OLD]), None)
    )
    pushed = knowing.push(NUMBER, key="c-1")
    for consumer in (ignorant, bare, ignorant):
        assert consumer.reserve(lease=minutes(1)) is None
        clock.advance(minutes(1))
    reservation = knowing.reserve()
    assert reservation is not None
    assert (reservation.message.id, reservation.message.payload) == (pushed.id, NUMBER)
    assert (reservation.attempt, reservation.message.status, reservation.message.key) == (1, "new", "c-1")


def test_a_consumer_without_a_key_goes_on_with_what_it_can_read(open_database: OpenDatabase) -> None:
    knowing = open_database(encryption=Encryption([NEW])).queue("cards")
    bare = open_database().queue("cards")
    for number in range(3):
        knowing.push(NUMBER)
        bare.push(number)
    assert [one.message.payload for one in bare.reserve_many(3)] == [0, 1, 2]
    assert knowing.count("dead") == 0


def test_a_consumer_without_a_key_does_not_go_through_a_whole_queue(open_database: OpenDatabase) -> None:
    knowing = open_database(encryption=Encryption([NEW])).queue("cards")
    bare = open_database().queue("cards")
    knowing.push_many([Draft(number) for number in range(250)])
    assert bare.reserve() is None
    assert len(knowing.peek(300)) == 150


def test_a_pop_loses_no_message_whose_key_is_missing(open_database: OpenDatabase) -> None:
    knowing = open_database(encryption=Encryption([NEW])).queue("cards")
    bare = open_database().queue("cards")
    knowing.push(NUMBER)
    bare.push("in clear")
    message = bare.pop()
    assert message is not None
    assert message.payload == "in clear"
    assert [message.payload for message in knowing.find(status="new")] == [NUMBER]


def test_the_error_names_the_key_that_is_missing_and_tells_nothing_of_it() -> None:
    home = Home("cards", None)
    sealed = Encryption([NEW]).seal(home, _encoded('"x"'))
    with pytest.raises(KeyMissing, match=key_id(NEW)) as missing:
        Encryption([OLD]).open(home, sealed.kind, sealed.text)
    assert missing.value.key_id == key_id(NEW)
    assert NEW[:8] not in str(missing.value)


def test_messages_in_clear_text_are_read_by_a_handle_with_keys(open_database: OpenDatabase) -> None:
    open_database().queue("cards").push("pushed before there were keys")
    message = open_database(encryption=Encryption([NEW])).queue("cards").pop()
    assert message is not None
    assert message.payload == "pushed before there were keys"


def test_an_encrypted_payload_that_was_changed_is_buried_with_the_reason(open_database: OpenDatabase) -> None:
    db = with_keys(open_database)
    queue = db.queue("cards")
    queue.push({"number": NUMBER, "company": 1})
    queue.push([1])
    sealed, another = everything(db)
    for changed in [
        {"payload": sealed.payload.replace('"company":1', '"company":2')},
        {"payload": sealed.payload.replace('"company":1', '"country":1')},
        {"payload": another.payload.replace('"text":"', '"text":"A')},
        {"payload": another.payload},
        {"payload": '{"encrypted": 1}'},
        {"payload": "7"},
        {"kind": "bytes+encrypted"},
    ]:
        empty(db)
        put(db, sealed, **changed)
        assert queue.reserve() is None
        [buried] = queue.find()
        assert buried.status == "dead", changed
        assert buried.last_error is not None
        assert buried.last_error.type == "CodecError"
        assert NUMBER not in str(buried.last_error)


def test_an_encrypted_payload_that_was_given_an_unknown_kind_is_not_handed_out(open_database: OpenDatabase) -> None:
    db = with_keys(open_database)
    queue = db.queue("cards")
    queue.push({"number": NUMBER})
    [sealed] = everything(db)
    empty(db)
    put(db, sealed, kind="Card+encrypted")
    assert queue.reserve() is None


def test_keys_and_fields_that_cannot_be_are_refused(open_database: OpenDatabase) -> None:
    wrong: list[tuple[Any, Any, str]] = [
        ([], None, "at least one key"),
        (OLD, None, "list of keys"),
        (None, None, "list of keys"),
        (["short"], None, "32 random bytes"),
        ([None], None, "32 random bytes"),
        ([OLD], ["company"], "takes queues and their fields"),
        ([OLD], {"cards": "company"}, "must be a list"),
        ([OLD], {"cards": 7}, "must be a list"),
        ([OLD], {"cards": [""]}, "joined by dots"),
        ([OLD], {"cards": ["a..b"]}, "joined by dots"),
        ([OLD], {"cards": ["encrypted"]}, "other than 'encrypted', not 'encrypted'"),
        ([OLD], {"cards": [1]}, "joined by dots"),
    ]
    for keys, readable, says in wrong:
        with pytest.raises(ConfigurationError, match=says) as error:
            Encryption(keys, readable=readable)
        assert OLD not in str(error.value)
    not_an_encryption: Any = OLD
    with pytest.raises(ConfigurationError, match="takes an Encryption") as error:
        open_database(encryption=not_an_encryption)
    assert OLD not in str(error.value)


def test_what_a_handle_shows_of_itself_holds_no_key() -> None:
    shown = repr(Encryption([OLD, NEW]))
    assert OLD not in shown
    assert key_id(OLD) in shown


def test_a_payload_too_large_in_clear_text_is_too_large(open_database: OpenDatabase) -> None:
    db = with_keys(open_database)
    queue = db.queue("cards", max_payload_bytes=10)
    queue.push("12345678")
    with pytest.raises(CodecError, match="at most 10"):
        queue.push("123456789")
    assert queue.count() == 1


def test_dead_letters_come_back_also_by_who_has_no_key(open_database: OpenDatabase) -> None:
    db, bare = with_keys(open_database), open_database()
    queue = db.queue("cards", dead_letter="cards-dead")
    queue.push({"number": NUMBER}, key="c-1")
    reservation = queue.reserve()
    assert reservation is not None
    queue.bury(reservation, "no use")
    assert bare.queue("cards-dead").redrive().count == 1
    [message] = queue.find()
    assert (message.payload, message.status, message.key) == ({"number": NUMBER}, "new", "c-1")
    assert not any(NUMBER in record.payload for record in everything(db))


def test_what_a_schedule_pushes_is_encrypted_from_the_start(open_database: OpenDatabase, clock: MovableClock) -> None:
    db, bare = with_keys(open_database), open_database()
    assert db.schedule("hourly", queue="cards", payload={"number": NUMBER}, every=minutes(60)).payload == {
        "number": NUMBER
    }
    [shown] = bare.schedules()
    assert NUMBER not in shown.payload
    clock.advance(minutes(60))
    bare.maintain()
    assert not any(NUMBER in record.payload for record in everything(db))
    message = db.queue("cards").pop()
    assert message is not None
    assert message.payload == {"number": NUMBER}


def _encoded(text: str) -> Encoded:
    return Encoded("json", text)


def test_indexed_fields_have_to_stay_readable(open_database: OpenDatabase) -> None:
    open_database()
    readable = Encryption([Encryption.new_key()], readable={"cards": ["companyId", "to.city"]})
    db = open_database(encryption=readable)
    queue = db.queue("cards", indexed={"companyId": int, "to.city": str})
    queue.declare()
    queue.push({"companyId": 5, "to": {"city": "Split", "street": "x"}})
    assert queue.count("payload.companyId = 5 and payload.to.city = 'Split'") == 1
    hidden = db.queue("cards", indexed={"companyId": int, "to.street": str})
    with pytest.raises(ConfigurationError, match=r"encrypted payload fields \['to.street'\]"):
        hidden.declare()
    assert queue.definition() == queue.declared
