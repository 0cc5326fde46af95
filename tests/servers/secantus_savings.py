"""SecantusDB without what takes most of its processor time, for tests: what it answers stays the same.

For each document it reads the definitions of all indexes about ten times, and the collection's options five times.
For each command it goes through all sessions and transactions that there ever were. Numbers become keys of an index by
way of `Decimal`, documents are copied by `deepcopy`, and keys of tables packed by parsing their format.
"""

import copy
import functools
import inspect
import operator
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from types import ModuleType, NoneType, SimpleNamespace
from typing import Any

import secantus.aggregate
import secantus.ordering
import secantus.projection
import secantus.query
import secantus.server
import secantus.sessions
import secantus.sortkey
import secantus.storage
import secantus.transactions
import secantus.update
import wiredtiger.swig_wiredtiger
from bson import Binary, Decimal128, Int64, ObjectId, Timestamp
from secantus.storage import Storage
from wiredtiger.intpacking import pack_int, unpack_int

Place = tuple[str, str]
"""A database and a collection in it."""

Index = tuple[str, dict[str, Any], dict[str, Any]]
"""Its name, its keys and its options."""

KNOWN = {
    "_IDX_TABLE": {
        *("create_index", "drop_all_indexes", "drop_collection", "drop_database", "drop_index", "rename_collection"),
        *("set_index_expiry", "set_index_options"),
        "_maybe_mark_multikey",  # in a transaction, which may be rolled back
        "_recover_pending_drops_locked",  # before anything is remembered
        *("__init__", "_iter_indexes", "_table_kf"),  # only read
    },
    "_COLL_TABLE": {
        *("create_collection", "drop_collection", "drop_database", "rename_collection", "_write_coll_options"),
        "_ensure_collection",  # without options, which is not remembered
        *("__init__", "_coll_options", "_table_kf", "list_collections", "list_databases", "prune_ttl_all_collections"),
    },
    "_delete_index_entries": {  # each goes on with the row of the document, or with other entries
        *("_delete_chunk", "_delete_matching_single_txn", "_enforce_capped_bounds_locked", "prune_ttl"),
        *("_update_chunk", "_update_matching_single_txn"),
    },
}
"""The methods of the storage that name these tables and this method: all that has to be considered here."""


def strangers() -> set[str]:
    """Return the methods of the installed wheel in which it differs from what is known: then nothing is spared."""
    naming: dict[str, set[str]] = {named: set() for named in KNOWN}
    for name, member in vars(Storage).items():
        code = getattr(inspect.unwrap(getattr(member, "__func__", member)), "__code__", None)
        for named in KNOWN.keys() & set(getattr(code, "co_names", ())):
            naming[named].add(name)
    return {name for named in KNOWN for name in naming[named] ^ KNOWN[named]}


def changing(name: str) -> Callable[..., Any]:
    """Return a method that does what the storage's does, and has what is remembered forgotten before and after."""
    changed = getattr(Storage, name)

    @functools.wraps(changed)
    def method(self: "RememberingStorage", *args: Any, **kwargs: Any) -> Any:
        self.forget()
        try:
            return changed(self, *args, **kwargs)
        finally:
            self.forget()

    return method


def derived(name: str) -> Callable[..., Any]:
    """Return a method that makes something of the definitions of indexes as the storage does, once for each of them."""
    make = getattr(Storage, name)

    @functools.wraps(make)
    def method(self: "RememberingStorage", db: str, coll: str) -> Any:
        indexes = self._iter_indexes(db, coll)
        of, made = self._made.get((db, coll, name), (None, None))
        if of is not indexes:
            made = make(self, db, coll)
            self._made[db, coll, name] = indexes, made
        return made

    return method


class RememberingStorage(Storage):
    """Remembers the definitions of indexes and the options of collections.

    What is remembered holds for one edition; each change begins another one. So a reader that read before the change
    and remembers it afterwards does no harm.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._edition = object()
        self._indexes: dict[Place, tuple[object, list[Index]]] = {}
        self._options: dict[Place, tuple[object, dict[str, Any]]] = {}
        self._made: dict[tuple[str, str, str], tuple[list[Index], Any]] = {}
        self._profiles: dict[str, tuple[object, dict[str, Any]]] = {}
        self._unsettled: set[Place] = set()
        """Collections whose indexes are changed by writes, whose transactions may be rolled back."""
        self._began: dict[Any, object] = {}
        """The edition in which each open transaction of a client began."""
        super().__init__(*args, **kwargs)

    def forget(self) -> None:
        """Have everything read again; a transaction in which this happens reads for itself from now on."""
        self._edition = object()

    create_collection = changing("create_collection")
    create_index = changing("create_index")
    drop_all_indexes = changing("drop_all_indexes")
    drop_collection = changing("drop_collection")
    drop_database = changing("drop_database")
    drop_index = changing("drop_index")
    rename_collection = changing("rename_collection")
    set_index_expiry = changing("set_index_expiry")
    set_index_options = changing("set_index_options")
    _write_coll_options = changing("_write_coll_options")

    # Transactions of clients, each of which sees what there was when it began.

    def begin_user_transaction(self) -> Any:
        """Note in which edition it begins."""
        edition = self._edition
        handle = super().begin_user_transaction()
        self._began[handle] = edition
        return handle

    def _close_user_txn_session(self, handle: Any) -> None:
        """What it changed is there for others from now on."""
        super()._close_user_txn_session(handle)
        if self._began.pop(handle, None) is not self._edition:
            self.forget()

    def _is_current(self) -> bool:
        handle = getattr(self._tls, "user_txn", None)
        return handle is None or self._began.get(handle) is self._edition

    # The definitions of indexes.

    def _iter_indexes(self, db: str, coll: str) -> list[Index]:
        place = db, coll
        if place in self._unsettled or not self._is_current():
            return list(super()._iter_indexes(db, coll))
        edition, found = self._indexes.get(place, (None, []))
        if edition is not self._edition:
            edition = self._edition
            found = list(super()._iter_indexes(db, coll))
            self._indexes[place] = edition, found
        return found

    def _maybe_mark_multikey(self, db: str, coll: str, doc: Any, indexes: Any, already_multikey: set[str]) -> set[str]:
        before = len(already_multikey)
        marked: set[str] = super()._maybe_mark_multikey(db, coll, doc, indexes, already_multikey)
        if len(marked) > before:
            self._unsettled.add((db, coll))
        return marked

    # The options of collections.

    def _coll_options(self, db: str, coll: str) -> dict[str, Any] | None:
        """Remember options with an id, which were committed; they are not yet while a transaction is open."""
        place = db, coll
        if not self._is_current():
            return super()._coll_options(db, coll)
        edition, found = self._options.get(place, (None, {}))
        if edition is self._edition:
            return dict(found)
        edition = self._edition
        read = super()._coll_options(db, coll)
        in_transaction = getattr(self._tls, "user_txn", None) or getattr(self._tls, "defer_minted", False)
        if read and "uuid" in read and not in_transaction:
            self._options[place] = edition, read
        return read

    # The entries of indexes. An update takes away all of a document's and writes them again. Here they are taken away
    # together with what follows: the row, or those entries that the new document does not have.

    def _delete_index_entries(
        self, db: str, coll: str, doc: Any, indexes: Any, partials: Any = None, *, recordid: int
    ) -> None:
        self._tls.leaving = db, coll, recordid, doc, indexes, partials

    def _write_index_entries(
        self, db: str, coll: str, doc: Any, indexes: Any, partials: Any = None, *, recordid: int
    ) -> None:
        before = self._take_leaving(db, coll, recordid)
        if before is not None:
            old, _, conditions = before
            partials = self._partial_filters(db, coll) if partials is None else partials
            indexes = [one for one in indexes if not is_as_before(old, doc, {**one[1], **partials.get(one[0], {})})]
            super()._delete_index_entries(db, coll, old, indexes, conditions, recordid=recordid)
        super()._write_index_entries(db, coll, doc, indexes, partials, recordid=recordid)

    def _delete_doc_row(self, db: str, coll: str, recordid: int) -> None:
        before = self._take_leaving(db, coll, recordid)
        if before is not None:
            super()._delete_index_entries(db, coll, *before, recordid=recordid)
        super()._delete_doc_row(db, coll, recordid)

    def _take_leaving(self, db: str, coll: str, recordid: int) -> tuple[Any, Any, Any] | None:
        """Return the document whose entries are to be taken away, its indexes and their conditions."""
        leaving, self._tls.leaving = getattr(self._tls, "leaving", None), None
        return leaving[3:] if leaving is not None and leaving[:3] == (db, coll, recordid) else None

    # The settings of the profiler, which each command asks for.

    def get_profile(self, db: str) -> dict[str, Any]:
        edition, found = self._profiles.get(db, (None, {}))
        if edition is not self._edition:
            edition, found = self._edition, super().get_profile(db)
            self._profiles[db] = edition, found
        return dict(found)

    set_profile = changing("set_profile")

    # What is made of the definitions; nobody changes these.

    _all_indexes = derived("_all_indexes")
    _index_options_map = derived("_index_options_map")
    _partial_filters = derived("_partial_filters")


ABSENT = object()


def is_as_before(before: dict[str, Any], after: dict[str, Any], fields: Any) -> bool:
    """Return whether these fields of a document are the same plain values as before."""
    for field in fields:
        old, new = before.get(field, ABSENT), after.get(field, ABSENT)
        if old is ABSENT is new and not field.startswith("$") and "." not in field:
            continue
        if type(old) is not type(new) or type(old) not in SHARED or old != new:
            return False
    return True


# Registries that go through everything they hold at each command.

SELDOM = 1.0
"""Seconds between two looks for what has expired, which takes a minute at least."""


def seldom(prune: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a method that looks for what has expired, unless it did a moment ago."""
    at = f"{prune.__name__}_at"

    @functools.wraps(prune)
    def pruning(self: Any) -> Any:
        now = time.monotonic()
        if now - getattr(self, at, 0.0) < SELDOM:
            return 0
        setattr(self, at, now)
        return prune(self)

    return pruning


# Keys and values of tables.

_pack, _unpack = wiredtiger.swig_wiredtiger.pack, wiredtiger.swig_wiredtiger.unpack

LAST = {"u": bytes, "q": pack_int}


def pack(format: str, *values: Any) -> bytes:
    """Pack text of a known number of columns, and what follows it; all else as before."""
    if format == "u" and type(values[0]) is bytes:
        return values[0]
    if format in TEXTS and (texts := TEXTS[format]):
        joined = "\0".join(values[:texts])
        if joined.count("\0") == texts - 1:
            last = LAST[format[-1]](values[-1]) if len(format) > texts else b""
            return joined.encode() + b"\0" + last
    packed: bytes = _pack(format, *values)
    return packed


TEXTS = {"u": 0, "S": 1, "SS": 2, "SSS": 3, "SSu": 2, "SSq": 2, "SSSu": 3}
"""How many texts the formats of SecantusDB's tables begin with."""


def unpack(format: str, packed: Any) -> list[Any]:
    """Reverse `pack`."""
    if format == "u":
        return [b"" if packed is None else packed]
    if not TEXTS.get(format):
        result: list[Any] = list(_unpack(format, packed))
        return result
    *texts, last = packed.split(b"\0", TEXTS[format])
    values = [text.decode() for text in texts]
    if format[-1] == "u":
        values.append(last)
    elif format[-1] == "q":
        values.append(unpack_int(last)[0])
    return values


# Copies of documents, and keys of indexes.

SHARED = {NoneType, bool, int, float, str, bytes, Int64, ObjectId, datetime, Timestamp, Binary, Decimal128}
"""Types whose values nobody changes."""


def copied(value: Any) -> Any:
    """Return a copy of a document, as `deepcopy` does."""
    kind = type(value)
    if kind is dict:
        return {name: copied(member) for name, member in value.items()}
    if kind is list:
        return [copied(member) for member in value]
    return value if kind in SHARED else copy.deepcopy(value)


def number_key(slow: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Return what makes a number a key, and remembers the keys of many."""
    known = functools.lru_cache(1 << 16, typed=True)(slow)
    return lambda value: known(value) if isinstance(value, int | float) else slow(value)


def plain_keys(slow: Callable[..., list[bytes]]) -> Callable[..., list[bytes]]:
    """Return what makes the keys of a document in an index; if none of its fields is a list, there is one."""

    def keys(document: Any, fields: Any, *, sparse: bool, collation: Any = None) -> list[bytes]:
        values = [document.get(field) for field in fields]
        if sparse or collation is not None or list in map(type, values) or "." in "".join(fields):
            return slow(document, fields, sparse=sparse, collation=collation)
        parts = map(secantus.sortkey.encode_value_directed, values, map(int, fields.values()))
        return [secantus.sortkey.COMPOUND_SEP.join(parts)]

    return keys


def has_list(slow: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return what tells whether a document has several keys in an index."""

    def several(document: Any, fields: Any) -> bool:
        plain = "." not in "".join(fields) and all(type(document.get(field)) in SHARED for field in fields)
        return not plain and slow(document, fields)

    return several


ALIKE = {bool, int, str, Int64}
"""Types whose values are equal where Python has them equal."""


def plain_equality(slow: Callable[..., bool]) -> Callable[..., bool]:
    """Return what compares two values; most are of the same plain type."""

    def equal(one: Any, other: Any, collation: Any = None) -> bool:
        kind = type(one)
        if kind is type(other) and kind in ALIKE and collation is None:
            return bool(one == other)
        return slow(one, other, collation)

    return equal


COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
    "$in": lambda value, values: value in values,
    "$nin": lambda value, values: value not in values,
}
"""What operators of conditions say of two integers, or of an integer and a list of them."""

INTEGERS = {int, Int64}


def plain_operators(slow: Callable[..., bool]) -> Callable[..., bool]:
    """Return what applies an operator of a condition; most compare an integer, such as an id or a moment."""

    def matches(values: list[Any], name: str, given: Any, collation: Any = None, **how: Any) -> bool:
        compared = COMPARED.get(name)
        if compared is not None and len(values) == 1 and type(values[0]) in INTEGERS and collation is None:
            if name in ("$in", "$nin"):
                plain = type(given) is list and INTEGERS.issuperset(map(type, given))
            else:
                plain = type(given) in INTEGERS
            if plain:
                return compared(values[0], given)
        return slow(values, name, given, collation, **how)

    return matches


def plain_order(slow: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return what tells which of two values comes first; most are integers."""

    def is_before(one: Any, other: Any) -> bool:
        if type(one) in INTEGERS and type(other) in INTEGERS:
            return bool(one < other)
        return slow(one, other)

    return is_before


Replacement = tuple[ModuleType | type, str, Callable[[Any], Any]]
"""Where something is, its name there, and what makes something else of it."""


def replacements() -> list[Replacement]:
    """Return what takes the place of what."""
    registry = secantus.transactions.TransactionRegistry
    return [
        (secantus.server, "Storage", lambda _: RememberingStorage),
        (secantus.sessions.SessionRegistry, "_prune_locked", seldom),
        (registry, "_prune_locked", seldom),
        (registry, "_prune_retryable_locked", seldom),
        (secantus.sortkey, "_encode_number", number_key),
        (secantus.storage, "_index_key_variants", plain_keys),
        (secantus.storage, "_doc_makes_multikey", has_list),
        (secantus.query, "_eq_numeric_aware", plain_equality),
        (secantus.query, "_op_matches", plain_operators),
        (secantus.ordering, "_bson_lt", plain_order),
        (wiredtiger.swig_wiredtiger, "pack", lambda _: pack),
        (wiredtiger.swig_wiredtiger, "unpack", lambda _: unpack),
        *((module, "copy", lambda _: SimpleNamespace(deepcopy=copied, copy=copy.copy)) for module in COPYING),
    ]


COPYING = (secantus.aggregate, secantus.projection, secantus.transactions, secantus.update)
"""The modules that copy documents."""


def install() -> set[str]:
    """Have the server use all of it; return what is different in the installed wheel, in which case nothing is used."""
    wanted = replacements()
    unknown = strangers() | {name for place, name, _ in wanted if not hasattr(place, name)}
    if not unknown:
        for place, name, by in wanted:
            setattr(place, name, by(getattr(place, name)))
        for module in [module for name, module in sys.modules.items() if name.startswith("secantus.")]:
            if getattr(module, "Mapping", None) is Mapping:  # each value is asked whether it is one: all are dicts
                module.Mapping = dict  # type: ignore[attr-defined]
    return unknown
