"""The server's commands: one short function for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from bson import Int64

from duerow.plan import Plan, mapped
from duerow.stores.mongodb.steps import Command, Document

T = TypeVar("T")
R = TypeVar("R")

MAX_BYTES: Final = 8 << 20
"""The maximum size of a command: the server accepts 16 MiB, but text may grow when it is encoded."""

MAX_WRITES: Final = 10_000
"""The maximum number of writes in a command; the server accepts 100,000."""


def hello() -> Command:
    """Ask for the server's time and features."""
    return Command({"hello": 1}, outside=True)


def find(
    collection: str,
    chosen: Document,
    sort: Mapping[str, int] | None = None,
    limit: int = 0,
    shown: Mapping[str, int] | None = None,
    outside: bool = False,
) -> Command:
    """Read documents."""
    more: dict[str, Any] = {"sort": sort} if sort else {}
    more |= {"limit": limit, "batchSize": limit} if limit else {}
    more |= {"projection": shown} if shown else {}
    return Command({"find": collection, "filter": chosen, **more}, rows=True, outside=outside)


def aggregate(collection: str, *stages: Document) -> Command:
    """Read the result of an aggregation."""
    return Command({"aggregate": collection, "pipeline": list(stages), "cursor": {}}, rows=True)


def distinct(collection: str, field: str, chosen: Document) -> Command:
    """Read the distinct values of a field."""
    return Command({"distinct": collection, "key": field, "query": chosen})


def counted(collection: str, chosen: Document, limit: int | None = None) -> Command:
    """Count documents with an aggregation, which transactions allow; the answer has one row with `n`, or no rows."""
    stages: list[Document] = [{"$match": chosen}]
    if limit is not None:
        stages.append({"$limit": max(limit, 1)})
    return aggregate(collection, *stages, {"$count": "n"})


def bounded(read: Command, only_if: bool = True) -> Command:
    """Return the read marked as one for people, to which the connection's read timeout applies."""
    return replace(read, bounded=only_if)


def all_bounded(plan: Plan[R]) -> Plan[R]:
    """Return a plan whose reads are all marked as reads for people."""
    return mapped(plan, lambda step: bounded(step) if isinstance(step, Command) and step.rows else step)


def insert(collection: str, documents: Sequence[Document], taken: bool = False) -> Command:
    """Add documents."""
    return Command({"insert": collection, "documents": list(documents)}, taken=taken)


def change(q: Document, u: Any, **more: Any) -> dict[str, Any]:
    """Return one change for an `update`."""
    return {"q": q, "u": u, **more}


def update(collection: str, changes: Sequence[Document], ordered: bool = True, taken: bool = False) -> Command:
    """Make changes."""
    return Command({"update": collection, "updates": list(changes), "ordered": ordered}, taken=taken)


def update_soon(collection: str, changes: Sequence[Document], milliseconds: int) -> Command:
    """Make changes one by one, waiting at most this long for transactions that have locked a document."""
    made = update(collection, changes, ordered=False, taken=True)
    return replace(made, document={**made.document, "maxTimeMS": milliseconds})


def upsert(collection: str, id_: Any, fields: Document) -> Command:
    """Set these fields of the document with this id, creating it if necessary."""
    return update(collection, [change({"_id": id_}, {"$set": fields}, upsert=True)])


def delete(collection: str, *chosen: Document, many: bool = False) -> Command:
    """Delete one document for each filter; with `many`, delete all that match."""
    return Command({"delete": collection, "deletes": [{"q": one, "limit": 0 if many else 1} for one in chosen]})


def delete_ids(collection: str, ids: Iterable[Any]) -> Command:
    """Delete documents by id."""
    return delete(collection, {"_id": {"$in": list(ids)}}, many=True)


def take_numbers(counters: str, count: int) -> Command:
    """Increment the counter of ids outside the transaction, because transactions would block each other."""
    return Command(
        {
            "findAndModify": counters,
            "query": {"_id": "message"},
            "update": {"$inc": {"last": Int64(count)}},
            "new": True,
        },
        outside=True,
    )


def take_out(collection: str, chosen: Document, sort: Mapping[str, int]) -> Command:
    """Delete the first matching document and return it."""
    return Command({"findAndModify": collection, "query": chosen, "sort": sort, "remove": True})


def ids_in(ids: Iterable[int]) -> dict[str, Any]:
    """Return a filter for documents by id."""
    return {"_id": {"$in": [Int64(id_) for id_ in ids]}}


def fence(id_: int, token: int) -> dict[str, Any]:
    """Return a filter for a message whose receipt is still valid."""
    return {"_id": Int64(id_), "token": Int64(token)}


def in_commands(documents: Iterable[T]) -> Iterator[list[T]]:
    """Split documents or changes into lists that each fit into one command."""
    some: list[T] = []
    size = 0
    for document in documents:
        weight = _weight(document)
        if some and (size + weight > MAX_BYTES or len(some) >= MAX_WRITES):
            yield some
            some, size = [], 0
        some.append(document)
        size += weight
    if some:
        yield some


def _weight(value: Any) -> int:
    """Estimate how many bytes a value takes; the estimate errs on the high side."""
    if isinstance(value, str):
        return 3 * len(value) + 16 if not value.isascii() else len(value) + 16
    if isinstance(value, Mapping):
        return 32 + sum(_weight(member) + len(name) for name, member in value.items())
    if isinstance(value, list | tuple):
        return 32 + sum(map(_weight, value))
    return 32
