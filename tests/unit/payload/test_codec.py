"""The codec keeps what JSON can carry and refuses the rest."""

import json
import math
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duerow.errors import CodecError
from duerow.message import Failure
from duerow.payload.codec import (
    decode,
    decode_failure,
    decode_headers,
    encode,
    encode_alike,
    encode_failure,
    encode_headers,
    merge_patch,
)
from duerow.testing.conformance.payloads import EDGES, JSON, shape

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)


@given(JSON | st.binary(max_size=50))
def test_what_is_encoded_is_decoded_equal_and_of_the_same_types(payload):
    encoded = encode(payload)
    assert shape(decode(encoded.kind, encoded.text)) == shape(payload)


@pytest.mark.parametrize("payload", EDGES, ids=lambda payload: repr(payload)[:30])
def test_payloads_at_the_edges_are_decoded_the_same(payload):
    encoded = encode(payload)
    assert shape(decode(encoded.kind, encoded.text)) == shape(payload)


@given(JSON)
def test_the_text_is_json_that_other_programs_read(payload):
    def same(ours, theirs):
        if isinstance(ours, float) and isinstance(theirs, float):
            return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            return ours.keys() == theirs.keys() and all(same(ours[name], theirs[name]) for name in ours)
        if isinstance(ours, list) and isinstance(theirs, list):
            return len(ours) == len(theirs) and all(map(same, ours, theirs))
        return type(ours) is type(theirs) and ours == theirs

    assert same(payload, json.loads(encode(payload).text))


@given(st.dictionaries(st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=5), st.integers(0, 9)))
def test_equal_objects_have_one_text_whatever_the_order_of_their_keys(payload):
    assert encode(dict(reversed(payload.items()))) == encode(payload)


@pytest.mark.parametrize(
    ("kind", "text"),
    [("invoice", "1"), ("", "1"), ("json", "{"), ("json", ""), ("bytes", "1"), ("bytes", '"*"')],
)
def test_what_is_not_of_our_making_is_refused(kind, text):
    with pytest.raises(CodecError):
        decode(kind, text)


def test_the_place_of_what_cannot_be_carried_is_named():
    with pytest.raises(CodecError, match=r"payload\['orders'\]\[1\]\['at'\] is of type datetime.date"):
        encode({"orders": [{}, {"at": date(2026, 1, 1)}]})


def test_a_list_within_itself_is_refused():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(CodecError, match="nested more than 64 deep"):
        encode(endless)


def test_text_that_only_speaks_of_u0000_is_kept():
    encoded = encode(["\\u0000", {"\\u0000": 1}])
    assert decode(encoded.kind, encoded.text) == ["\\u0000", {"\\u0000": 1}]


@pytest.mark.parametrize("headers", [None, {}])
def test_no_headers_take_no_room(headers):
    assert encode_headers(headers) is None
    assert decode_headers(None) == {}


@pytest.mark.parametrize("text", ["[1]", "1", '"a"', "{"])
def test_headers_that_cannot_be_read_back_are_refused(text):
    with pytest.raises(CodecError, match="headers cannot be read back"):
        decode_headers(text)


@pytest.mark.parametrize("text", ["no line", "a\0b", "\ud800", "€", ""])
def test_every_failure_can_be_kept(text):
    kept = decode_failure(encode_failure(Failure("ValueError", text, text)))
    assert kept is not None
    assert kept.type == "ValueError"
    assert "\0" not in kept.message
    kept.message.encode()


def test_failures_of_another_make_are_shown_as_they_are():
    assert decode_failure("boom") == Failure("unknown", "boom")
    assert decode_failure('{"a": 1}') == Failure("unknown", '{"a": 1}')
    assert decode_failure(None) is None


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        # the examples of RFC 7396, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_does_what_its_rfc_says(target, patch, result):
    assert merge_patch(target, patch) == result


@given(DOCUMENTS, DOCUMENTS)
def test_a_merge_patch_changes_neither_of_its_arguments(target, patch):
    before = json.dumps([target, patch])
    merge_patch(target, patch)
    assert json.dumps([target, patch]) == before


@given(st.lists(JSON, min_size=1, max_size=5) | st.lists(st.binary(max_size=50), min_size=1, max_size=5))
@example([{"\\u0000": None}])  # these six characters, and not U+0000
def test_payloads_encoded_together_are_encoded_as_each_alone(payloads):
    alone = [encode(payload) for payload in payloads]
    kind, texts = encode_alike(payloads)
    assert [(kind, text) for text in texts] == [(one.kind, one.text) for one in alone]


class Text(str):
    """Text of another type."""


@pytest.mark.parametrize(
    "bad",
    [
        (1,),
        {"a": {1: 2}},
        {Text("a"): 1},
        [Text("a")],
        [[1 << 63]],
        -(1 << 63) - 1,
        {"a": math.inf},
        [math.nan],
        "\0",
        {"a\0": 1},
        ["\ud800"],
        date(2026, 1, 1),
        "x" * (1 << 20),
        json.loads("[" * 65 + "]" * 65),
    ],
    ids=lambda bad: repr(bad)[:20],
)
def test_payloads_are_not_encoded_together_if_one_of_them_is_refused(bad):
    with pytest.raises(CodecError):
        encode(bad)
    assert encode_alike([1, bad, {"b": [None]}]) is None


def test_payloads_of_several_kinds_are_not_encoded_together():
    assert encode_alike([b"a", "a"]) is None
    assert encode_alike([encode("a"), "a"]) is None
