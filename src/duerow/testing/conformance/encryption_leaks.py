"""No part of an encrypted payload is stored or logged in clear text, whatever goes wrong."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import Any, TypedDict

import msgspec
import pytest

from duerow import (
    Bury,
    Commit,
    Database,
    Draft,
    Fork,
    Join,
    Message,
    Move,
    Pipeline,
    Relay,
    Split,
    Switch,
    current,
    fixed,
    limited,
)
from duerow.encryption import Encryption
from duerow.errors import DuerowError
from duerow.store import HistoryQuery
from duerow.testing.conformance.fixtures import OpenDatabase, Place
from duerow.testing.contents import everything
from duerow.testing.faces import Face
from duerow.testing.pipeline_steps import carry
from duerow.testing.worker_harness import Workshop

SECRET = "zq7-of-the-payload"  # noqa: S105 - no password
KEY = Encryption.new_key()
HOUR = timedelta(hours=1)


class Colour(Enum):
    """A field with few possible values."""

    RED = "red"


@dataclass
class Strict:
    """A declared payload that validates itself."""

    colour: Colour
    note: str = ""

    def __post_init__(self) -> None:
        if self.note:
            raise ValueError(f"this note cannot be: {self.note}")


class Loose(TypedDict):
    """A declared payload that is a dict."""

    number: int


def kept(db: Database) -> str:
    """Return all that the database holds about messages and their turns, as text."""
    rows: list[Any] = [*everything(db)]
    for name in db.queues(reserved=True):
        rows += db.run(lambda name=name: db.store.history.find(HistoryQuery(name, limit=1_000)))  # type: ignore[misc]
    return "\n".join(f"{msgspec.json.encode(row, enc_hook=str)!r}" for row in rows)


def raised(work: Callable[[], object]) -> str:
    """Return the error that a call raises, as a program that does not catch it would print it."""
    with pytest.raises(DuerowError) as error:
        work()
    return "".join(traceback.format_exception(error.value))


def wrong(message: Message) -> Any:
    """Return or raise, by the number in the payload, something that quotes the payload."""
    payload = message.payload
    match payload["n"]:
        case 0:
            raise ValueError(f"cannot handle {payload}")
        case 1:
            try:
                raise KeyError(SECRET)
            except KeyError as error:
                raise RuntimeError("worse") from error
        case 2:
            return Bury(f"no use for {payload}")
        case 3:
            raise Bury(ValueError(SECRET))
        case 4:
            return Move("other", {"tuple": (SECRET,)})
        case 5:
            return Move("other", key=SECRET * 20)
        case 6:
            return [Move("other"), payload]
        case 7:
            return (Move("other"), SECRET)
        case 8:
            return Move("other", group=SECRET * 20)
        case 9:
            return Commit(then=(Draft(SECRET),))
        case 10:
            return Move("other", headers={"h": [SECRET]})  # type: ignore[dict-item]
        case 11:
            return Move("other", patch={"x": {1: SECRET}})
        case 12:
            making = current(message)
            assert making is not None
            raise ExceptionGroup(SECRET, [ValueError(SECRET)])
    return None


CASES = 13


@pytest.mark.parametrize("dead_letter", [None, "mail-dead"])
@pytest.mark.parametrize("whole_batch", [False, True])
def test_whatever_a_handler_does_nothing_of_the_payload_is_kept_or_logged(
    face: Face,
    place: Place,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    dead_letter: str | None,
    whole_batch: bool,
) -> None:
    shop = Workshop(face.name, place.url, {**place.settings, "encryption": Encryption([KEY])})
    caplog.set_level(logging.DEBUG)
    shop.queue.push_many([Draft({"n": number, "secret": SECRET}) for number in range(CASES)])

    async def handle(messages: Any) -> Any:
        if not whole_batch:
            return wrong(messages)
        return [_caught(message) for message in messages]

    kept_for = {"history": HOUR, "dead_letter": dead_letter}
    terms: dict[str, Any] = {"whole_batch": True, "batch": CASES} if whole_batch else {}
    try:
        shop.work(handle, queue=kept_for, retry=limited(2, fixed(timedelta(0))), **terms)
        dead = shop.db.queue(dead_letter or "mail").find()
        assert len(dead) >= CASES - 1
        assert SECRET not in kept(shop.db)
        first = next(message for message in dead if message.payload["n"] == 0)
        assert first.last_error is not None
        assert first.last_error.type == "ValueError"
        assert SECRET in first.last_error.message
        assert SECRET not in str(shop.db.queue(dead_letter or "mail").why(id=first.id))
    finally:
        shop.close()
    _check_said(caplog, capfd)


def _caught(message: Message) -> Any:
    try:
        return wrong(message)
    except Exception as error:
        return error


def test_misfits_of_declared_types_are_kept_and_raised_without_the_payload(
    open_database: OpenDatabase, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    db = open_database(encryption=Encryption([KEY]))
    raw = db.queue("mail")
    said = []
    for odd in ({"colour": SECRET}, {"colour": "red", "note": SECRET}, {"number": SECRET}, {SECRET: 1}, [SECRET]):
        raw.push(odd)
    for of in (Strict, Loose):
        queue: Any = db.queue("mail", payload=of)
        upgraded: Any = db.queue("mail", payload=of, upgrades={"json": _upgrade})
        assert queue.reserve() is None or of is Loose
        odd_ones: list[Any] = [SECRET, {"number": SECRET}, {"number": {SECRET}}, Strict]
        said += [raised(partial(queue.push, payload)) for payload in odd_ones]
        queue.requeue(where="status = 'dead'")
        assert upgraded.reserve() is None or of is Loose
        queue.requeue(where="status = 'dead'")
    for value in ({"a": (SECRET,)}, {"a": {1: SECRET}}, {SECRET: {2}}, {"a": SECRET + "\0"}, {SECRET: float("nan")}):
        said += [raised(partial(raw.push, value)), raised(partial(raw.push_many, [Draft(value)]))]
    said.append(raised(lambda: raw.push(1, key=SECRET * 20)))
    said.append(raised(lambda: raw.push_many([{"n": SECRET}])))  # type: ignore[list-item]
    said.append(raised(lambda: raw.edit(where="status = 'dead'", patch={"a": (SECRET,)})))
    assert SECRET not in "\n".join(said)
    assert SECRET not in kept(db)
    _check_said(caplog, capfd)


def _upgrade(plain: Any) -> Any:
    raise ValueError(f"cannot make one of {plain}")


def _odd(value: Any) -> Callable[[Message], Any]:
    return lambda message: value


STATIONS: dict[str, list[Any]] = {
    "a label that is none": [Switch("mail", _odd((SECRET, 1)), to={"a": "other"})],
    "no payload": [Relay("mail", _odd({SECRET}), to="other")],
    "a payload that cannot be": [Split("mail", _odd([{SECRET: {1}}]), to="other")],
    "queues that are none": [Fork("mail", _odd({SECRET: 1}), to=["other"])],
    "a set that is none": [Join("mail", by="payload.list", function=len, to="other", within=HOUR, count=2)],
    "a predicate": [Join("mail", by="payload.secret", complete=_upgrade, function=len, to="other", within=HOUR)],
    "what is merged": [
        Join("mail", by="payload.secret", count=1, function=lambda parts: {SECRET}, to="other", within=HOUR)
    ],
}


@pytest.mark.parametrize("station", STATIONS)
def test_what_stations_get_wrong_is_kept_without_the_payload(
    open_database: OpenDatabase, station: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    db = open_database(encryption=Encryption([KEY]))
    if not db.store.capabilities.transactions:
        return  # this store refuses most of these stations, which another promise covers
    if station == "a predicate" and not db.store.capabilities.interactive:
        return  # refused as well, which `join` covers
    pipeline = Pipeline("p", STATIONS[station], outputs=["other"])
    db.queue("mail").push({"secret": SECRET, "list": [SECRET]})
    carry(db, pipeline, chunk=1)
    failed = [message for name in db.queues() for message in db.queue(name).find() if message.last_error]
    assert [message.status for message in failed] == ["error"]
    assert SECRET not in kept(db)
    assert SECRET in str(failed[0].last_error)
    _check_said(caplog, capfd)


def test_errors_are_kept_and_raised_in_clear_text_where_that_is_asked(open_database: OpenDatabase) -> None:
    db = open_database(encryption=Encryption([KEY], clear_errors=True))
    queue = db.queue("mail")
    queue.push({"secret": SECRET})
    reservation = queue.reserve()
    assert reservation is not None
    reservation.bury(ValueError("the address is unknown"))
    assert "the address is unknown" in kept(db)
    assert SECRET in raised(lambda: queue.push({SECRET: {1}}))


def test_who_has_no_key_reads_the_type_of_an_error_and_which_key_has_the_rest(open_database: OpenDatabase) -> None:
    queue = open_database(encryption=Encryption([KEY])).queue("mail")
    queue.push({"secret": SECRET})
    reservation = queue.reserve()
    assert reservation is not None
    reservation.bury(ValueError(SECRET))
    [dead] = open_database().queue("mail").find()
    assert dead.last_error is not None
    assert (dead.last_error.type, dead.last_error.message) == ("ValueError", "ValueError")


def _check_said(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    """Check that no part of the payload was logged, with all attributes of log records, or written to the console."""
    for record in caplog.records:
        lines = [record.getMessage(), str(vars(record))]
        if record.exc_info and record.exc_info[1] is not None:
            lines += traceback.format_exception(record.exc_info[1])
        assert not any(SECRET in line for line in lines), record.getMessage()
    assert SECRET not in "".join(capfd.readouterr())
