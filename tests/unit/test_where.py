"""Conditions as values: what can be written, how they are combined, and that their text reads back the same."""

import pickle
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duerow.conditions.model import Compare, Every, In, IsNull, Like, Not, Some, every
from duerow.errors import InvalidCondition
from duerow.testing.conditions import conditions
from duerow.where import as_condition, as_path, field, headers, parse, parse_path, payload

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@given(conditions)
def test_a_condition_is_printed_as_text_that_reads_back_the_same(condition):
    assert parse(str(condition)) == condition
    assert str(parse(str(condition))) == str(condition)


@given(st.text())
def test_any_text_is_a_condition_or_is_refused(text):
    try:
        condition = parse(text)
    except InvalidCondition:
        return
    assert parse(str(condition)) == condition


@given(conditions, st.integers(0, 10_000), st.sampled_from(["", "'", '"', "(", ")", " not ", ",", "\\", ";", "--"]))
def test_a_broken_text_is_a_condition_or_is_refused(condition, place, shard):
    text = str(condition)
    place %= len(text)
    try:
        parse(text[:place] + shard + text[place + 1 :])
    except InvalidCondition:
        return


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("attempts > 3", Compare(("attempts",), ">", 3)),
        ("payload.a.b = 'it''s'", Compare(("payload", "a", "b"), "=", "it's")),
        ('payload."odd ""key""" = -1.5e3', Compare(("payload", 'odd "key"'), "=", -1500.0)),
        ("payload.in <> true", Not(Compare(("payload", "in"), "=", True))),
        ("payload = false", Compare(("payload",), "=", False)),
        ("key in ('a','b')", In(("key",), ("a", "b"))),
        ("key not in ()", Not(In(("key",), ()))),
        ("key NOT LIKE 'a%'", Not(Like(("key",), "a%"))),
        ("headers.x is null", IsNull(("headers", "x"))),
        ("headers.x IS NOT NULL", Not(IsNull(("headers", "x")))),
        ("due_at < '2026-03-01T13:00:00+01:00'", Compare(("due_at",), "<", AT)),
        ("id = 1 or id = 2 and id = 3", Some((Compare(("id",), "=", 1), Every((parse("id = 2"), parse("id = 3")))))),
        ("not id = 1 and id = 2", Every((Not(parse("id = 1")), parse("id = 2")))),
        ("not (id = 1 and id = 2)", Not(Every((parse("id = 1"), parse("id = 2"))))),
        ("not not (id = 1)", Compare(("id",), "=", 1)),
        ("(id = 1 and (id = 2 and id = 3))", Every((parse("id = 1"), parse("id = 2"), parse("id = 3")))),
    ],
)
def test_text_says_what_it_says_in_sql(text, condition):
    assert parse(text) == condition


def test_python_says_the_same_as_text():
    moment = AT.astimezone(timezone(timedelta(hours=3)))
    pairs = [
        (payload.companyId == 3345, "payload.companyId = 3345"),
        (payload["odd key"].a != "x", "payload.\"odd key\".a != 'x'"),
        (headers["trace-id"].is_null(), 'headers."trace-id" is null'),
        (payload.a == None, "payload.a is null"),  # noqa: E711 - the way to say it
        (payload.a != None, "payload.a is not null"),  # noqa: E711
        (field("attempts").in_([1, 2]), "attempts in (1, 2)"),
        (field("payload.a").not_in(range(2)), "payload.a not in (0, 1)"),
        (field("due_at") >= moment, "due_at >= '2026-03-01T12:00:00Z'"),
        (payload.path.like("a%") & ~payload.path.not_like("%b"), "payload.path like 'a%' and payload.path like '%b'"),
        ((payload.a < 1) | (payload.a > 2) & (payload.b <= 3), "payload.a < 1 or payload.a > 2 and payload.b <= 3"),
    ]
    for condition, text in pairs:
        assert condition == parse(text)


def test_conditions_are_not_combined_with_the_words_of_python():
    with pytest.raises(TypeError, match="combine conditions with &"):
        bool(payload.a == 1)
    with pytest.raises(InvalidCondition, match="only conditions"):
        (payload.a == 1) & 5


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: payload.a == object(), "text, a number or a boolean"),
        (lambda: payload.a == AT, "text, a number or a boolean"),
        (lambda: payload.a == b"x", "text, a number or a boolean"),
        (lambda: payload.a > None, "a comparison with null is never true"),
        (lambda: payload.a.in_([None]), "a comparison with null is never true"),
        (lambda: payload.a.in_("abc"), "a list of values"),
        (lambda: payload.a == float("nan"), "finite"),
        (lambda: payload.a == 1 << 63, "64 bits"),
        (lambda: payload.a == "\ud800", "surrogate"),
        (lambda: payload["\0"] == 1, r"U\+0000"),
        (lambda: payload[0] == 1, "list elements"),
        (lambda: payload.a.like(5), "must be text"),
        (lambda: payload.a.like("x" * 1_001), "1,000 characters"),
        (lambda: field("due_at") > datetime(2026, 1, 1), "no time zone"),
        (lambda: field("due_at") > datetime(1, 1, 1, tzinfo=UTC), "out of range"),
        (lambda: field("attempts").x, "has no parts"),
        (lambda: headers == 1, "name a header"),
        (lambda: field("colour"), "no field 'colour'"),
        (lambda: field(5), "field must be text"),
        (lambda: as_condition(5), "condition must be text"),
        (lambda: as_path(5), "field must be text"),
        (lambda: as_path("headers"), "name a header"),
        (lambda: parse("id = " + "9" * 5_000), "64-bit integer"),
        (lambda: parse("id ="), "ends too early"),
        (lambda: parse("  "), "empty"),
        (lambda: parse("id = 1 id"), "from character 8 on: 'id'"),
        (lambda: every(*[payload.a == n for n in range(201)]), "more than 200 comparisons"),
    ],
)
def test_what_can_never_be_answered_is_refused_in_words(wrong, says):
    with pytest.raises(InvalidCondition, match=says):
        wrong()


def test_nesting_has_an_end_also_in_python():
    condition = payload.a == 1
    for _ in range(7):
        condition = (condition & (payload.c == 3)) | (payload.d == 4)
    assert condition.depth == 15
    deeper = condition & (payload.c == 3)
    with pytest.raises(InvalidCondition, match="more than 16 deep"):
        deeper | (payload.d == 4)


def test_a_condition_travels_between_processes():
    condition = parse("payload.a in (1, 'x') and not due_at < '2026-01-01T00:00:00Z'")
    assert pickle.loads(pickle.dumps(condition)) == condition


def test_fields_are_told_apart_by_their_paths():
    assert parse_path('payload."a b".c') == ("payload", "a b", "c")
    assert as_path(payload["a b"].c) == ("payload", "a b", "c")
    assert repr(payload["a b"].c) == '<Field payload."a b".c>'


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("payload.a = 3 andd b", 14),
        ("attempts >  ", 10),
        ("", 0),
        ("attempts > 3 and nope = 1", 17),
        ("attempts = 3 and attempts.x = 4", None),
    ],
)
def test_a_refused_text_says_at_which_character_it_cannot_be_read(text, at):
    with pytest.raises(InvalidCondition) as refused:
        parse(text)
    assert refused.value.at == at
