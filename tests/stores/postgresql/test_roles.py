"""A role that may not create tables is told what somebody else must run; roles with the rights that are printed."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from duerow import Database
from duerow.errors import ConfigurationError
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.rights import RIGHTS, ROLES, WORKED_ON
from duerow.stores.sql.statements import Step
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.stores.roles import *  # noqa: F403
from tests.stores.roles import Open, printed


@pytest.fixture(scope="session")
def role_urls(migrated: Place, superuser: psycopg.Connection) -> Iterator[Mapping[str, str]]:
    """Roles with odd names, whose rights are those that the command prints."""
    url, those = make_url(migrated.url), uuid.uuid4().hex[:8]
    names = {role: f'{role}\'s "{those}"' for role in ROLES}
    for name in names.values():
        login = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
        superuser.execute(login.format(sql.Identifier(name), sql.Literal(url.password or "")))
    for statement in printed(migrated, names):
        superuser.execute(statement)  # type: ignore[call-overload]
    yield {role: url.set(username=name).render_as_string(hide_password=False) for role, name in names.items()}
    for name in names.values():
        superuser.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))


@pytest.fixture
def humble(postgresql_url: str, superuser: psycopg.Connection) -> Iterator[str]:
    """The URL of a role without any rights to create."""
    superuser.execute("DROP ROLE IF EXISTS humble")
    url = make_url(postgresql_url)
    superuser.execute(f"CREATE ROLE humble LOGIN PASSWORD '{url.password or ''}'")  # type: ignore[arg-type]
    superuser.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    yield url.set(username="humble").render_as_string(hide_password=False)
    superuser.execute("DROP OWNED BY humble")
    superuser.execute("DROP ROLE humble")


def test_migrating_without_the_right_to_says_which_sql_to_hand_to_whom(face: Face, humble: str) -> None:
    with pytest.raises(ConfigurationError, match=r"(?s)may not.*Hand this to.*CREATE TABLE") as refused:
        face.connect(humble, migrate=True, prefix="humble_")
    assert "humble_message" in str(refused.value)


def test_a_role_without_that_right_works_on_tables_that_are_there(
    face: Face, humble: str, bare_place: Place, superuser: psycopg.Connection
) -> None:
    face.connect(bare_place.url, migrate=True, **bare_place.settings).close()
    schema = sql.Identifier(bare_place.settings["schema"])
    superuser.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO humble").format(schema))
    superuser.execute(
        sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {} TO humble").format(schema)
    )
    superuser.execute(sql.SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {} TO humble").format(schema))
    with face.connect(humble, migrate=True, **bare_place.settings) as database:
        queue = database.queue("mail")
        queue.push("hello", key="m-1")
        with queue.reserving() as message:
            assert message is not None
        assert queue.count() == 0
        assert queue.declare().created == ()
        indexed = database.queue("mail", indexed={"to": str})
        with pytest.raises(ConfigurationError, match=r"(?s)may not.*Hand this to.*CREATE INDEX CONCURRENTLY"):
            indexed.declare()
        assert indexed.definition() == queue.declared


def test_whether_a_user_may_run_workers_takes_one_query(
    open_as: Open, owner: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_as("consumer")
    database.queue("mail").count()  # connects
    asked = texts_of(monkeypatch)
    database.check_may_consume()
    database.check_may_consume()
    (query,) = asked
    assert query.count("has_table_privilege") == sum(len(RIGHTS[name].consumer.split(", ")) for name in WORKED_ON)


def test_a_user_who_may_only_read_some_columns_of_a_table_is_tried_for_each_right(
    open_as: Open,
    owner: Database,
    place: Place,
    superuser: psycopg.Connection,
    role_urls: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    consumer = sql.Identifier(make_url(role_urls["consumer"]).username or "")
    queue = sql.Identifier(place.settings["schema"], "duerow_queue")
    superuser.execute(sql.SQL("REVOKE SELECT ON {} FROM {}").format(queue, consumer))
    superuser.execute(sql.SQL("GRANT SELECT (name) ON {} TO {}").format(queue, consumer))
    try:
        database = open_as("consumer")
        asked = texts_of(monkeypatch)
        database.check_may_consume()
        assert len(asked) > len(WORKED_ON)
    finally:
        superuser.execute(sql.SQL("REVOKE SELECT (name) ON {} FROM {}").format(queue, consumer))
        superuser.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(queue, consumer))


def texts_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which the text of each statement is added from now on."""
    texts: list[str] = []
    of = Texts.of

    def noted(self: Texts, step: Step) -> tuple[str, Any]:
        text, values = of(self, step)
        texts.append(text)
        return text, values

    monkeypatch.setattr(Texts, "of", noted)
    return texts
