"""What MongoDB is sent: one short function per command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bson import Int64

from tests.probes.contract import Buried, Committed, End, Moved, Receipt, Record, Released, RolledBack, Turn
from tests.probes.mongodb.documents import COUNTERS, MESSAGES, MICROSECOND, micro, state

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Command:
    """A step: a command as the server documents it, without session and write concern, which the connection adds.

    Attributes:
        rows: the answer is a cursor: all of its documents are wanted, in one list.
        outside: never part of a caller's transaction.
        admin: sent to the database `admin`.
    """

    document: Document
    rows: bool = False
    outside: bool = False
    admin: bool = False


def take_ids(n: int) -> Command:
    """Move the counter on by n; outside of transactions, where it would make one push wait for the other's end."""
    return Command(
        {
            "findAndModify": COUNTERS,
            "query": {"_id": "message"},
            "update": {"$inc": {"last": Int64(n)}},
            "new": True,
        },
        outside=True,
    )


def tell_time() -> Command:
    """The server's clock, in milliseconds: commands can use it as `$$NOW`, filters cannot."""
    return Command({"hello": 1}, outside=True, admin=True)


def insert(documents: Sequence[Document]) -> Command:
    """Add messages that have no key."""
    return Command({"insert": MESSAGES, "documents": list(documents)})


def upsert(documents: Sequence[Document]) -> Command:
    """Add messages whose keys are free; the others are left as they are and missing in the answer's `upserted`."""
    updates = []
    for document in documents:
        held = {"queue": document["queue"], "live_key": document["live_key"]}
        rest = {name: value for name, value in document.items() if name not in held}
        updates.append({"q": held, "u": {"$setOnInsert": rest}, "upsert": True})
    return Command({"update": MESSAGES, "updates": updates, "ordered": False})


def holders(queue: str, keys: Sequence[str]) -> Command:
    """The live messages of a queue that hold these keys."""
    return _find({"queue": queue, "live_key": {"$in": list(keys)}})


def replace_unchanged(stored: Record, changed: Record) -> Command:
    """Change a message if nobody else did: neither took, ended or changed it (token), nor moved its due time."""
    due = stored.due_at and micro(stored.due_at)
    query = {"_id": Int64(stored.id), "token": Int64(stored.token), "due_at": due}
    return Command({"findAndModify": MESSAGES, "query": query, "update": state(changed), "new": True})


def in_line(queue: str, now: datetime) -> Document:
    """What is due: before the microsecond after now. The lower bound lets the server use the partial index."""
    return {"queue": queue, "due_at": {"$gte": Int64(0), "$lt": micro(now + MICROSECOND)}}


IN_LINE = {"due_at": 1, "_id": 1}


def lend_one(queue: str, now: datetime, lease: timedelta, attempts: int | None, consumer: str) -> Command:
    """Lend, or bury, the oldest due message, in one atomic step."""
    return Command(
        {
            "findAndModify": MESSAGES,
            "query": in_line(queue, now),
            "sort": IN_LINE,
            "update": _lend(now + lease, attempts, consumer),
            "new": True,
        }
    )


def pick(queue: str, now: datetime, n: int) -> Command:
    """The ids of the oldest due messages; nobody is kept from taking them."""
    return Command(
        {
            "find": MESSAGES,
            "filter": in_line(queue, now),
            "sort": IN_LINE,
            "projection": {"_id": 1},
            "limit": n,
            "batchSize": n,
        },
        rows=True,
    )


def lend_picked(
    ids: Sequence[Int64], queue: str, now: datetime, lease: timedelta, attempts: int | None, consumer: str
) -> Command:
    """Lend, or bury, those of the picked that are still in that line, each in one atomic step."""
    query = {"_id": {"$in": list(ids)}, **in_line(queue, now)}
    update = {"q": query, "u": _lend(now + lease, attempts, consumer), "multi": True}
    return Command({"update": MESSAGES, "updates": [update]})


def lent_to(ids: Sequence[Int64], consumer: str) -> Command:
    """Those of the picked that are ours now."""
    return _find({"_id": {"$in": list(ids)}, "leased_by": consumer})


def pop_one(queue: str, now: datetime) -> Command:
    """Take the oldest due message out."""
    return Command({"findAndModify": MESSAGES, "query": in_line(queue, now), "sort": IN_LINE, "remove": True})


def prolong(receipts: Sequence[Receipt], until: datetime) -> Command:
    """Let leases run until a time; the answer only says how many matched."""
    later = {"$set": {"due_at": micro(until), "leased_until": micro(until)}}
    return Command({"update": MESSAGES, "updates": [{"q": _fence(receipt), "u": later} for receipt in receipts]})


def tokens(ids: Sequence[int]) -> Command:
    """The tokens that these messages carry now."""
    return Command(
        {"find": MESSAGES, "filter": {"_id": {"$in": [Int64(id) for id in ids]}}, "projection": {"token": 1}},
        rows=True,
    )


def settle_all(turns: Sequence[Turn], now: datetime, database: str) -> Command:
    """End turns of all kinds in one command, which answers for each of them. Servers from 8.0 on."""
    return Command(
        {
            "bulkWrite": 1,
            "ops": [_operation(turn, now) for turn in turns],
            "nsInfo": [{"ns": f"{database}.{MESSAGES}"}],
            "ordered": False,
            "errorsOnly": False,
            "cursor": {"batchSize": len(turns)},
        },
        rows=True,
        admin=True,
    )


def settle_one(turn: Turn, now: datetime) -> Command:
    """End one turn: all that servers before 8.0 can answer for exactly."""
    if isinstance(turn.end, Committed):
        return Command({"delete": MESSAGES, "deletes": [{"q": _fence(turn.receipt), "limit": 1}]})
    return Command({"update": MESSAGES, "updates": [{"q": _fence(turn.receipt), "u": _ended(turn.end, now)}]})


def remove_unread(ids: Sequence[int]) -> Command:
    """Take back messages that nobody was lent."""
    query = {"_id": {"$in": [Int64(id) for id in ids]}, "token": Int64(0)}
    return Command({"delete": MESSAGES, "deletes": [{"q": query, "limit": 0}]})


def all_of(queue: str) -> Command:
    """Every message of a queue, by id."""
    return _find({"queue": queue}, {"_id": 1})


def _find(query: Document, order: Document | None = None) -> Command:
    return Command({"find": MESSAGES, "filter": query, **({"sort": order} if order else {})}, rows=True)


def _fence(receipt: Receipt) -> Document:
    return {"_id": Int64(receipt.id), "token": Int64(receipt.token)}


def _operation(turn: Turn, now: datetime) -> Document:
    if isinstance(turn.end, Committed):
        return {"delete": 0, "filter": _fence(turn.receipt), "multi": False}
    return {"update": 0, "filter": _fence(turn.receipt), "updateMods": _ended(turn.end, now), "multi": False}


def _ended(end: End, now: datetime) -> Document:
    """The update that ends a turn; a commit is no update but a delete."""
    match end:
        case RolledBack(delay, error):
            return _free({"status": "error", "due_at": micro(now + delay), "last_error": error})
        case Buried(error):
            return _free({"status": "dead", "last_error": error}, gone=("due_at", "live_key"))
        case Released(due_at):
            return _free({"due_at": micro(due_at)}, attempts=-1)
        case Moved(to, payload):
            fresh = {"queue": to, "status": "new", "due_at": micro(now), "first_due_at": micro(now), "attempts": 0}
            changed = {} if payload is None else {"payload": payload}
            return _free(fresh | changed, gone=("last_error",))
    raise TypeError(f"{end!r} ends no turn by an update")


def _free(fields: Document, gone: Sequence[str] = (), attempts: int = 0) -> Document:
    grown = {"token": Int64(1)} | ({"attempts": attempts} if attempts else {})
    return {"$set": fields, "$inc": grown, "$unset": dict.fromkeys(("leased_by", "leased_until", "place", *gone), "")}


def _lend(until: datetime, attempts: int | None, consumer: str) -> list[Document]:
    """Lend; or bury what still carries an unsettled lease and has used up its attempts. Decided by the server.

    `place` keeps the due time that the message had in line: the answer shows it as it is after the update.
    """
    unsettled = {"$ne": [{"$ifNull": ["$leased_by", None]}, None]}
    used_up = {"$and": [unsettled, {"$gte": ["$attempts", attempts]}]} if attempts is not None else False
    gone = "$$REMOVE"

    def either(buried: Any, lent: Any) -> Document:
        return {"$cond": [used_up, buried, lent]}

    return [
        {
            "$set": {
                "last_error": {"$cond": [unsettled, _how_it_ended(attempts), {"$ifNull": ["$last_error", gone]}]},
                "status": either("dead", "$status"),
                "place": either(gone, "$due_at"),
                "due_at": either(gone, micro(until)),
                "leased_until": either(gone, micro(until)),
                # In a pipeline a text that begins with $ would name a field.
                "leased_by": either(gone, {"$literal": consumer}),
                "live_key": either(gone, {"$ifNull": ["$live_key", gone]}),
                "attempts": {"$add": ["$attempts", either(0, 1)]},
                "token": {"$add": ["$token", Int64(1)]},
            }
        }
    ]


def _how_it_ended(attempts: int | None) -> Document:
    ended = {"$toDate": {"$toLong": {"$divide": ["$leased_until", 1000]}}}
    return {
        "$concat": [
            "lease of ",
            "$leased_by",
            " ended at ",
            {"$dateToString": {"date": ended, "format": "%Y-%m-%d %H:%M:%S"}},
            ", attempt ",
            {"$toString": "$attempts"},
            f" of {attempts or 'any'}",
        ]
    }
