"""Possible problems on PostgreSQL: vacuum that falls behind, long-held snapshots, settings, rights."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Interval,
    Select,
    TableClause,
    Text,
    and_,
    any_,
    cast,
    column,
    extract,
    func,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY

from duerow.plan import Plan
from duerow.store import Finding
from duerow.stores.sql.diagnosis import SqlCheck, ask
from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.rights import RIGHTS, ROLES, created
from duerow.stores.sql.tables import Tables

SMALL_INDEX: Final = 4 << 20
"""Bytes below which an index never counts as bloated."""

LARGE_ENTRY: Final = 500
"""Bytes per entry at which an index counts as bloated; about 60 is usual."""

FEW_DEAD: Final = 10_000
"""How many dead rows a table may have before autovacuum counts as late."""

SHORT_TIMEOUT: Final = 5_000
"""Milliseconds; a shorter statement timeout cancels large batches."""


class _Setting(NamedTuple):
    """A setting with a bad value, and why it is bad."""

    name: str
    bad: str
    severity: Any
    what: str
    todo: str


_SETTINGS: Final = (
    _Setting(
        *("fsync", "off", "error", "fsync is off: a crash of the machine can destroy the database"),
        "Set fsync = on",
    ),
    _Setting(
        *("full_page_writes", "off", "error", "full_page_writes is off: a crash can leave damaged pages"),
        "Set full_page_writes = on",
    ),
    _Setting(
        "synchronous_commit",
        "off",
        "warning",
        "synchronous_commit is off: a crash loses the latest pushes and settlements",
        "Set synchronous_commit = on for duerow's role, or accept that",
    ),
    _Setting(
        "default_transaction_read_only",
        "on",
        "error",
        "transactions are read-only by default, so nothing can be pushed or claimed",
        "Connect to the primary, or set default_transaction_read_only = off for duerow's role",
    ),
    _Setting(
        "autovacuum",
        "off",
        "error",
        "autovacuum is off: claims become slower and slower",
        "Set autovacuum = on",
    ),
)

_TIMES: Final = ("statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout")


def _setting(name: str) -> ColumnElement[str]:
    return func.current_setting(const(name), true(), type_=Text())


def settings(tables: Tables, patience: timedelta) -> Plan[list[Finding]]:
    """Find settings that endanger committed data, or cancel duerow's statements."""
    names = [one.name for one in _SETTINGS]
    level = _setting("transaction_isolation")
    asked = [*map(_setting, names), level, func.pg_is_in_recovery(), *map(_milliseconds, _TIMES)]
    row = (yield from ask(select(*(one.label(f"asked_{number}") for number, one in enumerate(asked)))))[0]
    values = dict(zip(names, row, strict=False))
    found = [
        Finding(f"setting-{one.name.replace('_', '-')}", one.severity, one.what, one.name, one.todo)
        for one in _SETTINGS
        if values[one.name] == one.bad
    ]
    isolation, standby, *times = row[len(names) :]
    if isolation != "read committed":
        what = f"sessions run at isolation {isolation}, where claims conflict and are repeated"
        todo = "Set default_transaction_isolation = 'read committed' for duerow's role, or pass a URL"
        found.append(Finding("isolation", "warning", what, "default_transaction_isolation", todo))
    if standby:
        what, todo = "this server is a standby: nothing can be pushed or claimed", "Connect to the primary"
        found.append(Finding("standby", "error", what, "server", todo))
    for name, milliseconds in zip(_TIMES, times, strict=True):
        if 0 < int(milliseconds or 0) < SHORT_TIMEOUT:
            what = f"{name} is {milliseconds} ms, which can cancel large batches or transactional handlers"
            todo = f"Set {name} to 0, or to more than {SHORT_TIMEOUT} ms, for duerow's role"
            found.append(Finding("short-timeout", "warning", what, name, todo))
    return found


def _milliseconds(name: str) -> ColumnElement[int]:
    """Return a time setting in milliseconds: as text, it has a unit."""
    known = TableClause("pg_settings", column("name"), column("setting"), schema="pg_catalog")
    return select(cast(known.c.setting, BigInteger)).where(known.c.name == const(name)).scalar_subquery()


def autovacuum(tables: Tables, patience: timedelta) -> Plan[list[Finding]]:
    """Find tables that are not vacuumed, or not often enough."""
    columns = ("relid", "relname", "n_live_tup", "n_dead_tup")
    stat = TableClause("pg_stat_all_tables", *map(column, columns), schema="pg_catalog")
    known = TableClause("pg_class", column("oid"), column("reloptions"), schema="pg_catalog")
    off = const("autovacuum_enabled=false") == any_(func.coalesce(known.c.reloptions, cast(const("{}"), ARRAY(Text()))))
    query = (
        select(stat.c.relname, stat.c.n_live_tup, stat.c.n_dead_tup, off.label("off"))
        .join_from(stat, known, known.c.oid == stat.c.relid)
        .where(_ours(stat.c.relid, tables))
    )
    found: list[Finding] = []
    for name, live, dead, disabled in (yield from ask(query)):
        if disabled:
            todo = f"ALTER TABLE {name} RESET (autovacuum_enabled)"
            found.append(Finding("autovacuum-off", "error", "autovacuum is switched off for a table", name, todo))
        if dead > FEW_DEAD and dead > live:
            what = f"autovacuum is behind: {dead} dead rows among {live} live ones slow down claims"
            todo = (
                f"VACUUM (ANALYZE) {name} now; look for old transactions, and raise autovacuum_max_workers or "
                "autovacuum_vacuum_cost_limit"
            )
            found.append(Finding("autovacuum-behind", "warning", what, name, todo))
    return found


def _ours(relation: ColumnElement[Any], tables: Tables) -> ColumnElement[bool]:
    """Return the condition that a relation is one of duerow's tables."""
    names = [_named(tables, table.name) for table in tables.message.metadata.tables.values()]
    found = [func.to_regclass(literal(name, Text())) for name in names]
    return or_(*(relation == one for one in found))


def _named(tables: Tables, name: str) -> str:
    return f'"{tables.schema}"."{name}"' if tables.schema else f'"{name}"'


def bloat(tables: Tables, patience: timedelta) -> Plan[list[Finding]]:
    """Find indexes that take up far more space than their entries need."""
    index = TableClause("pg_index", column("indexrelid"), column("indrelid"), schema="pg_catalog")
    known = TableClause("pg_class", column("oid"), column("relname"), column("reltuples"), schema="pg_catalog")
    stat = TableClause("pg_stat_all_tables", column("relid"), column("n_live_tup"), schema="pg_catalog")
    size = func.pg_relation_size(index.c.indexrelid, type_=BigInteger())
    entries = cast(func.greatest(known.c.reltuples, stat.c.n_live_tup, const(1)), BigInteger)
    query = (
        select(known.c.relname, size.label("size"), entries.label("entries"))
        .select_from(index)
        .join(known, known.c.oid == index.c.indexrelid)
        .join(stat, stat.c.relid == index.c.indrelid)
        .where(_ours(index.c.indrelid, tables), size > literal(SMALL_INDEX), size > literal(LARGE_ENTRY) * entries)
    )
    return [
        Finding(
            "index-bloated",
            "warning",
            f"an index takes {size >> 10} KiB for about {entries} entries",
            name,
            f"REINDEX INDEX CONCURRENTLY {_named(tables, name)}, after long transactions have ended",
        )
        for name, size, entries in (yield from ask(query))
    ]


def snapshots(tables: Tables, patience: timedelta) -> Plan[list[Finding]]:
    """Find transactions that keep vacuum from removing dead rows."""
    found: list[Finding] = []
    for pid, state, seconds, application in (yield from ask(_held(patience))):
        what = f"a transaction has been open for {seconds:.0f} s ({state}, {application or 'no application name'})"
        todo = (
            f"End it in its program, or SELECT pg_terminate_backend({pid}); set idle_in_transaction_session_timeout "
            "for other programs"
        )
        found.append(Finding("old-snapshot", "warning", f"{what}; vacuum removes nothing newer", f"pid {pid}", todo))
    prepared = TableClause("pg_prepared_xacts", column("gid"), column("prepared"), schema="pg_catalog")
    old = select(prepared.c.gid).where(prepared.c.prepared < _since(patience))
    for (name,) in (yield from ask(old)):
        what = "a prepared transaction was neither committed nor rolled back; vacuum removes nothing newer"
        todo = f"COMMIT PREPARED '{name}' or ROLLBACK PREPARED '{name}'"
        found.append(Finding("old-prepared", "warning", what, name, todo))
    slot = TableClause(
        "pg_replication_slots", column("slot_name"), column("active"), column("xmin"), schema="pg_catalog"
    )
    for (name,) in (yield from ask(select(slot.c.slot_name).where(slot.c.xmin.is_not(None), ~slot.c.active))):
        what = "a replication slot that nobody uses holds a snapshot; vacuum removes nothing newer"
        found.append(Finding("idle-slot", "warning", what, name, f"SELECT pg_drop_replication_slot('{name}')"))
    return found


def _since(patience: timedelta) -> ColumnElement[Any]:
    return func.clock_timestamp() - cast(literal(f"{patience.total_seconds()} seconds", Text()), Interval())


def _held(patience: timedelta) -> Select[Any]:
    columns = ("pid", "state", "xact_start", "backend_xmin", "backend_xid", "backend_type", "application_name")
    session = TableClause("pg_stat_activity", *map(column, columns), schema="pg_catalog")
    seconds = extract("epoch", func.clock_timestamp() - session.c.xact_start)
    return select(session.c.pid, session.c.state, seconds.label("seconds"), session.c.application_name).where(
        and_(
            session.c.xact_start < _since(patience),
            session.c.pid != func.pg_backend_pid(),
            session.c.backend_type == const("client backend"),
            or_(session.c.backend_xmin.is_not(None), session.c.backend_xid.is_not(None)),
        )
    )


def rights(tables: Tables, patience: timedelta) -> Plan[list[Finding]]:
    """Report which of the four roles this user has the rights for, unless it has all of them."""
    names = {table.name: table.name.removeprefix(tables.prefix) for table in created(tables, PostgreSQL())}
    kinds = ("SELECT", "INSERT", "UPDATE", "DELETE")
    asked = [
        func.has_table_privilege(literal(_named(tables, name), Text()), const(kind)).label(f"{short}_{kind}")
        for name, short in names.items()
        for kind in kinds
    ]
    row = iter((yield from ask(select(*asked)))[0])
    may = {short: {kind for kind in kinds if next(row)} for short in names.values()}
    lacking = {
        role: sorted(
            f"{kind} on {tables.prefix}{short}"
            for short, has in may.items()
            for kind in filter(None, getattr(RIGHTS[short], role).split(", "))
            if kind not in has
        )
        for role in ROLES
    }
    fine = [role for role, missing in lacking.items() if not missing]
    if len(fine) == len(ROLES):
        return []
    if "producer" in fine or "consumer" in fine or "operator" in fine:
        what = f"this user has the rights of {', '.join(fine)}, but not of " + ", ".join(sorted(set(ROLES) - set(fine)))
        return [Finding("rights-partly", "note", what, "rights", "Nothing to do if this program needs no other rights")]
    what = f"this user lacks rights that a producer needs: {', '.join(lacking['producer'][:6])}"
    severity: Any = "warning" if fine else "error"
    return [Finding("rights", severity, what, "rights", "Run the output of `duerow sql --roles` as the owner")]


CHECKS: Final[Mapping[str, SqlCheck]] = {
    "settings": settings,
    "autovacuum": autovacuum,
    "bloat": bloat,
    "snapshots": snapshots,
    "rights": rights,
}
