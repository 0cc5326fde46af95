"""The collections and their indexes, as numbered migrations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bson import Int64

from duerow.errors import HOW_TO_MIGRATE, ConfigurationError, SchemaNewer, SchemaOutdated, StoreRefused
from duerow.plan import Plan
from duerow.store.compatibility import is_beyond
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import CollectionNames
from duerow.stores.mongodb.steps import Command


def messages(names: CollectionNames) -> list[Command]:
    """Return the commands that prepare an empty database."""
    made = [Command({"create": name}) for name in names.all]
    made += [
        _indexes(
            names.messages,
            # Times are never negative; every read of the line repeats this condition so that the index applies.
            _index("line", "queue", "priority", "line_at", "_id", only={"line_at": {"$gte": Int64(0)}}),
            _index("live_key", "queue", "live_key", only={"live_key": {"$exists": True}}, unique=True),
            _index("line_group", "queue", "line_group", "_id", only={"line_group": {"$exists": True}}),
            _index("lent_group", "queue", "lent_group", only={"lent_group": {"$exists": True}}, unique=True),
            _index("of_queue", "queue", "status", "_id"),
            _index("of_due_time", "queue", "due_at"),
        ),
        _indexes(
            names.history,
            _index("turn", "id", "token", unique=True),
            _index("finished", "queue", "finished_at", "id", "token"),
            _index("until", "until"),
            {"name": "expires", "key": {"expires": 1}, "expireAfterSeconds": 0},
        ),
        _indexes(
            names.keys,
            _index("key", "queue", "key", unique=True),
            _index("until", "until"),
            {"name": "expires", "key": {"expires": 1}, "expireAfterSeconds": 0},
        ),
        _indexes(names.schedules, _index("next", "next_at")),
        _indexes(
            names.counts, _index("counted", "queue", "minute", "process", unique=True), _index("minute", "minute")
        ),
        _indexes(names.sets, _index("closed", "closed_until")),
        _indexes(names.parts, _index("part", "message", "part", unique=True)),
        _indexes(names.staged, _index("batch", "batch"), _index("at", "at")),
        _indexes(names.noted, _index("at", "at")),
        commands.update(
            names.counters,
            [commands.change({"_id": "message"}, {"$setOnInsert": {"last": Int64(0)}}, upsert=True)],
        ),
    ]
    return made


MIGRATIONS: Final[Sequence[tuple[str, Callable[[CollectionNames], list[Command]]]]] = (("0001 messages", messages),)
"""Each migration creates only what is missing, so two processes can apply it at the same time."""

ALREADY_THERE: Final = 48


def check(names: CollectionNames) -> Plan[None]:
    """Raise SchemaOutdated or SchemaNewer unless this version can work with the collections."""
    made = yield from _made(names)
    newest = max(made, default=0)
    if is_beyond(made, len(MIGRATIONS)):
        raise SchemaNewer(
            f"the collections are of version {newest}, made by a newer duerow than this one, which supports "
            f"{len(MIGRATIONS)}: upgrade duerow"
        )
    if any(number not in made for number in range(1, len(MIGRATIONS) + 1)):
        raise SchemaOutdated(
            f"the collections are of version {newest}, and this duerow needs version {len(MIGRATIONS)}: ",
            *HOW_TO_MIGRATE,
        )


def migrate(names: CollectionNames) -> Plan[list[str]]:
    """Apply the missing migrations; return their names."""
    made = yield from _made(names)
    if len(made) >= len(MIGRATIONS):
        yield from check(names)
        return []
    done: list[str] = []
    try:
        for number, (name, steps) in enumerate(MIGRATIONS, 1):
            if number in made:
                continue
            for step in steps(names):
                yield from _unless_there(step)
            reply = yield _noted(names, number, name)
            if reply.get("upserted"):
                done.append(name)
    except StoreRefused as error:
        raise ConfigurationError(
            f"{error}. Hand this to someone who may change the database:\n\n{script(names)}"
        ) from error
    return done


def script(names: CollectionNames) -> str:
    """Return a mongosh script that prepares an empty database."""
    lines: list[Command] = []
    for number, (name, steps) in enumerate(MIGRATIONS, 1):
        lines += [*steps(names), _noted(names, number, name)]
    return "".join(f"db.runCommand({json.dumps(line.document, default=int)});\n" for line in lines)


def _noted(names: CollectionNames, number: int, name: str) -> Command:
    return commands.update(
        names.schema, [commands.change({"_id": number}, {"$setOnInsert": {"name": name}}, upsert=True)]
    )


def _unless_there(step: Command) -> Plan[None]:
    try:
        yield step
    except StoreRefused as refused:
        if getattr(refused.__cause__, "code", None) != ALREADY_THERE:
            raise


def _made(names: CollectionNames) -> Plan[Mapping[int, str | None]]:
    return {int(one["_id"]): one.get("name") for one in (yield commands.find(names.schema, {}))}


def _index(name: str, *fields: str, only: dict[str, Any] | None = None, unique: bool = False) -> dict[str, Any]:
    index: dict[str, Any] = {"name": name, "key": dict.fromkeys(fields, 1)}
    index |= {"unique": True} if unique else {}
    return index | ({"partialFilterExpression": only} if only else {})


def _indexes(collection: str, *indexes: dict[str, Any]) -> Command:
    return Command({"createIndexes": collection, "indexes": list(indexes)})
