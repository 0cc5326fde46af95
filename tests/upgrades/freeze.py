"""Freeze the tables of this version, as SQL, for the tests of later versions: see README.md.

python -m tests.upgrades.freeze
"""

import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import duerow
from duerow import Bury, Draft, Pipeline, Relay, Sink
from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.migrations import MIGRATIONS, Migrations
from duerow.stores.sql.tables import Tables
from duerow.sync.database import Database

TABLES: Final = Path(__file__).parent / "tables"

EMPTY: Final = {"postgresql": PostgreSQL(), "mariadb": MariaDB()}
"""The databases whose tables are kept without rows."""


def refuse(message: duerow.Message) -> None:
    """Give a message up."""
    raise Bury("not wanted")


def pipeline() -> Pipeline:
    """The pipeline that the rows know."""
    return Pipeline("parcels", [Relay("weigh", dict, to="send"), Sink("send", print)])


def fill(db: Database) -> None:
    """Put a message of each state into a database, and all that is kept beside messages."""
    mail = db.queue("mail", history=timedelta(days=36_500), remember_keys=timedelta(days=36_500))
    mail.declare()
    mail.push("handled", key="handled")
    duerow.Worker(mail, lambda message: None).run(until="empty")
    mail.push("refused", key="refused")
    duerow.Worker(mail, refuse).run(until="idle")
    mail.push("leased", key="leased")
    assert mail.reserve(lease=timedelta(seconds=1)) is not None
    mail.push_many([Draft({"n": n}, key=f"ready-{n}", group="a", priority=n) for n in range(3)])
    mail.push("later", due=datetime(2100, 1, 1, tzinfo=UTC))
    db.queue("halted").push("paused")
    db.queue("halted").pause()
    db.schedule("nightly", queue="mail", payload="tick", cron="0 3 * * *", start=datetime(2100, 1, 1, tzinfo=UTC))
    db.declare_pipeline(pipeline())


def main() -> None:
    """Write the files of this version."""
    folder = TABLES / f"{len(MIGRATIONS):04}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, dialect in EMPTY.items():
        (folder / f"{name}.sql").write_text(Migrations(Tables(dialect, "duerow_", None), dialect).sql())
    with tempfile.TemporaryDirectory() as place:
        with duerow.connect(f"sqlite:///{place}/frozen.db", migrate=True) as db:
            fill(db)
        with closing(sqlite3.connect(f"{place}/frozen.db")) as connection:
            (folder / "sqlite.sql").write_text("".join(f"{line}\n" for line in connection.iterdump()))
    print(f"wrote {folder}")


if __name__ == "__main__":
    main()
