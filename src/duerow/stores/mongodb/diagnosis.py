"""Checks for MongoDB: missing indexes, and a server without transactions."""

from __future__ import annotations

from duerow.plan import Plan
from duerow.store import Capabilities, Finding
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import CollectionNames
from duerow.stores.mongodb.schema import MIGRATIONS
from duerow.stores.mongodb.steps import Command


def missing_indexes(names: CollectionNames) -> Plan[list[Finding]]:
    """Find missing indexes that the migrations should have created."""
    found: list[Finding] = []
    for _, steps in MIGRATIONS:
        for step in steps(names):
            if step.name != "createIndexes":
                continue
            collection: str = step.document["createIndexes"]
            there = {one["name"] for one in (yield Command({"listIndexes": collection}, rows=True))}
            for index in step.document["indexes"]:
                if index["name"] not in there:
                    where, todo = f"{collection}.{index['name']}", f"db.{collection}.createIndex({index['key']}, …)"
                    found.append(
                        Finding(
                            "index-missing",
                            "error",
                            "an index is missing",
                            where,
                            f"Create it as `duerow sql` prints it: {todo}",
                        )
                    )
    return found


def standalone(capabilities: Capabilities) -> Plan[list[Finding]]:
    """Report a server without transactions."""
    yield commands.hello()
    if capabilities.transactions:
        return []
    what = (
        "this server is not a replica set, so it has no transactions: pushes wake no workers, and a move of several "
        "messages can stop halfway"
    )
    return [Finding("standalone", "note", what, "server", "Make it a replica set of one: rs.initiate()")]
