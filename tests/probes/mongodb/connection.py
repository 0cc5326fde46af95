"""One client of a MongoDB server, which carries out plans: a command is all that is atomic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from bson import Int64
from bson.codec_options import CodecOptions
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from duerow.plan import Plan, run
from tests.probes.mongodb.commands import Command
from tests.probes.mongodb.documents import COUNTERS, LINE, LIVE_KEY, MESSAGES
from tests.probes.mongodb.plans import DUPLICATE_KEY

T = TypeVar("T")

WRITES: Final = {"insert", "update", "delete", "findAndModify", "bulkWrite"}

# A raw command takes neither of these from the client or the database.
AWARE: Final[CodecOptions[dict[str, Any]]] = CodecOptions(tz_aware=True)
MAJORITY: Final = {"writeConcern": {"w": "majority"}}


class MongoDBConnection:
    """Carries out plans of commands; `trace` keeps each command as it ran."""

    def __init__(self, url: str) -> None:
        self._client: MongoClient[dict[str, Any]] = MongoClient(url)
        self.raw = self._client.get_default_database()
        self.trace: list[Command] = []

    def carry_out(self, make_plan: Callable[[], Plan[T]]) -> T:
        """Carry out a plan."""
        return run(make_plan(), self.execute)

    def execute(self, step: Command) -> Any:
        """Hand one step to the server: all documents of a cursor in a list, else the server's reply."""
        self.trace.append(step)
        database = self._client.admin if step.admin else self.raw
        name = next(iter(step.document))
        document = dict(step.document) | (MAJORITY if name in WRITES else {})
        if step.rows:
            return list(database.cursor_command(document, codec_options=AWARE))
        return _checked(database.command(document, codec_options=AWARE))

    def close(self) -> None:
        self._client.close()


def _checked(reply: dict[str, Any]) -> dict[str, Any]:
    """Raise for what PyMongo lets pass in an answer that begins with ok: failed writes and a missed write concern.

    A duplicate key stays in the answer: only the plan knows whether it is an error.
    """
    failed = [error for error in reply.get("writeErrors", []) if error["code"] != DUPLICATE_KEY]
    if failed or "writeConcernError" in reply:
        raise OperationFailure("the server refused a write", details=reply)
    return reply


def prepare(url: str) -> None:
    """Make the collections anew."""
    with MongoClient[dict[str, Any]](url) as client:
        database = client.get_default_database()
        for name in (MESSAGES, COUNTERS):
            database.drop_collection(name)
        database.command({"createIndexes": MESSAGES, "indexes": [LINE, LIVE_KEY]})
        # Made here, so that no two first pushes have to make it at the same time.
        database[COUNTERS].insert_one({"_id": "message", "last": Int64(0)})
