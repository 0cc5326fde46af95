"""The parts of the demo, each alone."""

import pickle
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

import duerow
from duerow import Bury, Database, Message, Reservation
from examples.flights import flights, ledger, producer, sender, stations
from examples.flights.ledger import CALL, FLIGHT, SMS, VISIT
from examples.flights.recorder import Recorder
from examples.flights.sender import Gateway, GatewayError

HEALTHY = "2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'demo.db'}"


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    with duerow.connect(url, migrate=True) as database:
        yield database


@pytest.fixture
def engine(url: str, database: Database) -> Iterator[Engine]:
    engine = ledger.open_engine(url)
    ledger.prepare(engine)
    yield engine
    engine.dispose()


def taken(database: Database, queue: str, payload: Any) -> Reservation:
    database.queue(queue).push(payload)
    reservation = database.queue(queue).reserve()
    assert reservation is not None
    return reservation


def reserved(database: Database, queue: str, payload: Any) -> Message:
    return taken(database, queue, payload).message


def parsed(database: Database, text: str) -> dict[str, Any]:
    return stations.parse(reserved(database, stations.PARSE, {"line": 1, "text": text}))


# Flights.


def test_every_flight_has_one_place():
    everything = range(len(flights.lines()))
    assert {flights.spread(place) for place in everything} == set(everything)


@pytest.mark.parametrize("count", [300, 20_000])
def test_the_first_flights_lie_evenly_over_the_year(count: int):
    total = len(flights.lines())
    places = sorted(flights.spread(place) for place in range(count))
    gaps = [after - before for before, after in zip(places, [*places[1:], places[0] + total], strict=True)]
    assert max(gaps) < 3 * total / count


# Stations.


def test_a_healthy_line_becomes_a_flight(database: Database):
    payload = parsed(database, HEALTHY)
    assert payload["flight"]["dep_delay"] == 2
    assert payload["flight"]["time_hour"] == "2013-01-01T10:00:00Z"
    assert "problem" not in payload
    assert "text" not in payload


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("2013,1,1,", "2013,13,1,", "month"),
        (",UA,", ",?,", "carrier"),
        (",1400,", ",far,", "distance"),
        (",1400,", ",", "argument"),
        (",830,", ",NA,", "no arrival"),
        (",227,", ",NA,", "time in the air"),
        (",517,515,2,", ",517,515,47,", "delay at departure"),
        (HEALTHY, "", "argument"),
    ],
)
def test_a_line_that_makes_no_sense_says_why_and_goes_to_the_malformed(
    database: Database, old: str, new: str, problem: str
):
    payload = parsed(database, HEALTHY.replace(old, new))
    assert problem in payload["problem"]
    assert payload["text"] == HEALTHY.replace(old, new)
    assert stations.route(reserved(database, stations.ROUTE, payload))[0] == "malformed"


def test_a_flight_after_midnight_is_late_and_not_malformed(database: Database):
    payload = parsed(database, HEALTHY.replace(",517,515,2,", ",15,2330,45,"))
    assert "problem" not in payload


def test_a_flight_without_departure_is_cancelled(database: Database):
    cancelled = "2013,1,1,NA,1630,NA,NA,1815,NA,EV,4308,N18120,EWR,RDU,NA,416,16,30,2013-01-01T21:00:00Z"
    payload = parsed(database, cancelled)
    assert stations.route(reserved(database, stations.ROUTE, payload))[0] == "cancelled"
    assert stations.alert(reserved(database, stations.ALERT, payload))["sms"] == {
        "to": "+1 212 555 0108",
        "text": "EV 4308 from EWR to RDU (1.1., 16:30) is cancelled.",
    }


def test_a_departed_flight_is_joined_with_the_weather_of_its_hour_and_with_its_plane(database: Database):
    payload = parsed(database, HEALTHY)
    enriched = stations.Enrich()(reserved(database, stations.ENRICH, payload))
    assert enriched["weather"]["wind_mph"] == pytest.approx(12.658, abs=0.001)
    assert (enriched["plane"]["manufacturer"], enriched["plane"]["built"]) == ("BOEING", 1999)


def test_what_is_in_no_table_is_left_out(database: Database):
    payload = parsed(database, HEALTHY.replace("N14228", "NA").replace("2013-01-01T10", "1999-01-01T10"))
    enriched = stations.Enrich()(reserved(database, stations.ENRICH, payload))
    assert {"weather", "plane"}.isdisjoint(enriched)


@pytest.mark.parametrize(("minutes", "way"), [(59, "on time"), (60, "long delay"), (-20, "on time")])
def test_an_arrival_an_hour_late_is_a_long_delay(database: Database, minutes: int, way: str):
    payload = parsed(database, HEALTHY.replace(",819,11,", f",819,{minutes},"))
    assert stations.watch(reserved(database, stations.WATCH, payload))[0] == way


def test_the_tables_travel_with_the_function_and_are_large_enough_to_be_broadcast():
    pickled = pickle.dumps(stations.Enrich())
    assert len(pickled) > 1 << 20
    assert len(pickle.loads(pickled).planes) == 3322


# Producer.


def test_what_is_pushed_and_how_many_that_are_become_true_together(database: Database, engine: Engine):
    class Broken(Exception):
        pass

    def break_off(pushed: int) -> None:
        if pushed:
            raise Broken

    with pytest.raises(Broken):
        producer.push(database, engine, 2_500, break_off)
    assert database.queue(stations.PARSE).count() == 1_000
    told: list[int] = []
    producer.push(database, engine, 2_500, told.append)
    assert told == [1_000, 2_000, 2_500]
    lines = [message.payload["line"] for message in database.queue(stations.PARSE).find(limit=5_000)]
    assert lines == [flights.spread(place) for place in range(2_500)]


def test_pushing_again_pushes_nothing(database: Database, engine: Engine):
    for _ in range(2):
        producer.push(database, engine, 10, lambda _: None)
    database.queue(stations.PARSE).pop_many(10)
    producer.push(database, engine, 10, lambda _: None)
    assert database.queue(stations.PARSE).count() == 0


# Recorder.


def late_flight(database: Database) -> dict[str, Any]:
    payload = parsed(database, HEALTHY.replace(",819,11,", ",819,75,"))
    return stations.alert(reserved(database, stations.ALERT, payload))


def counted(engine: Engine) -> tuple[int, ...]:
    with engine.connect() as connection:
        return tuple(connection.scalar(select(func.count()).select_from(table)) or 0 for table in (FLIGHT, VISIT, SMS))


def test_a_flight_its_way_and_its_text_message_are_recorded_together(database: Database, engine: Engine):
    database.queue(stations.ALERTS).push(late_flight(database))
    told: list[tuple[int, int]] = []
    assert Recorder(database, engine, lambda *numbers: told.append(numbers)).record() == 1
    assert told == [(1, 1)]
    assert counted(engine) == (1, 3, 1)
    assert database.queue(stations.ALERTS).count() == 0
    [sms] = database.queue(sender.QUEUE).find()
    assert sms.payload["text"] == "UA 1545 from EWR to IAH (1.1., 05:15) arrived 1 h 15 min late."


def test_a_recorder_that_breaks_off_leaves_everything_as_it_was(
    database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    database.queue(stations.ALERTS).push(late_flight(database))
    recorder = Recorder(database, engine, lambda *_: None)

    def broken(*_: object) -> None:
        raise RuntimeError("no more")

    with monkeypatch.context() as patched:
        patched.setattr(recorder, "_push", broken)
        with pytest.raises(RuntimeError, match="no more"):
            recorder.record()
    assert counted(engine) == (0, 0, 0)
    assert database.queue(stations.ALERTS).count() == 1
    assert recorder.record() == 1
    assert counted(engine) == (1, 3, 1)


# Gateway.


def sms(database: Database, number: str) -> Message:
    return reserved(database, sender.QUEUE, {"to": number, "text": "late", "line": 1})


def answers(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.scalars(select(CALL.c.answer).order_by(CALL.c.sms_id, CALL.c.attempt)))


@pytest.fixture
def gateway(engine: Engine) -> Gateway:
    return Gateway(engine, lambda: 0.0)


def test_the_gateway_accepts_each_text_message_once(database: Database, engine: Engine, gateway: Gateway):
    lucky = next(line for line in range(1_000) if not any(sender.is_busy(line, attempt) for attempt in (1, 2)))
    first = taken(database, sender.QUEUE, {"to": "+1 212 555 0101", "text": "late", "line": lucky})
    gateway.send(first.message)
    first.rollback(delay=timedelta(0))
    second = database.queue(sender.QUEUE).reserve()
    assert second is not None
    gateway.send(second.message)
    assert answers(engine) == ["accepted", "repeated"]


def test_a_phone_that_is_off_fails_and_a_number_of_nobody_is_given_up(
    database: Database, engine: Engine, gateway: Gateway
):
    with pytest.raises(GatewayError, match="unreachable"):
        gateway.send(sms(database, sender.UNREACHABLE[0]))
    with pytest.raises(Bury, match="not in use"):
        gateway.send(sms(database, sender.REFUSED))
    assert answers(engine) == ["unreachable", "refused"]


def test_the_gateway_is_busy_for_about_as_many_first_calls_as_it_says():
    busy = sum(sender.is_busy(line, 1) for line in range(2_000))
    assert busy / 2_000 == pytest.approx(sender.BUSY_PERCENT / 100, abs=0.03)


def test_the_gateway_is_not_busy_again_and_again():
    assert not any(sender.is_busy(line, sender.BUSY_CALLS + 1) for line in range(2_000))
