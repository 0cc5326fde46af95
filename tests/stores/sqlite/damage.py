"""How the rows of an SQLite file are damaged: its columns take values of any type."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

from duerow.testing.conformance.fixtures import Harm

DEEP = "[" * 990 + "]" * 990

HARMS = {
    "due before all years": "due_at = -9223372036854775808",
    "due since ever": "due_at = -9e999",
    "created after all years": "created_at = 9223372036854775807",
    "created at a word": "created_at = 'noon'",
    "first due before all years": "first_due_at = -9223372036854775000",
    "a payload that is not UTF-8": "payload = CAST(x'22ff22' AS TEXT)",
    "a payload of bytes": "payload = x'5b5d'",
    "a payload that is no JSON": "payload = '{'",
    "a payload with U+0000": "payload = CAST(x'220022' AS TEXT)",
    "a payload nested too deep": f"payload = '{DEEP}'",
    "headers nested too deep": f"headers = '{DEEP}'",
    "headers that are no JSON": "headers = 'x'",
    "headers of bytes": "headers = x'ff'",
    "headers that are a number": "headers = 5",
    "an error of bytes": "last_error = x'ff'",
    "a key of bytes": "key = x'ff'",
    "a key that is not UTF-8": "key = CAST(x'ff' AS TEXT)",
    "a group of bytes": "\"group\" = x'ff'",
    "attempts below 0": "attempts = -5",
    "a token that is no integer": "token = 1.5",
    "an unknown status": "status = 'wild'",
    "a status of bytes": "status = x'ff'",
    "a priority that is no integer": "priority = 1.5",
}

HARMS_OUT_OF_LINE = {
    "a kind of bytes": "kind = x'00ff'",
    "a kind that is not UTF-8": "kind = CAST(x'ff' AS TEXT)",
    "a kind with U+0000": "kind = CAST(x'6a0022' AS TEXT)",
    "due at a word": "due_at = 'soon'",
    "due after all years": "due_at = 9223372036854775807",
    "a priority that is a word": "priority = 'high'",
    "a priority beyond all": "priority = 100000",
}


def harm(file: Path, setting: str, id: int) -> None:
    """Set columns of a row, past all checks."""
    with closing(sqlite3.connect(file, isolation_level=None, timeout=30)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(f"UPDATE duerow_message SET {setting} WHERE id = ?", [id])


def ways(file: Path, settings: dict[str, str]) -> dict[str, Harm]:
    """Return ways to damage a row."""
    return {name: partial(harm, file, setting) for name, setting in settings.items()}
