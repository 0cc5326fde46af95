"""Finished turns by the million, of which the first are kept no longer."""

from __future__ import annotations

from typing import Final

EXPIRED: Final = 150
"""How many have been kept long enough."""

FIRST_ID: Final = 1_000_000_000
"""They are of messages that no other part of the crowd can be."""

_COLUMNS: Final = (
    "id, token, queue, kind, payload, priority, outcome, attempts, created_at, first_due_at, due_at, started_at, "
    "finished_at, until"
)


def on_postgresql(schema: str, count: int) -> str:
    """Return the statement that writes so many."""
    past = "statement_timestamp() - n * INTERVAL '1 millisecond'"
    until = f"CASE WHEN n <= {EXPIRED} THEN {past} ELSE statement_timestamp() + INTERVAL '1 day' END"
    return f"INSERT INTO {schema}.duerow_history ({_COLUMNS}) SELECT {_values(past, until)} " + (
        f"FROM generate_series(1, {count}) AS numbers(n)"
    )


def on_mariadb(schema: str, numbers: str) -> str:
    """Return the statement that writes as many as there are numbers `n` in a table."""
    past = "TIMESTAMPADD(MICROSECOND, -1000 * n, UTC_TIMESTAMP(6))"
    until = f"CASE WHEN n <= {EXPIRED} THEN {past} ELSE UTC_TIMESTAMP(6) + INTERVAL 1 DAY END"
    return f"INSERT INTO {schema}.duerow_history ({_COLUMNS}) SELECT {_values(past, until)} FROM {numbers}"


def on_sqlite(count: int) -> str:
    """Return the statement that writes so many."""
    now = "CAST(unixepoch() AS INTEGER) * 1000000"
    until = f"CASE WHEN n <= {EXPIRED} THEN {now} - n ELSE {now} + 86400000000 END"
    return (
        f"WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < {count}) "
        f"INSERT INTO duerow_history ({_COLUMNS}) SELECT {_values(f'{now} - n * 1000', until)} FROM numbers"
    )


def _values(past: str, until: str) -> str:
    return f"{FIRST_ID} + n, 1, 'mail', 'json', '{{}}', 0, 'done', 1, {', '.join([past] * 5)}, {until}"
