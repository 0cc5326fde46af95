"""Possible problems on MySQL and MariaDB: packets, isolation, timeouts, durability, long transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import TableClause, Text, column, func, literal, select, text

from duerow.plan import Plan
from duerow.store import Finding
from duerow.stores.sql.diagnosis import SqlCheck, ask
from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.dialects.mysql.server import LEAST_PACKET
from duerow.stores.sql.tables import Tables

SHORT_REST: Final = 60
"""Seconds; if the server closes idle connections sooner than this, they break in the pool."""


class _Variable(NamedTuple):
    """A variable, its bad values, and why they are bad."""

    name: str
    bad: Callable[[str], bool]
    code: str
    severity: Any
    what: str
    todo: str


_VARIABLES: Final = (
    _Variable(
        "max_allowed_packet",
        lambda value: int(value) < LEAST_PACKET,
        "small-packets",
        "error",
        "the server accepts packets of up to {} bytes, and disconnects clients that send more",
        f"SET GLOBAL max_allowed_packet = {LEAST_PACKET}, and reconnect",
    ),
    _Variable(
        "transaction_isolation",
        lambda value: value not in ("", "READ-COMMITTED"),
        "isolation",
        "warning",
        "sessions run at isolation {}, which locks gaps: producers and workers can deadlock",
        "Connect by URL, or set transaction_isolation = 'READ-COMMITTED'",
    ),
    _Variable(
        "tx_isolation",
        lambda value: value not in ("", "READ-COMMITTED"),
        "isolation",
        "warning",
        "sessions run at isolation {}, which locks gaps: producers and workers can deadlock",
        "Connect by URL, or set tx_isolation = 'READ-COMMITTED'",
    ),
    _Variable(
        "wait_timeout",
        lambda value: int(value) < SHORT_REST,
        "short-timeout",
        "warning",
        "the server closes connections idle for {} s",
        f"Set wait_timeout to more than {SHORT_REST}",
    ),
    _Variable(
        "innodb_flush_log_at_trx_commit",
        lambda value: value != "1",
        "lazy-commits",
        "warning",
        "a crash loses the pushes and settlements of the last second (value {})",
        "SET GLOBAL innodb_flush_log_at_trx_commit = 1, or accept that",
    ),
    _Variable(
        "read_only",
        lambda value: value in ("ON", "1"),
        "read-only",
        "error",
        "the server is read-only ({}): only administrators can push or claim",
        "Connect to the primary",
    ),
)


def variables(tables: Tables, patience: timedelta) -> Plan[list[Finding]]:
    """Find variables of the server and the session with harmful values."""
    names = ", ".join(f"'{one.name}'" for one in _VARIABLES)
    shown = text(f"SHOW VARIABLES WHERE Variable_name IN ({names})").columns(column("name", Text()), column("value"))
    values = {str(name).lower(): str(value) for name, value in (yield from ask(shown))}
    if "transaction_isolation" in values:
        values.pop("tx_isolation", None)
    return [
        Finding(one.code, one.severity, one.what.format(value), one.name, one.todo)
        for one in _VARIABLES
        if (value := values.get(one.name)) is not None and one.bad(value)
    ]


def snapshots(tables: Tables, patience: timedelta) -> Plan[list[Finding]]:
    """Find transactions that keep old versions of rows from being purged."""
    columns = ("trx_mysql_thread_id", "trx_started")
    known = TableClause("innodb_trx", *map(column, columns), schema="information_schema")
    seconds = func.timestampdiff(text("SECOND"), known.c.trx_started, func.now())
    query = select(known.c.trx_mysql_thread_id, seconds.label("seconds")).where(
        seconds >= literal(int(patience.total_seconds())), known.c.trx_mysql_thread_id != func.connection_id()
    )
    return [
        Finding(
            "old-snapshot",
            "warning",
            f"a transaction has been open for {open_for} s; row versions created since then are not purged",
            f"connection {number}",
            f"End it in its program, or KILL {number}",
        )
        for number, open_for in (yield from ask(query.order_by(const(2))))
    ]


CHECKS: Final[Mapping[str, SqlCheck]] = {"variables": variables, "snapshots": snapshots}
