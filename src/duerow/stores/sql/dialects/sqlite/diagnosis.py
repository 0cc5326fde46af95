"""Possible problems with SQLite: its journal, its settings, and its file system."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Text, column, text

from duerow.plan import Plan
from duerow.store import Finding
from duerow.stores.sql.diagnosis import SqlCheck, ask
from duerow.stores.sql.tables import Tables

MOUNTS: Final = Path("/proc/mounts")
"""Linux's table of mounted file systems."""

REMOTE: Final = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.s3fs")
)
"""File systems whose locks or shared memory do not work between hosts."""

FLEETING: Final = frozenset(("tmpfs", "ramfs"))
"""File systems whose contents are lost when the machine restarts."""

LARGE_LOG: Final = 256 << 20
"""The size in bytes of a write-ahead log that is probably kept from being emptied by a reader."""

SHORT_WAIT: Final = 1_000
"""Milliseconds; if connections wait less than this for other writers, writes fail under load."""


def _pragma(name: str) -> Any:
    return text(f"PRAGMA {name}").columns(column("value"))


def journal(tables: Tables, patience: timedelta) -> Plan[list[Finding]]:
    """Find a journal mode or connection settings that make writers block readers or lose committed data."""
    mode = (yield from ask(_pragma("journal_mode")))[0][0]
    synchronous = int((yield from ask(_pragma("synchronous")))[0][0])
    waits = int((yield from ask(_pragma("busy_timeout")))[0][0])
    found: list[Finding] = []
    if str(mode).lower() != "wal":
        what = f"the journal mode is {mode}: a writer blocks all readers, and readers block it"
        todo = (
            "Connect by URL, or run PRAGMA journal_mode = WAL; if the mode does not change, the file system does not "
            "support shared memory"
        )
        found.append(Finding("journal-mode", "error", what, "journal_mode", todo))
    if not synchronous:
        what = "synchronous is OFF: a power failure can destroy the file"
        found.append(Finding("synchronous-off", "error", what, "synchronous", "Set it to FULL, the default of duerow"))
    if waits < SHORT_WAIT:
        what = f"a writer waits only {waits} ms for others, and then fails"
        found.append(Finding("short-wait", "warning", what, "busy_timeout", "Connect by URL, or set it to 30000"))
    return found


def files(tables: Tables, patience: timedelta) -> Plan[list[Finding]]:
    """Find an unsuitable file system, or a write-ahead log that is not emptied."""
    query = text("PRAGMA database_list").columns(column("seq"), column("name", Text()), column("file", Text()))
    paths = [Path(row[2]) for row in (yield from ask(query)) if row[1] == "main" and row[2]]
    found: list[Finding] = []
    for path in paths:
        kind = file_system(path, MOUNTS.read_text() if MOUNTS.exists() else "")
        if kind in REMOTE:
            what = f"the file is on {kind}, whose locks SQLite cannot rely on: two hosts can damage it"
            todo = "Put it on a local disk, or use a database with a server"
            found.append(Finding("remote-files", "error", what, str(path), todo))
        if kind in FLEETING:
            what = f"the file is on {kind}: it is gone when the machine restarts"
            found.append(Finding("fleeting-files", "warning", what, str(path), "Put it on a disk"))
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and (size := log.stat().st_size) > LARGE_LOG:
            what = f"the write-ahead log is {size >> 20} MiB long: a transaction that stays open prevents emptying it"
            todo = "End long reads of other programs; PRAGMA wal_checkpoint(TRUNCATE) empties it"
            found.append(Finding("large-log", "warning", what, str(log), todo))
    return found


def file_system(path: Path, mounts: str) -> str | None:
    """Return the type of a path's file system according to /proc/mounts; None: unknown."""
    kinds: dict[str, str] = {}
    for line in mounts.splitlines():
        _, at, kind, *_ = line.split(" ")
        kinds[at.replace("\\040", " ")] = kind
    where = path.resolve()
    return next((kinds[str(place)] for place in (where, *where.parents) if str(place) in kinds), None)


CHECKS: Final[Mapping[str, SqlCheck]] = {"journal": journal, "files": files}
