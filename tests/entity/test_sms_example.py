"""The example of the text messages does what it says, and so does the SQL of its page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.orm import Session

from examples.sms.__main__ import main
from examples.sms.producer import write_messages
from examples.sms.tables import Base
from tests.processes import running_program
from tests.servers.fixtures import ON_MYSQL

PAGE = Path(__file__).parents[2] / "examples" / "sms" / "README.md"
BLOCK = re.compile(r"^<!-- (?P<name>[^>]*) -->\n```sql\n(?P<sql>.*?)^```$", re.DOTALL | re.MULTILINE)
STATEMENTS = {found["name"]: found["sql"].strip().removesuffix(";") for found in BLOCK.finditer(PAGE.read_text())}


@pytest.fixture(params=["sqlite", "postgresql", "mariadb", *ON_MYSQL])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """The application's database."""
    if request.param == "sqlite":
        engine = create_engine(f"sqlite:///{tmp_path}/sms.db")
    else:
        url: str = request.getfixturevalue(f"{request.param}_url")
        engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:").replace("mysql:", "mysql+pymysql:"))
    yield engine
    Base.metadata.drop_all(engine)
    engine.dispose()


def run(engine: Engine, *arguments: str) -> None:
    """Run the application on a database, as fast as it goes."""
    url = engine.url.render_as_string(hide_password=False)
    fast = ("--delay", "0", "--retry-after", "0", "--senders", "3")
    assert main(["--url", url, *fast, *arguments]) == 0


def ask(connection: Connection, name: str) -> list[Any]:
    """Execute a statement of the page, as its database writes it; return its rows."""
    mine = f"{name}, {connection.dialect.name}"
    result = connection.execute(text(STATEMENTS[mine if mine in STATEMENTS else name]))
    return [tuple(row) for row in result] if result.returns_rows else []


def test_messages_are_sent_tried_again_and_given_up_and_looked_after_by_ordinary_sql(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    run(engine, "--messages", "9", "--failures", "0", "--batch", "4")
    said = capsys.readouterr().out
    fetched = [int(number) for number in re.findall(r"fetched (\d+) of sms_message\.sending", said)]
    assert sum(fetched) == 9
    assert max(fetched) <= 4  # how many each time depends on how long sending took so far
    assert re.search(r"sent message \d+ of shop-1 to \+385 91 \d{6}", said)
    assert "9 sent now, 9 in all; 0 ready, 0 waiting for another attempt, 0 dead" in said

    run(engine, "--messages", "4", "--failures", "1")
    said = capsys.readouterr().out
    attempt = r"message 10 of sms_message\.sending failed at attempt 2: ConnectionError: .*; retry at .* UTC"
    assert re.search(attempt, said)
    assert "message 10 of sms_message.sending is buried after attempt 3: ConnectionError: the gateway" in said
    assert "0 sent now, 9 in all; 0 ready, 0 waiting for another attempt, 4 dead" in said

    with engine.begin() as connection:
        assert ask(connection, "count pending") == [(0,)]
        assert ask(connection, "count by sender") == [
            *(("shop-1", "dead", 2), ("shop-1", "done", 3)),
            *(("shop-2", "dead", 1), ("shop-2", "done", 3)),
            *(("shop-3", "dead", 1), ("shop-3", "done", 3)),
        ]
        failures = ask(connection, "failures since")
        assert [(id, attempts) for id, _, attempts, *_ in failures] == [(10, 3), (11, 3), (12, 3), (13, 3)]
        assert all("the gateway does not answer" in cause for *_, cause in failures)
        ask(connection, "revive")
        assert ask(connection, "count pending") == [(4,)]
        connection.execute(text("UPDATE sms_message SET sending_due_at = NULL WHERE id = 10"))
    run(engine, "--messages", "0", "--failures", "0")
    assert "3 sent now, 12 in all; 0 ready, 0 waiting for another attempt, 1 dead" in capsys.readouterr().out
    with engine.begin() as connection:
        ask(connection, "delete by attempts")
        assert connection.execute(text("SELECT count(*) FROM sms_message")).scalar() == 12
        ask(connection, "delete one")
        assert connection.execute(text("SELECT id FROM sms_message WHERE id IN (7, 8)")).scalars().all() == [8]


def test_every_statement_of_the_page_is_tried() -> None:
    shared = {"count pending", "count by sender", "delete by attempts", "delete one"}
    dialects = ("sqlite", "postgresql", "mysql")
    apart = {f"{name}, {dialect}" for name in ("failures since", "revive") for dialect in dialects}
    assert STATEMENTS.keys() == shared | apart
    assert PAGE.read_text().count("```sql") == len(STATEMENTS)


def test_two_processes_share_the_messages_and_send_each_once(engine: Engine) -> None:
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        write_messages(session, 40, senders=2, random=Random(1))
    url = engine.url.render_as_string(hide_password=False)
    sending = ("--messages", "0", "--failures", "0", "--delay", "0.005", "--batch", "5", "--poll", "0.1")
    with ExitStack() as started:
        program = ("examples.sms", ["--url", url, *sending], PAGE.parents[2])
        processes = [started.enter_context(running_program(*program)) for _ in range(2)]
        said = [process.communicate()[0] for process in processes]
        assert [process.returncode for process in processes] == [0, 0], said
    sent = [int(id) for lines in said for id in re.findall(r"sent message (\d+) of", lines)]
    assert sorted(sent) == list(range(1, 41))
