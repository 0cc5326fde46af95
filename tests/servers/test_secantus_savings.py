"""What spares SecantusDB's processor time changes none of its answers."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bson import Int64, ObjectId
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("secantus")  # it has no wheel for every version of Python

import secantus.ordering
import secantus.query
import secantus.sortkey
import secantus.storage

from tests.servers import secantus_savings as savings

few = settings(max_examples=40)

PLACE = ("tested", "papers")

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1).map(Int64),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.sampled_from([datetime(2026, 1, 1, tzinfo=UTC), ObjectId("0" * 24)]),
)
VALUES = st.recursive(SCALARS, lambda some: st.lists(some, max_size=2) | st.dictionaries(st.text(max_size=2), some))
FIELDS = st.sampled_from(["a", "b", "c", "a.b"])

COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "S": st.text(max_size=3),
    "u": st.binary(max_size=4),
    "q": st.integers(-(2**63), 2**63 - 1),
}


def packing() -> st.SearchStrategy[tuple[str, list[Any]]]:
    """A format of a table, and values for its columns."""
    formats = st.sampled_from(["u", "q", "S", "SS", "SSS", "SSu", "SSq", "SSSu"])
    return formats.flatmap(lambda format: st.tuples(st.just(format), st.tuples(*(COLUMNS[one] for one in format))))


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[savings.RememberingStorage]:
    """A storage with one collection."""
    with savings.RememberingStorage(str(tmp_path), ttl_sweep_seconds=0, durable=False) as storage:
        storage.create_collection(*PLACE)
        yield storage


def names(storage: savings.RememberingStorage) -> list[str]:
    return sorted(storage._index_options_map(*PLACE))


def test_the_installed_secantusdb_is_one_whose_costs_are_spared() -> None:
    assert savings.strangers() == set()
    assert all(hasattr(place, name) for place, name, _ in savings.replacements())


@few
@given(packing())
def test_keys_are_packed_and_unpacked_as_by_wiredtiger(packed: tuple[str, list[Any]]) -> None:
    format, values = packed
    written = savings._pack(format, *values)
    assert savings.pack(format, *values) == written
    assert savings.unpack(format, written) == list(savings._unpack(format, written))


@few
@given(st.dictionaries(FIELDS, VALUES), st.dictionaries(FIELDS, st.sampled_from([1, -1]), min_size=1), st.booleans())
def test_documents_have_the_same_keys_in_indexes(
    document: dict[str, Any], fields: dict[str, int], sparse: bool
) -> None:
    keys, several = secantus.storage._index_key_variants, secantus.storage._doc_makes_multikey
    assert savings.plain_keys(keys)(document, fields, sparse=sparse) == keys(document, fields, sparse=sparse)
    assert savings.has_list(several)(document, fields) == several(document, fields)


@few
@given(st.floats() | st.integers())
def test_numbers_have_the_same_keys(number: float) -> None:
    encode = secantus.sortkey._encode_number
    remembering = savings.number_key(encode)
    assert remembering(number) == remembering(number) == encode(number)


@few
@given(VALUES, VALUES)
def test_the_same_values_are_equal(one: Any, other: Any) -> None:
    equal = secantus.query._eq_numeric_aware
    assert savings.plain_equality(equal)(one, other) == equal(one, other)


NUMBERS = st.integers(-3, 3) | st.integers(-3, 3).map(Int64) | st.sampled_from([1.0, float("nan"), True, None, "1"])


@few
@given(
    st.lists(NUMBERS | st.lists(NUMBERS, max_size=2), max_size=2),
    st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]),
    NUMBERS,
)
def test_a_condition_holds_for_the_same_values(values: list[Any], operator: str, given: Any) -> None:
    matches = secantus.query._op_matches
    assert savings.plain_operators(matches)(values, operator, given) == matches(values, operator, given)


@few
@given(st.lists(NUMBERS, max_size=2), st.sampled_from(["$in", "$nin"]), st.lists(NUMBERS, max_size=4))
def test_the_same_values_are_among_others(values: list[Any], operator: str, given: list[Any]) -> None:
    matches = secantus.query._op_matches
    assert savings.plain_operators(matches)(values, operator, given) == matches(values, operator, given)


@few
@given(VALUES, VALUES)
def test_values_have_the_same_order(one: Any, other: Any) -> None:
    is_before = secantus.ordering._bson_lt
    assert savings.plain_order(is_before)(one, other) == is_before(one, other)


@few
@given(VALUES)
def test_a_copy_is_equal_and_another_one(value: Any) -> None:
    copied = savings.copied({"value": value})
    assert repr(copied) == repr({"value": value})
    assert not isinstance(value, list | dict) or copied["value"] is not value


def test_an_index_is_known_as_soon_as_it_is_made_and_until_it_is_dropped(storage: savings.RememberingStorage) -> None:
    assert names(storage) == []
    storage.create_index(*PLACE, "by_a", {"a": 1})
    assert names(storage) == ["by_a"]
    storage.set_index_options(*PLACE, "by_a", hidden=True)
    assert storage._index_options_map(*PLACE)["by_a"]["hidden"]
    storage.drop_index(*PLACE, "by_a")
    assert names(storage) == []


def test_an_index_has_several_keys_from_the_first_list_on(storage: savings.RememberingStorage) -> None:
    storage.create_index(*PLACE, "by_a", {"a": 1})
    assert not storage.index_is_multikey(*PLACE, "by_a")
    storage.insert(*PLACE, [{"_id": 1, "a": [1, 2]}])
    assert storage.index_is_multikey(*PLACE, "by_a")


def test_a_transaction_sees_the_indexes_that_there_were_when_it_began(storage: savings.RememberingStorage) -> None:
    handle = storage.begin_user_transaction()
    with storage.use_user_transaction(handle):
        assert storage.find_matching(*PLACE, {"a": 1}) == []
    storage.insert(*PLACE, [{"_id": 1, "a": 1}])
    storage.create_index(*PLACE, "by_a", {"a": 1})
    with storage.use_user_transaction(handle):
        assert names(storage) == []
    assert names(storage) == ["by_a"]
    storage.abort_user_transaction(handle)


def test_an_index_made_in_a_transaction_is_known_to_others_once_that_is_committed(
    storage: savings.RememberingStorage,
) -> None:
    handle = storage.begin_user_transaction()
    with storage.use_user_transaction(handle):
        storage.create_index(*PLACE, "by_a", {"a": 1})
        assert names(storage) == ["by_a"]
    assert names(storage) == []
    storage.commit_user_transaction(handle)
    storage._refresh_read_snapshot()
    assert names(storage) == ["by_a"]


def test_options_are_known_as_soon_as_they_are_set_and_until_the_collection_is_dropped(
    storage: savings.RememberingStorage,
) -> None:
    assert "validator" not in storage.get_collection_options(*PLACE)
    storage.set_collection_options(*PLACE, validator={"a": 1})
    assert storage.get_collection_options(*PLACE)["validator"] == {"a": 1}
    storage.drop_collection(*PLACE)
    assert not storage.collection_exists(*PLACE)


def test_settings_of_the_profiler_are_known_as_soon_as_they_are_set(storage: savings.RememberingStorage) -> None:
    assert storage.get_profile("tested")["level"] == 0
    storage.set_profile("tested", level=2)
    assert storage.get_profile("tested")["level"] == 2


UPDATES = st.dictionaries(st.sampled_from(["a", "b", "u"]), st.none() | st.integers(0, 2) | st.lists(st.integers(0, 2)))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 1), UPDATES, st.sampled_from(["$set", "$unset", "all", "delete"])), max_size=8)
)
def test_after_updates_an_index_holds_what_a_new_one_would(
    storage: savings.RememberingStorage, steps: list[tuple[int, dict[str, Any], str]]
) -> None:
    indexes: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
        "plain": ({"a": 1, "b": -1}, {}),
        "partial": ({"a": 1}, {"partialFilterExpression": {"b": {"$gte": 1}}}),
        "unique": ({"u": 1}, {"unique": True, "partialFilterExpression": {"u": {"$exists": True}}}),
    }
    storage.drop_collection(*PLACE)
    for name, (fields, options) in indexes.items():
        storage.create_index(*PLACE, name, fields, options)
    storage.insert(*PLACE, [{"_id": 0, "a": 0}, {"_id": 1, "a": 1, "b": 1}])
    for id, fields, how in steps:
        if how == "delete":
            storage.delete_matching(*PLACE, {"_id": id}, limit=1)
        elif fields:
            with contextlib.suppress(secantus.storage.IndexConflict):
                operator = "$set" if how == "all" else how
                storage.update_matching(*PLACE, {"_id": id}, {operator: fields}, multi=how == "all")
    kept = entries(storage)
    storage.drop_all_indexes(*PLACE)
    for name, (fields, options) in indexes.items():
        storage.create_index(*PLACE, name, fields, options)
    assert kept == entries(storage)


def entries(storage: savings.RememberingStorage) -> list[Any]:
    """What is in the indexes, and which keys are taken."""
    tables = secantus.storage._IDX_ENTRIES_TABLE, secantus.storage._UNIQ_TABLE
    return [storage._collect_prefix(table, PLACE) for table in tables]
