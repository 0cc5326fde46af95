"""Spark's own JDBC source and sink, which the data source is measured against, and the driver that they need.

The driver is a jar: what DUEROW_JDBC_JAR names, else that of Debian's package libpostgresql-jdbc-java, installed or
fetched by apt-get.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.floor import TABLE
from bench.messages import QUEUE

INSTALLED = Path("/usr/share/java/postgresql.jar")
PACKAGE = "libpostgresql-jdbc-java"
FETCH = 10_000
BATCH = 10_000

COLUMNS = (
    'id, token, queue, key, kind, payload::text, headers::text, "group", priority, status, '
    "coalesce(due_at, behind_at) AS due_at, first_due_at, attempts, leased_by, leased_until, created_at, "
    "last_attempt_at, last_error::text"
)
"""The columns of a frame of messages."""


def jar(folder: Path) -> Path:
    """Return the driver; fetched into the folder if it has to be.

    Raises:
        RuntimeError: there is none, and apt-get has none either.
    """
    named = os.environ.get("DUEROW_JDBC_JAR")
    if named:
        return Path(named)
    if INSTALLED.exists():
        return INSTALLED
    fetched = subprocess.run(["apt-get", "download", PACKAGE], cwd=folder, capture_output=True, text=True, check=False)
    packages = list(folder.glob(f"{PACKAGE}*.deb"))
    if fetched.returncode or not packages:
        raise RuntimeError(f"no JDBC driver: install {PACKAGE}, or name the jar in DUEROW_JDBC_JAR; {fetched.stderr}")
    subprocess.run(["dpkg", "-x", packages[0], folder], check=True)
    return next((folder / "usr/share/java").glob("postgresql-[0-9]*.jar"))


def options(url: str, **more: object) -> dict[str, str]:
    """Return the options of Spark's JDBC source for a URL; text is let through as JSON, and batches are rewritten."""
    parts = urlsplit(url)
    address = f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}"
    asked = f"?stringtype=unspecified&reWriteBatchedInserts=true&user={parts.username}"
    if parts.password:
        asked += f"&password={parts.password}"
    given = {"url": address + asked, "driver": "org.postgresql.Driver", **more}
    return {name: str(value) for name, value in given.items()}


def read(session: Any, url: str, ids: list[int], partitions: int) -> Any:
    """Return a frame of the benchmark's messages, read in parallel by ranges of ids."""
    rows = f"(SELECT {COLUMNS} FROM {TABLE} WHERE queue = '{QUEUE}') AS messages"
    bounds = {"partitionColumn": "id", "lowerBound": min(ids), "upperBound": max(ids), "numPartitions": partitions}
    return session.read.format("jdbc").options(**options(url, dbtable=rows, fetchsize=FETCH, **bounds)).load()


def append(session: Any, url: str, payloads: Any) -> None:
    """Insert messages with these payloads into duerow's own table, as JDBC appends rows to any."""
    now = "current_timestamp()"
    rows = payloads.selectExpr(
        f"'{QUEUE}' AS queue",
        "'json' AS kind",
        "payload",
        "0 AS priority",
        "'new' AS status",
        f"{now} AS due_at",
        f"{now} AS first_due_at",
        "0 AS attempts",
        "0L AS token",
        f"{now} AS created_at",
    )
    rows.write.format("jdbc").options(**options(url, dbtable=TABLE, batchsize=BATCH)).mode("append").save()
