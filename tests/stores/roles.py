"""Roles with the rights that `duerow sql --roles` prints: each can do what it is for, and nothing else.

A store's module gives `role_urls`: for each role the URL of a user that has it.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, Final

import pytest
from sqlalchemy import Table, create_engine, insert, select, text, update
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.exc import DBAPIError
from typer.testing import CliRunner

import duerow
from duerow import Database, Draft, Join, Message, Pipeline, Relay, Sink, Worker, aio, fixed, limited
from duerow.cli.application import app
from duerow.errors import ConfigurationError, DuplicateKey
from duerow.queue.schedule import Maintained
from duerow.store import Entry
from duerow.stores.sql.rights import RIGHTS, ROLES, created
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import everything
from duerow.testing.faces import Face

HOUR: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)
NOW: Final = timedelta(0)
DRIVERS: Final = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql"}

DENIED: Final = "denied|must be owner"
"""What their servers say."""

REFUSED: Final = "may not do that|does not let this user do that"
"""What PostgreSQL and MariaDB are reported to say."""

Open = Callable[[str], Database]
Do = Callable[[Database], object]


def printed(place: Place, names: Mapping[str, str]) -> list[str]:
    """The statements that the command prints for roles of these names."""
    called = [word for role, name in names.items() for word in (f"--{role}", name)]
    where = ["--db", place.url, "--schema", place.settings["schema"]]
    result = CliRunner().invoke(app, ["sql", "--roles", *where, *called])
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if line and not line.startswith("--")]
    assert all(line.startswith("GRANT ") and line.endswith(";") for line in lines)
    return [line.removesuffix(";") for line in lines]


@pytest.fixture
def open_as(role_urls: Mapping[str, str], place: Place) -> Iterator[Open]:
    """Opens the tables as the user of a role, until the test has ended."""
    with ExitStack() as stack:
        yield lambda role: stack.enter_context(duerow.connect(role_urls[role], **place.settings))


@pytest.fixture
def owner(place: Place) -> Iterator[Database]:
    """The tables as whoever made them sees them."""
    with duerow.connect(place.url, **place.settings) as database:
        yield database


def engine_of(url: str) -> Engine:
    """An engine of the test's own."""
    parts = make_url(url)
    return create_engine(parts.set(drivername=DRIVERS[parts.drivername]))


def tables_of(database: Database) -> list[Table]:
    store: Any = database.store
    return created(store.context.tables, store.context.dialect)


def overdue(owner: Database, place: Place) -> None:
    """Leave a schedule whose tick is overdue by a minute."""
    owner.schedule("hourly", queue="mail", payload="tick", every=HOUR)
    store: Any = owner.store
    engine, schedule = engine_of(place.url), store.context.tables.schedule
    with engine.begin() as connection:
        due = store.context.dialect.write_moment(owner.host_time() - MINUTE)
        connection.execute(update(schedule).values(next_at=due))
    engine.dispose()


def test_each_role_has_the_declared_rights_on_each_table_and_no_others(
    role_urls: Mapping[str, str], owner: Database
) -> None:
    store: Any = owner.store
    found: dict[tuple[str, str], set[str]] = {}
    for role, url in role_urls.items():
        engine = engine_of(url)
        for table in tables_of(owner):
            known = store.context.tables.message.metadata.tables[table.key]
            key = next(iter(known.primary_key))
            columns = [column for column in known.columns if column.name not in store.context.dialect.derived]
            tries: dict[str, Any] = {
                "SELECT": select(key).limit(0),
                "INSERT": insert(known).from_select(columns, select(*columns).where(text("1 = 0"))),
                "UPDATE": update(known).values({key.name: key}).where(text("1 = 0")),
                "DELETE": known.delete().where(text("1 = 0")),
            }
            may = found[role, known.name] = set()
            for right, statement in tries.items():
                try:
                    with engine.begin() as connection:
                        connection.execute(statement)
                except DBAPIError as error:
                    if not re.search(DENIED, str(error)):
                        raise
                else:
                    may.add(right)
        engine.dispose()
    wanted = {
        (role, f"duerow_{name}"): set(getattr(rights, role).split(", ")) - {""}
        for role in ROLES
        for name, rights in RIGHTS.items()
        if f"duerow_{name}" in {table.name for table in tables_of(owner)}
    }
    assert found == wanted


@pytest.mark.parametrize("role", ROLES)
def test_no_role_can_change_or_drop_a_table(role: str, role_urls: Mapping[str, str], owner: Database) -> None:
    engine = engine_of(role_urls[role])
    for table in tables_of(owner):
        for change in (f"DROP TABLE {table}", f"ALTER TABLE {table} ADD COLUMN more INTEGER"):
            with pytest.raises(Exception, match=DENIED), engine.begin() as connection:
                connection.exec_driver_sql(change)
    engine.dispose()
    assert owner.migrate() == []


def test_a_producer_can_push_in_every_mode(open_as: Open, owner: Database, role_urls: Mapping[str, str]) -> None:
    mail = open_as("producer").queue("mail", remember_keys=HOUR)
    assert mail.push("plain").outcome == "created"
    mail.push_many([Draft(number, group="g", priority=number) for number in range(3)])
    for mode, outcome in (("ignore", "ignored"), ("replace", "updated"), ("earliest", "updated")):
        assert mail.push(mode, key=mode, delay=HOUR, on_duplicate=mode).outcome == "created"  # type: ignore[arg-type]
        assert mail.push("anew", key=mode, on_duplicate=mode).outcome == outcome  # type: ignore[arg-type]
    mail.push("once", key="reject", group="g", on_duplicate="reject")
    with pytest.raises(DuplicateKey):
        mail.push("twice", key="reject", on_duplicate="reject")
    mail.push("elsewhere", key="reject", group="h", on_duplicate="replace")
    keeping = owner.queue("mail", remember_keys=HOUR)
    keeping.remove(key="ignore")
    assert mail.push("late", key="ignore").outcome == "ignored"
    with pytest.raises(DuplicateKey):
        mail.push("late", key="ignore", on_duplicate="reject")
    assert owner.queue("mail").count() == 7


def test_a_producer_can_push_within_a_transaction_of_its_own_and_stage_batches(
    open_as: Open, owner: Database, role_urls: Mapping[str, str]
) -> None:
    database = open_as("producer")
    mail, engine = database.queue("mail"), engine_of(role_urls["producer"])
    with engine.begin() as connection:
        mail.push("within", key="k", within=connection)
        mail.push_many([Draft("more", key="l", group="g")], within=connection)
    engine.dispose()
    database.bulk.stage("batch", "part", [Entry("mail", None, "json", "1", headers=None, due=None, delay=None)])
    assert database.bulk.publish("batch", {"part": 1}, once="batch").entries == 1
    database.bulk.stage("batch", "lost", [Entry("mail", None, "json", "2", headers=None, due=None, delay=None)])
    database.bulk.discard("batch")
    assert owner.queue("mail").count() == 3


def test_a_consumer_can_run_workers_with_everything_they_have(open_as: Open, owner: Database, place: Place) -> None:
    owner.queue("mail").push_many([Draft(number, key=f"k{number}", group=f"g{number % 2}") for number in range(6)])
    overdue(owner, place)
    terms: Any = {"history": HOUR, "remember_keys": HOUR, "retry": limited(2, fixed(NOW)), "dead_letter": "lost"}
    database = open_as("consumer")
    mail, handled = database.queue("mail", **terms), list[object]()

    def handle(message: Message) -> None:
        handled.append(message.payload)
        if message.payload == 0 and message.attempts == 1:
            raise ValueError("not yet")
        if message.payload == 1:
            raise ValueError("never")

    ticked = database.tick()
    assert (ticked.pushed, ticked.failed) == (1, {}), ticked
    Worker(mail, handle, singleton=True, rate=(1_000, HOUR), name="anna").run(until="idle")
    assert (len(handled), owner.queue("mail").count(), owner.queue("lost").count()) == (9, 0, 1)
    assert "tick" in handled
    assert Counter(event.outcome for event in owner.queue("mail").history()) == {"done": 6, "failed": 2, "dead": 1}
    assert [one.queues for one in owner.consumers()] == [("mail",)]
    mail.push("again", key="k2")
    assert owner.queue("mail").count() == 0  # its key is remembered
    database.queue("bulk").push_many([Draft(number) for number in range(4)])
    assert len(database.queue("bulk").pop_many(4)) == 4
    with mail.reserving() as message:
        assert message is None
    database.maintain()


def test_a_consumer_can_run_a_pipeline_with_a_join(open_as: Open, owner: Database) -> None:
    database = open_as("consumer")
    pipeline = Pipeline(
        "shop",
        [Join("part", lambda parts: [part.payload["v"] for part in parts], to="whole", by="payload.order", count=2)],
        outputs=["whole"],
    )
    owner.queue("part").push_many([Draft({"order": 1, "v": value}) for value in (1, 2)])
    pipeline.run(database)
    assert [message.payload for message in owner.queue("whole").find()] == [[1, 2]]
    assert [graph.name for graph in owner.pipelines()] == ["shop"]


def test_a_consumer_may_send_messages_from_another_database(open_as: Open, owner: Database) -> None:
    owner.queue("x").push("holder", key="k")
    with duerow.connect("memory://") as edge:
        edge.queue("pack").push_many([Draft("a", key="k"), Draft("b")])
        relay = Relay("pack", lambda message: message.payload, to=open_as("consumer").queue("x"))
        Pipeline("across", [relay]).run(edge)
        (waiting,) = edge.queue("x").find()
        assert waiting.last_error is not None
        assert waiting.last_error.type == "DuplicateKey"
    assert [message.payload for message in owner.queue("x").find()] == ["holder", "b"]


def test_an_operator_can_do_everything_that_changes_no_table(open_as: Open, owner: Database) -> None:
    database = open_as("operator")
    mail = database.queue("mail", history=HOUR, dead_letter="lost")
    assert mail.declare()
    mail.pause()
    mail.resume()
    mail.push_many([Draft({"n": number}, key=f"k{number}") for number in range(4)])
    one = mail.find()[0]
    assert mail.edit(one.id, patch={"n": 10}, headers={"by": "me"}).count == 1
    assert mail.reschedule(where="payload.n > 2", delay=HOUR).count == 2
    assert mail.reprioritise(where="payload.n = 10", priority=3).count == 1
    assert mail.requeue(where="payload.n = 10").count == 1
    reservation = mail.reserve()
    assert reservation is not None
    reservation.bury("wrong")
    assert mail.redrive().count == 1
    with mail.reserving() as message:
        assert message is not None
    assert mail.replay(message.id).count == 1
    assert mail.remove(key="k3").count == 1
    database.schedule("hourly", queue="mail", every=HOUR)
    assert database.unschedule("hourly")
    database.declare_pipeline(Pipeline("p", [Join("a", len, to="b", by="payload.o", count=2)], outputs=["b"]))
    assert database.forget_pipeline("p")
    mail.drain(wait=False)
    mail.resume()
    assert mail.purge("mail") > 0
    database.maintain()
    assert owner.queue("mail").count() == 0


def test_a_reader_can_look_at_everything_and_close(open_as: Open, owner: Database) -> None:
    mail = owner.queue("mail", history=HOUR, lease=HOUR)
    mail.declare()
    mail.push_many([Draft({"n": number}, key=f"k{number}", group="g") for number in range(3)])
    with mail.reserving() as message:
        assert message is not None
    owner.write_counts()
    assert mail.reserve() is not None
    owner.schedule("hourly", queue="mail", every=HOUR)
    database = open_as("reader")
    seen = database.as_defined("mail", known=True)
    assert (seen.stats().leased, seen.count("payload.n > 0"), seen.contains("k2")) == (1, 2, True)
    assert [one.payload["n"] for one in seen.find("payload.n > 0", order="-id")] == [2, 1]
    assert [one.payload["n"] for one in seen.peek(5)] == []
    assert seen.why(key="k2")
    assert [event.outcome for event in seen.history("outcome = 'done'")] == ["done"]
    assert database.known_queues() == ["mail"]
    assert (len(database.schedules()), database.pipelines(), database.consumers()) == (1, [], [])
    assert len(database.definitions()) == 1
    assert seen.edit(where="payload.n = 2", patch={"n": 3}, dry_run=True).count == 1
    database.close()


LOOKING: Final = (
    ("stats",),
    ("queues",),
    ("workers",),
    ("list", "mail"),
    ("find", "mail", "priority = 0"),
    ("show", "mail", "--key", "k"),
    ("why", "mail", "--key", "k"),
    ("history", "mail"),
    ("schedule", "list"),
    ("pipeline", "list"),
)
"""The commands that change nothing."""


def test_a_reader_and_an_operator_can_run_every_command_that_looks(
    role_urls: Mapping[str, str], owner: Database, place: Place
) -> None:
    owner.queue("mail").push(1, key="k")
    for role in ("reader", "operator"):
        for command in LOOKING:
            where = ["--db", role_urls[role], "--schema", place.settings["schema"]]
            result = CliRunner().invoke(app, [*command, *where])
            assert result.exit_code == 0, (role, command, result.output)


def test_a_producer_can_push_from_the_command_line(role_urls: Mapping[str, str], owner: Database, place: Place) -> None:
    where = ["--db", role_urls["producer"], "--schema", place.settings["schema"]]
    for more in (["--create"], []):
        result = CliRunner().invoke(app, ["push", "mail", "1", *more, *where])
        assert result.exit_code == 0, result.output
    assert owner.queue("mail").count() == 2


@pytest.mark.parametrize("role", ["producer", "reader"])
def test_a_worker_without_the_rights_of_one_claims_nothing_and_names_those_that_it_lacks(
    role: str, open_as: Open, owner: Database, face: Face, role_urls: Mapping[str, str], place: Place
) -> None:
    owner.queue("mail").push_many([Draft(number) for number in range(3)])
    before = everything(owner)
    lacking = {"producer": "SELECT on .*consumer, INSERT on .*consumer.*DELETE on .*counter", "reader": "INSERT on"}

    def work() -> None:
        if face.name == "sync":
            Worker(open_as(role).queue("mail"), lambda message: pytest.fail("it began")).run()
        else:
            asyncio.run(awaited(role_urls[role], place))

    with pytest.raises(ConfigurationError, match=f"may not run workers: it lacks .*{lacking[role]}") as raised:
        work()
    assert "duerow sql --roles" in str(raised.value)
    assert (everything(owner), owner.consumers()) == (before, [])


async def awaited(url: str, place: Place) -> None:
    """Run a worker of the awaited face."""

    async def handle(message: Message) -> None:
        pytest.fail("it began")

    async with await aio.connect(url, **place.settings) as database:
        await aio.Worker(database.queue("mail"), handle).run()


def ticking(done: Maintained) -> Maintained:
    """Raise what made a schedule fail, which `tick` tells instead, for the others' sake."""
    for error in done.failed.values():
        raise error
    return done


PUSHES: Final[dict[str, Do]] = {
    "push": lambda db: db.queue("mail").push("x"),
    "push with a key": lambda db: db.queue("mail").push("x", key="k0", on_duplicate="replace"),
}
TAKES: Final[dict[str, Do]] = {
    "reserve": lambda db: db.queue("mail").reserve(),
    "pop": lambda db: db.queue("mail").pop(),
    "remove": lambda db: db.queue("mail").remove(key="k0"),
    "edit": lambda db: db.queue("mail").edit(key="k0", payload=1),
    "requeue": lambda db: db.queue("mail").requeue(where="priority = 0"),
    "purge": lambda db: db.queue("mail").purge("mail"),
}
WORKS: Final[dict[str, Do]] = {
    "tick": lambda db: ticking(db.tick()),
    "run a pipeline": lambda db: Pipeline("q", [Sink("mail", lambda message: None)]).run(db),
}
OPERATES: Final[dict[str, Do]] = {
    "pause": lambda db: db.queue("mail").pause(),
    "drain": lambda db: db.queue("mail").drain(wait=False),
    "declare": lambda db: db.queue("mail", lease=HOUR).declare(),
    "schedule": lambda db: db.schedule("daily", queue="mail", every=HOUR),
    "unschedule": lambda db: db.unschedule("hourly"),
}
LOOKS: Final[dict[str, Do]] = {
    "history": lambda db: db.queue("mail").history(),
    "stats": lambda db: db.queue("mail").stats(),
    "schedules": lambda db: db.schedules(),
}
CHARTS: Final[dict[str, Do]] = {"forget a pipeline": lambda db: db.forget_pipeline("p")}
TABLES: Final[dict[str, Do]] = {"make an index": lambda db: db.queue("mail", indexed={"to": str}).declare()}

BEYOND: Final[dict[str, dict[str, Do]]] = {
    "producer": {**WORKS, **OPERATES, **LOOKS, **CHARTS, **TABLES},
    "consumer": {**OPERATES, **CHARTS, **TABLES},
    "operator": TABLES,
    "reader": {**PUSHES, **TAKES, **WORKS, **OPERATES, **CHARTS, **TABLES},
}
"""What each role is refused."""


@pytest.mark.parametrize("role", ROLES)
def test_what_is_not_a_roles_business_is_refused_by_name_and_nothing_has_changed(
    role: str, open_as: Open, owner: Database, place: Place
) -> None:
    owner.queue("mail").push_many([Draft(number, key=f"k{number}") for number in range(3)])
    overdue(owner, place)
    owner.declare_pipeline(Pipeline("p", [Join("a", len, to="b", by="payload.o", count=2)], outputs=["b"]))
    engine, database = engine_of(place.url), open_as(role)

    def rows() -> dict[str, list[Any]]:
        with engine.connect() as connection:
            return {
                table.name: sorted(map(repr, connection.execute(text(f"SELECT * FROM {table}"))))
                for table in tables_of(owner)
            }

    before = rows()
    for name, do in BEYOND[role].items():
        with pytest.raises(ConfigurationError, match=REFUSED):
            pytest.fail(f"a {role} could {name}: {do(database)}")
        assert rows() == before, f"{role}: {name}"
    engine.dispose()
