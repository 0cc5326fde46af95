"""What is in a queue, as it can be compared between databases."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from duerow import Database
from duerow.store import Scan

NEW = ("id", "token")
"""What is another in the target, or may be."""


def told(db: Database, queue: str = "mail", without: tuple[str, ...] = NEW) -> list[dict[str, Any]]:
    """All messages of a queue as they are kept, in the order of their ids."""
    return _read(db, Scan(queues=(queue,), limit=1_000), without)


def turns(db: Database, queue: str = "mail", without: tuple[str, ...] = ("id",)) -> list[dict[str, Any]]:
    """All turns of a queue's history, in an order that does not depend on their ids."""
    return sorted(_read(db, Scan(turns=True, queues=(queue,), limit=1_000), without), key=_content)


def _read(db: Database, scan: Scan, without: tuple[str, ...]) -> list[dict[str, Any]]:
    found = db.run(lambda: db.store.bulk.scan(scan))
    return [{name: value for name, value in asdict(one).items() if name not in without} for one in found]


def _content(turn: dict[str, Any]) -> tuple[Any, ...]:
    return turn["created_at"], turn["payload"], turn["token"]
