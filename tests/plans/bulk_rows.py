"""The messages that stand beside those that are asked for, written by SQL since there may be millions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

QUEUE: Final = "mail"
GROUPS: Final = "groups"
LETTERS: Final = "letters"
"""A queue without groups, with messages due, delayed and dead."""

LEASED: Final = 300
"""Messages that a consumer has, to be settled."""

CONSUMER: Final = "host:1:w/claim"


@dataclass(frozen=True)
class Crowd:
    """How many there are of each kind.

    Attributes:
        ready: due in the queue at priority 0, each tenth with a key.
        delayed: in the same queue at the highest priority, due in an hour.
        behind: of one group in the same queue, behind a message that is leased.
        groups: groups of two in a queue of groups.
        dead: given up in the same queue.
        history: finished turns.
    """

    ready: int
    delayed: int
    behind: int
    groups: int
    dead: int
    history: int


FEW: Final = Crowd(ready=1_100, delayed=0, behind=150, groups=300, dead=150, history=200)
SMALL: Final = Crowd(ready=2_000, delayed=4_000, behind=3_000, groups=1_500, dead=1_500, history=2_000)
FULL: Final = Crowd(ready=200_000, delayed=1_000_000, behind=1_000_000, groups=10_000, dead=200_000, history=5_000_000)

COLUMNS: Final = (
    'queue, key, kind, payload, "group", priority, status, due_at, behind_at, first_due_at, attempts, token, '
    "leased_by, leased_until, created_at, place_at, last_attempt_at"
)


class Dialect(Protocol):
    """How one database writes what the others write too."""

    def series(self, count: int) -> str:
        """Return what to select the numbers 1 … count as n from."""
        ...

    def moment(self, seconds: str) -> str:
        """Return the moment that is so many seconds from now."""
        ...


def insertions(dialect: Dialect, table: str, crowd: Crowd) -> list[str]:
    """Return what writes the crowd."""
    past, soon = dialect.moment("-3600 + n * 0.0001"), dialect.moment("3600 + n * 0.0001")
    held = dialect.moment("600")

    def some(count: int, **values: Any) -> str:
        columns = {
            "queue": f"'{QUEUE}'",
            "key": "NULL",
            "kind": "'json'",
            "payload": "'{\"n\":1}'",
            "group": "NULL",
            "priority": "0",
            "status": "'new'",
            "due_at": past,
            "behind_at": "NULL",
            "first_due_at": past,
            "attempts": "0",
            "token": "0",
            "leased_by": "NULL",
            "leased_until": "NULL",
            "created_at": past,
            "place_at": "NULL",
            "last_attempt_at": "NULL",
        } | values
        return f"INSERT INTO {table} ({COLUMNS}) SELECT {', '.join(columns.values())} FROM {dialect.series(count)}"

    lent = {"due_at": held, "leased_until": held, "leased_by": f"'{CONSUMER}'", "token": "1", "attempts": "1"}
    lent |= {"place_at": past, "last_attempt_at": past}
    behind = {"due_at": "NULL", "behind_at": past}
    return [
        some(LEASED, **lent, key="CASE WHEN n % 3 = 0 THEN 'lent-' || n END"),
        some(crowd.ready, key="CASE WHEN n % 10 = 0 THEN 'k-' || n END"),
        some(crowd.delayed, priority="-5", due_at=soon),
        some(crowd.dead, status="'dead'", due_at="NULL", key="'k-' || n"),
        some(1, **lent, group="'big'"),
        some(crowd.behind, **behind, group="'big'"),
        some(crowd.groups, queue=f"'{GROUPS}'", group="'g-' || n"),
        some(crowd.groups, **behind, queue=f"'{GROUPS}'", group="'g-' || n"),
        some(100, **lent, queue=f"'{GROUPS}'", group="'lent-' || n"),
        some(100, **behind, queue=f"'{GROUPS}'", group="'lent-' || n"),
        some(crowd.ready, queue=f"'{LETTERS}'"),
        some(crowd.delayed, queue=f"'{LETTERS}'", priority="-5", due_at=soon),
        some(crowd.dead, queue=f"'{LETTERS}'", status="'dead'", due_at="NULL"),
        some(50, queue="'billing'"),
    ]
