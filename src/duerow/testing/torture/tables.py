"""The tables of a run: made under a prefix of their own, read in plain SQL when all is over, and dropped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Engine, MetaData, Select, column, func, inspect, select, table

import duerow
from duerow.errors import ConfigurationError
from duerow.testing.torture.environment import WORKED, Setting
from duerow.testing.torture.evidence import Row, Turn
from duerow.testing.torture.ledger import Ledger

PREFIX: Final = "torture_"
"""What the names of all tables of a run begin with."""

SIGNS: Final = ("message", "queue", "schema")
"""What the names of tables end with that are duerow's, behind their prefix."""


class OtherQueues(ConfigurationError):
    """The database has queues that are no run's."""


def prefix_of(seed: int) -> str:
    """Return what the names of the tables of a run begin with."""
    return f"{PREFIX}{seed:x}_"


def check_is_free(setting: Setting) -> None:
    """Raise OtherQueues if the database has queues of somebody else."""
    found = sorted(_prefixes(setting.engine))
    if found:
        raise OtherQueues(
            f"this database has queues already, in tables that begin with {', '.join(found)}; a run slows it down, and "
            "may restart it: take another database, or say that it may be shared"
        )


def create(setting: Setting) -> None:
    """Make the tables of a run anew."""
    drop(setting)
    duerow.connect(setting.url, migrate=True, **setting.all_settings).close()
    Ledger(setting).create()


def drop(setting: Setting) -> None:
    """Drop all tables of a run."""
    found = MetaData()
    found.reflect(setting.engine, only=lambda name, _: name.startswith(setting.prefix))
    found.drop_all(setting.engine)


def _prefixes(engine: Engine) -> Iterator[str]:
    """Yield the prefixes of duerow's tables in each schema, but those of runs."""
    looking = inspect(engine)
    system = ("pg_", "information_schema")
    several = engine.dialect.name == "postgresql"  # elsewhere a schema is another database
    names = [one for one in looking.get_schema_names() if not one.startswith(system)] if several else [None]
    for schema in names:
        tables = set(looking.get_table_names(schema))
        for prefix in {name.removesuffix(SIGNS[0]) for name in tables if name.endswith(SIGNS[0])}:
            if not prefix.startswith(PREFIX) and tables.issuperset(prefix + sign for sign in SIGNS):
                yield f"{schema}.{prefix}" if schema else prefix


class Reader:
    """Reads the tables of a run.

    Args:
        setting: where they are.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        names = ("id", "queue", "status", "payload", "headers", "group", "leased_by")
        self._message = table(f"{setting.prefix}message", *map(column, names))
        past = ("id", "token", "queue", "outcome", "attempts", "worker", "finished_at")
        self._history = table(f"{setting.prefix}history", *map(column, past))
        self._ledger = Ledger(setting).table

    def begun(self) -> int:
        """Return how many turns were begun: if hardly any was, little is shown."""
        counting = select(func.count()).where(self._ledger.c.what == "begun")
        return int(self._read(counting)[0][0])

    def left(self) -> int:
        """Return how many messages are still to be handled."""
        return int(self._read(waiting(self._setting))[0][0])

    def rows(self) -> list[Row]:
        """Return all messages."""
        found = self._read(select(self._message))
        rows = []
        with self._setting.open() as database:
            for id, queue, status, payload, headers, group, leased_by in found:
                why = ""
                if queue in WORKED and status != "dead":
                    why = "; ".join(reason.text for reason in database.queue(queue).why(id))
                rows.append(Row(id, _word(queue), status, _json(payload), _json(headers), _word(group), leased_by, why))
        return rows

    def turns(self) -> list[Turn]:
        """Return all turns in the history."""
        return [
            Turn(id, token, _word(queue), outcome, attempts, worker, str(at))
            for id, token, queue, outcome, attempts, worker, at in self._read(select(self._history))
        ]

    def _read(self, query: Select[Any]) -> list[Any]:
        with self._setting.engine.connect() as connection:
            return list(connection.execute(query).all())


def waiting(setting: Setting) -> Select[Any]:
    """Return the query that counts the messages which are still to be handled."""
    message = table(f"{setting.prefix}message", column("queue"), column("status"))
    there = message.c.queue.in_(WORKED), message.c.status.in_(("new", "error"))
    return select(func.count()).select_from(message).where(*there)


def _word(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _json(value: Any) -> Any:
    if value is None:
        return {}
    return json.loads(value) if isinstance(value, str | bytes) else value
