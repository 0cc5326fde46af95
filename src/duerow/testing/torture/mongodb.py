"""A run's access to MongoDB, on a replica set or a sharded cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from bson import Int64
from pymongo import MongoClient, ReturnDocument
from pymongo.errors import PyMongoError

from duerow.errors import ConfigurationError
from duerow.store import Settings
from duerow.stores.mongodb.documents import CollectionNames
from duerow.stores.mongodb.errors import UNKNOWN_COMMIT, explained
from duerow.stores.mongodb.execution import TRANSACTION
from duerow.stores.mongodb.target import BLOCKING, target_of
from duerow.testing.torture.access import APPLICATION, BEGUN, SIGNS, is_of_another

NUMBER: Final = {"_id": "ledger"}
"""The document that numbers the lines of the ledger."""

COMMITS: Final = 3
"""How many times a commit is tried if its answer is lost."""

WIDE: Final = ("message", "token", "since", "at")
LINE: Final = ("what", "act", "queue", "message", "token", "group", "since", "note", "process", "at", "held")
MESSAGE: Final = ("_id", "queue", "status", "payload", "headers", "group", "leased_by")
TURN: Final = ("id", "token", "queue", "outcome", "attempts", "worker", "finished_at")


class Opened:
    """See `Access`.

    A line gets its number before it is inserted, and outside its transaction, as from an SQL sequence.

    Args:
        url, prefix: as for `access`.
    """

    is_file = writes_wait = False

    def __init__(self, url: str, prefix: str) -> None:
        self._url, self._prefix = url, prefix
        self._target = target_of(url, Settings(prefix=prefix), BLOCKING)
        self._names = CollectionNames(prefix)

    @cached_property
    def client(self) -> MongoClient[Any]:
        """The application's own client.

        It does not repeat writes by itself: a server that forgets them when it restarts would see some lines twice.
        """
        options = {**self._target.client_options(), "appname": APPLICATION, "retryWrites": False}
        return MongoClient(self._target.url, **options)

    def check(self) -> None:
        """See Access."""
        with explaining():
            hello = self.client.admin.command("hello")
        if "setName" not in hello and hello.get("msg") != "isdbgrid":
            raise ConfigurationError(
                "a run needs transactions, which MongoDB supports only on a replica set; one member is enough"
            )

    def address(self) -> tuple[str, int] | None:
        """See Access."""
        url = urlsplit(self._url)
        several = url.scheme != "mongodb" or "," in url.netloc or not url.hostname
        return None if several else (str(url.hostname), url.port or 27017)

    def behind(self, port: int) -> str:
        """See Access."""
        url = urlsplit(self._url)
        user, at, _ = url.netloc.rpartition("@")
        # Otherwise the driver would learn the server's own address and connect to it.
        options = {name: value for name, value in parse_qsl(url.query) if name.lower() != "replicaset"}
        query = urlencode({**options, "directConnection": "true"})
        return urlunsplit(url._replace(netloc=f"{user}{at}127.0.0.1:{port}", query=query))

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """See Access."""
        with explaining(inside=True), self.client.start_session() as session:
            session.start_transaction(**TRANSACTION)
            try:
                yield session
            except BaseException:
                with suppress(PyMongoError):
                    session.abort_transaction()
                raise
            _commit(session)

    def write(self, rows: Sequence[Mapping[str, Any]], within: Any = None) -> None:
        """See Access."""
        with explaining():
            first = self._number(self.client, len(rows))["last"] - len(rows)
            client = self.client if within is None else within.client
            self._ledger(client).insert_many(_numbered(rows, first), session=within)

    async def awrite(self, rows: Sequence[Mapping[str, Any]], within: Any) -> None:
        """See Access."""
        with explaining():
            first = (await self._number(within.client, len(rows)))["last"] - len(rows)
            await self._ledger(within.client).insert_many(_numbered(rows, first), session=within)

    def ask(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """See Access. A turn was held when its line got its number if it was held both before and after that."""
        with explaining():
            before = self._held(rows)
            first = self._number(self.client, len(rows))["last"] - len(rows)
            held = self._held(rows) & before
            asked = [{**row, "held": int((row["message"], row["token"]) in held)} for row in rows]
            self._ledger(self.client).insert_many(_numbered(asked, first))

    def lines(self) -> list[dict[str, Any]]:
        """See Access."""
        with explaining():
            found = self._ledger(self.client).find(sort=[("_id", 1)])
            return [dict(zip(("seq", *LINE), _values(line, ("_id", *LINE)), strict=True)) for line in found]

    def begun(self) -> Mapping[int, int]:
        """See Access."""
        with explaining():
            counted = self._ledger(self.client).find({"what": {"$in": [*BEGUN]}}, {"process": 1})
            return Counter(int(line["process"]) for line in counted)

    def made(self) -> list[tuple[int, str]]:
        """See Access."""
        with explaining():
            noted = self._collection(self._names.schema).find(sort=[("_id", 1)])
            return [(int(one["_id"]), one["name"]) for one in noted]

    def waiting(self, queues: Collection[str]) -> int:
        """See Access."""
        with explaining():
            there = {"queue": {"$in": [*queues]}, "status": {"$in": ["new", "error"]}}
            return int(self._collection(self._names.messages).count_documents(there))

    @property
    def has_items(self) -> bool:
        """See Access: duerow does not support queues in the application's own collections."""
        return False

    @property
    def engine(self) -> Any:
        """See Access."""
        raise NotImplementedError

    def awaited_engine(self) -> Any:
        """See Access."""
        raise NotImplementedError

    def waiting_items(self) -> int:
        """See Access."""
        return 0

    def items(self) -> list[Sequence[Any]]:
        """See Access."""
        return []

    def messages(self) -> list[Sequence[Any]]:
        """See Access."""
        with explaining():
            return [_values(one, MESSAGE) for one in self._collection(self._names.messages).find()]

    def turns(self) -> list[Sequence[Any]]:
        """See Access."""
        with explaining():
            return [_values(one, TURN) for one in self._collection(self._names.history).find()]

    def create(self) -> None:
        """See Access."""
        with explaining():
            self.client[self._target.database].create_collection(f"{self._prefix}ledger")
            self._number(self.client, 0)

    def drop(self) -> None:
        """See Access."""
        with explaining():
            database = self.client[self._target.database]
            for name in database.list_collection_names():
                if name.startswith(self._prefix):
                    database.drop_collection(name)

    def prefixes(self) -> Iterator[str]:
        """See Access."""
        with explaining():
            names = set(self.client[self._target.database].list_collection_names())
        for prefix in {name.removesuffix(SIGNS[0]) for name in names if name.endswith(SIGNS[0])}:
            if is_of_another(prefix, names):
                yield prefix

    def answers(self) -> bool:
        """See Access.

        A client forgets a server that says once, for example while it starts, that it is in no replica set.
        """
        self.close()
        with suppress(PyMongoError):
            self.client.admin.command("ping")
            return True
        return False

    @property
    def has_limit(self) -> bool:
        """See Access: a server accepts tens of thousands of connections, or as many as its system allows."""
        return False

    def open_connection(self) -> Any:
        """See Access."""
        return None

    def close_connection(self, connection: Any) -> None:
        """See Access."""

    def end_connection(self) -> bool:
        """See Access: connections of other clients cannot be ended."""
        return False

    def close(self) -> None:
        """See Access."""
        client = self.__dict__.pop("client", None)  # the next use opens a new one
        if client is not None:
            client.close()

    def _number(self, client: Any, count: int) -> Any:
        """Return the document with the number of the last of `count` new lines, or an awaitable for it."""
        numbers = client[self._target.database][f"{self._prefix}ledger_number"]
        raised = {"$inc": {"last": Int64(count)}}
        return numbers.find_one_and_update(NUMBER, raised, upsert=True, return_document=ReturnDocument.AFTER)

    def _held(self, rows: Sequence[Mapping[str, Any]]) -> set[tuple[int, int]]:
        """Return the turns of these lines that still have their tokens."""
        asked = {"_id": {"$in": [Int64(row["message"]) for row in rows]}, "leased_by": {"$exists": True}}
        found = self._collection(self._names.messages).find(asked, {"token": 1})
        return {(one["_id"], one["token"]) for one in found}

    def _ledger(self, client: Any) -> Any:
        return client[self._target.database][f"{self._prefix}ledger"]

    def _collection(self, name: str) -> Any:
        return self.client[self._target.database][name]


def _numbered(rows: Sequence[Mapping[str, Any]], last: int) -> list[dict[str, Any]]:
    """Return lines with the numbers up to `last`."""
    return [
        {
            "_id": Int64(number),
            **row,
            **{name: Int64(row[name]) for name in WIDE if row[name] is not None},
        }
        for number, row in enumerate(rows, last + 1)
    ]


def _values(found: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """Return these values of a document, with plain integers instead of the driver's own."""
    values = (found.get(name) for name in names)
    return [int(value) if isinstance(value, Int64) else value for value in values]


def _commit(session: Any) -> None:
    """Commit, and again if the answer was lost: the server commits only once."""
    commit: Callable[[], None] = session.commit_transaction
    for left in reversed(range(COMMITS)):
        try:
            return commit()
        except PyMongoError as error:
            if not left or not error.has_error_label(UNKNOWN_COMMIT):
                raise
    return None


@contextmanager
def explaining(inside: bool = False) -> Iterator[None]:
    """Raise duerow's errors instead of the driver's."""
    try:
        yield
    except PyMongoError as error:
        raise explained(error, wrote=True, inside=inside) or error from error
