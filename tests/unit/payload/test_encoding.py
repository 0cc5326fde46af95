"""What becomes of payloads between a queue and its store: edits of stored ones, in every combination."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from duerow.encryption import Encryption
from duerow.errors import CodecError, KeyMissing
from duerow.payload.codec import Encoded, encode
from duerow.payload.dead_letter_headers import Home
from duerow.payload.encoding import PLAIN, Payloads, StoredPayload
from duerow.payload.types import Declared


class Order(msgspec.Struct):
    """A declared payload."""

    number: int
    note: str = ""


KEYS = Encryption([Encryption.new_key()], readable={"orders": ["number"]})


HOME = Home("orders", None)


def edited(payloads: Payloads, stored: Encoded, patch: Any) -> Encoded:
    return payloads.edited(StoredPayload("orders", None, None, stored.kind, stored.text), patch)


def test_plain_json_is_patched_as_before():
    assert edited(PLAIN, encode({"a": 1, "b": 2}), {"b": None, "c": 3}) == encode({"a": 1, "c": 3})
    assert edited(PLAIN, encode(b"raw"), {"a": 1}) == encode({"a": 1})


def test_a_declared_payload_keeps_its_kind_also_where_it_is_not_declared():
    for payloads in (Payloads("orders", Declared(Order)), PLAIN):
        after = edited(payloads, Encoded("Order", '{"note":"","number":1}'), {"number": 2})
        assert after == Encoded("Order", '{"note":"","number":2}')


def test_a_patch_that_would_leave_the_declared_type_is_refused():
    with pytest.raises(CodecError, match="does not fit Order"):
        edited(Payloads("orders", Declared(Order)), Encoded("Order", '{"number":1}'), {"number": "two"})


@pytest.mark.parametrize("declared", [Declared(Order), None], ids=["declared", "undeclared"])
def test_an_encrypted_payload_is_encrypted_again_with_its_readable_fields(declared: Declared[Order] | None):
    stored = KEYS.seal(HOME, Encoded("Order", '{"note":"secret","number":1}'))
    after = edited(Payloads("orders", declared, KEYS), stored, {"number": 2})
    assert after.kind == "Order+encrypted"
    assert "secret" not in after.text
    assert msgspec.json.decode(after.text)["number"] == 2
    assert KEYS.open(HOME, after.kind, after.text) == Encoded("Order", '{"note":"secret","number":2}')


def test_an_encrypted_payload_is_not_patched_without_its_key():
    stored = KEYS.seal(HOME, encode({"number": 1}))
    for payloads in (PLAIN, Payloads("orders", None, Encryption([Encryption.new_key()]))):
        with pytest.raises(KeyMissing):
            edited(payloads, stored, {"number": 2})


def test_a_payload_in_clear_text_is_encrypted_when_it_is_edited_by_who_has_keys():
    after = edited(Payloads("orders", None, KEYS), encode({"a": 1}), {"a": 2})
    assert KEYS.open(HOME, after.kind, after.text) == encode({"a": 2})


def test_what_is_encrypted_already_is_not_encrypted_twice():
    stored = KEYS.seal(HOME, encode({"number": 1}))
    assert Payloads("other", None, KEYS).seal(stored, "other", None, None) is stored
