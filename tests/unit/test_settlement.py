"""How a turn ends is decided in one place, from what the handler returned or raised."""

import pickle
import re
import traceback
from datetime import UTC, datetime, timedelta

import pytest

from duerow import Bury, Commit, Draft, Failure, Message, Move, Release, Retry, Rollback, fixed, limited
from duerow.errors import CodecError, ConfigurationError, InvalidMessage, InvalidOutcome
from duerow.settlement import MAX_FAILURE, MAX_TRACEBACK, decide, failure, merged, mistake, outline

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
POLICY = limited(3, fixed(MINUTE))


def message(attempts=1, **changes):
    fields = {
        "id": 7, "queue": "mail", "payload": {"n": 1}, "kind": "json", "key": "m-1", "headers": {"a": 1, "b": 2},
        "group": None, "priority": 0,
        "status": "new", "due_at": AT, "first_due_at": AT, "attempts": attempts, "token": 1, "leased_by": "me",
        "leased_until": AT + MINUTE, "created_at": AT, "last_attempt_at": AT, "last_error": None,
    }  # fmt: skip
    return Message(**fields | changes)


@pytest.mark.parametrize("outcome", [None, 0, "done", {"any": "thing"}, [], [1, 2], True])
def test_what_is_no_settlement_is_ignored_and_the_message_is_done(outcome):
    assert decide(message(), outcome, POLICY) == Commit()


async def a_coroutine():
    raise AssertionError("nobody awaits it")


async def an_async_generator():
    yield Move("billing")


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        ((one for one in [Move("billing")]), "a generator, so none of it has run"),
        (an_async_generator(), "a generator, so none of it has run"),
        (a_coroutine(), "a coroutine, which is never awaited"),
        ((Move("billing"), Move("archive")), r"a tuple with Move\(to='billing'.* in it"),
        ([1, Bury("no use")], r"a list with Bury\('no use'\) in it"),
        ((Retry(MINUTE),), "a tuple with Retry"),
        (Bury, "the class Bury"),
        (Move, "the class Move"),
        (Retry, "the class Retry"),
        (ValueError, "the class ValueError"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_can_only_be_a_mistake_is_a_failed_attempt(outcome, says):
    ended = decide(message(), outcome, POLICY)
    assert isinstance(ended, Rollback)
    with pytest.raises(InvalidOutcome, match=f"message 7: the handler returned {says}"):
        raise ended.error


@pytest.mark.parametrize(
    "outcome",
    [Commit(), Commit("changed"), Rollback(MINUTE, "no line"), Release(), Move("billing"), Bury("no use")],
    ids=repr,
)
def test_a_settlement_is_taken_as_it_is(outcome):
    assert decide(message(attempts=100), outcome, POLICY) is outcome


def test_a_rollback_without_a_delay_gets_that_of_the_policy():
    assert decide(message(), Rollback(error="no line"), POLICY) == Rollback(MINUTE, "no line")


def test_a_rollback_without_a_delay_is_buried_when_the_policy_gives_up():
    ended = decide(message(attempts=3), Rollback(error="no line"), POLICY)
    assert isinstance(ended, Bury)
    assert ended.reason == "no line"


def test_a_rollback_without_delay_or_error_is_buried_with_a_reason_all_the_same():
    ended = decide(message(attempts=3), Rollback(), POLICY)
    assert isinstance(ended, Bury)
    assert "attempt 3" in ended.reason


def test_an_exception_is_a_failed_attempt():
    error = ValueError("no line")
    assert decide(message(), error, POLICY) == Rollback(MINUTE, error)


def test_the_last_attempts_exception_buries_the_message():
    error = ValueError("no line")
    ended = decide(message(attempts=3), error, POLICY)
    assert isinstance(ended, Bury)
    assert ended.reason is error


def test_a_policy_that_gives_a_negative_delay_means_at_once():
    assert decide(message(), ValueError(), lambda *_: -MINUTE).delay == timedelta(0)


@pytest.mark.parametrize(("outcome", "told"), [(one := ValueError(), one), (Rollback(error="no line"), None)], ids=repr)
def test_a_policy_is_told_the_attempt_when_it_began_and_the_exception_if_there_is_one(outcome, told):
    asked = []

    def policy(*given):
        asked.append(given)
        return MINUTE

    assert decide(message(attempts=2), outcome, policy).delay == MINUTE
    assert asked == [(2, AT, told)]


def test_a_policy_that_gives_no_span_is_refused_with_what_it_gave():
    class Seconds:
        def __call__(self, *_):
            return 60

        def __repr__(self):
            return "x" * 200

    with pytest.raises(ConfigurationError) as refused:
        decide(message(), ValueError(), Seconds())
    gave, _, policy = str(refused.value).partition(": ")
    assert gave == "a retry policy must return a timedelta or None, not 60"
    assert policy.startswith("x" * 100)
    assert len(policy) < 150


def test_retry_has_the_delay_of_the_handlers_choosing():
    wish = Retry(after=timedelta(seconds=5))
    assert decide(message(), wish, POLICY) == Rollback(timedelta(seconds=5), wish)


def test_retry_counts_towards_the_limit_unless_it_says_otherwise():
    assert isinstance(decide(message(attempts=3), Retry(after=MINUTE), POLICY), Bury)
    assert decide(message(attempts=3), Retry(after=MINUTE, counts=False), POLICY).delay == MINUTE
    assert decide(message(attempts=300), Retry(after=MINUTE), fixed(MINUTE)).delay == MINUTE


@pytest.mark.parametrize("after", [-MINUTE, 60, None])
def test_retry_takes_only_a_span(after):
    with pytest.raises(InvalidMessage, match=r"^after "):
        Retry(after=after)


@pytest.mark.parametrize("counts", [True, False])
def test_a_pickled_retry_says_the_same(counts):
    sent = Retry(MINUTE, counts)
    again = pickle.loads(pickle.dumps(sent))
    assert (again.after, again.counts, again.args) == (MINUTE, counts, (MINUTE, counts))
    assert str(again) == str(sent) == "the handler asked for a retry after 0:01:00"


def test_a_pickled_bury_says_the_same():
    sent = Bury("no use", (Draft("tell them", queue="mail"),))
    again = pickle.loads(pickle.dumps(sent))
    assert (again.reason, again.then) == ("no use", sent.then)
    assert str(again) == "no use"


def test_bury_may_be_raised_or_returned():
    for outcome in (Bury("no use"), Bury(ValueError("no number"))):
        assert decide(message(), outcome, POLICY) is outcome
        with pytest.raises(Bury):
            raise outcome


def test_a_bury_has_what_it_was_made_with_like_any_exception():
    then = (Draft("tell them", queue="mail"),)
    assert (Bury("no use").args, Bury("no use", then).args) == (("no use",), ("no use", then))


def test_a_list_of_moves_is_no_mistake_wherever_it_is_asked():
    assert mistake([Move("a"), Move("b")]) is None


def test_a_list_of_moves_makes_a_new_message_in_each_queue_and_ends_this_one():
    ended = decide(message(), [Move("a"), Move("b", {"n": 2}, headers={"b": None, "c": 3}, delay=MINUTE)], POLICY)
    first = Draft({"n": 1}, headers={"a": 1, "b": 2, "parent": 7}, queue="a")
    second = Draft({"n": 2}, delay=MINUTE, headers={"a": 1, "c": 3, "parent": 7}, queue="b")
    assert ended == Commit(then=(first, second))


def test_each_move_of_a_list_sets_the_key_the_group_the_priority_and_the_due_time_of_its_message():
    ended = decide(message(), [Move("a", key="m-2", group="ann", priority=3, due=AT), Move("b", delay=MINUTE)], POLICY)
    headers = {"a": 1, "b": 2, "parent": 7}
    first = Draft({"n": 1}, "m-2", AT, None, headers, "a", "ann", 3)
    assert ended == Commit(then=(first, Draft({"n": 1}, None, None, MINUTE, headers, "b", None, 0)))


def test_a_move_of_a_list_that_says_nothing_keeps_the_group_and_the_priority_but_no_key():
    one = message(group="bob", priority=-2)
    ended = decide(one, [Move("a"), Move("b", key=None, group=None, priority=0)], POLICY)
    assert [(draft.key, draft.group, draft.priority) for draft in ended.then] == [(None, "bob", -2), (None, None, 0)]


def test_a_list_that_mixes_moves_with_other_things_is_a_failed_attempt():
    ended = decide(message(), [Move("a"), "b"], POLICY)
    assert isinstance(ended, Rollback)
    assert isinstance(ended.error, InvalidOutcome)
    assert "message 7" in str(ended.error)
    assert str(ended.error) == "message 7: a list of Moves contains 'b'; return only Moves"


def test_a_failure_names_the_whole_chain_of_causes_and_the_end_of_its_traceback():
    try:
        try:
            raise KeyError("a")
        except KeyError as cause:
            raise RuntimeError("cannot send") from cause
    except RuntimeError as error:
        kept = failure(error)
    assert (kept.type, kept.message) == ("RuntimeError", "RuntimeError: cannot send <- KeyError: 'a'")
    assert kept.traceback.rstrip().endswith("RuntimeError: cannot send")


def test_a_failure_names_the_error_that_was_being_handled_when_another_one_was_raised():
    def send():
        try:
            raise KeyError("a")
        except KeyError:
            raise RuntimeError("cannot send")  # noqa: B904

    with pytest.raises(RuntimeError) as caught:
        send()
    kept = failure(caught.value)
    assert kept.message == "RuntimeError: cannot send <- KeyError: 'a'"
    assert kept.traceback == "".join(traceback.format_exception(caught.value))


def test_a_failure_has_the_text_that_an_error_left_out():
    error = CodecError("a payload does not fit", detail="the field n is no number")
    assert failure(error) == Failure("CodecError", "CodecError: the field n is no number")


def test_what_is_no_error_is_refused_as_one():
    with pytest.raises(InvalidOutcome, match=r"^the error of a failed message must be .*, not int$"):
        failure(42)


def test_a_chain_that_bites_its_own_tail_ends():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert failure(first).message == "ValueError: first <- ValueError: second"


def test_a_cause_that_was_suppressed_is_not_named():
    def send():
        try:
            raise KeyError("a")
        except KeyError:
            raise RuntimeError("cannot send") from None

    with pytest.raises(RuntimeError) as raised:
        send()
    assert failure(raised.value).message == "RuntimeError: cannot send"


def test_a_failure_is_bounded():
    def deep(level):
        if level == 0:
            raise ValueError("x" * 1_000_000)
        deep(level - 1)

    with pytest.raises(ValueError, match="x") as raised:
        deep(500)
    kept = failure(raised.value)
    assert len(kept.message) <= MAX_FAILURE
    assert len(kept.traceback) <= MAX_TRACEBACK


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (None, None),
        ("no line", Failure("Error", "no line")),
        (Failure("Busy", "no line"), Failure("Busy", "no line")),
        (Bury("no use"), Failure("Bury", "no use")),
        (Bury(Failure("Busy", "no line")), Failure("Busy", "no line")),
        (Bury(ValueError("no number")), Failure("ValueError", "ValueError: no number")),
        (ValueError(), Failure("ValueError", "ValueError")),
    ],
    ids=repr,
)
def test_whatever_says_why_becomes_a_failure(error, kept):
    assert failure(error) == kept


def raised(error, cause=None):
    """An error that was raised here, in a function that another one calls."""

    def send():
        raise error from cause

    try:
        send()
    except type(error) as caught:
        return caught


HERE = r" in send \(test_settlement\.py:\d+\)"


@pytest.mark.parametrize(
    ("error", "type", "message"),
    [
        ("card 4711", "Error", "Error"),
        (Failure("Busy", "card 4711"), "Busy", "Busy"),
        (ValueError("card 4711"), "ValueError", "ValueError"),
        (raised(ValueError("card 4711")), "ValueError", f"ValueError{HERE}"),
        (raised(ValueError("card 4711"), KeyError("4711")), "ValueError", f"ValueError <- KeyError{HERE}"),
        (Bury("card 4711"), "Bury", "Bury"),
        (raised(Bury("card 4711")), "Bury", f"Bury{HERE}"),
        (Bury(Failure("Busy", "card 4711")), "Busy", "Busy"),
        (Bury(ValueError("card 4711")), "ValueError", "ValueError"),
        (CodecError("card 4711"), "CodecError", "CodecError"),
        (CodecError("no key of this name", quotes=False), "CodecError", "CodecError: no key of this name"),
    ],
    ids=repr,
)
def test_what_an_encrypted_queue_keeps_of_an_error_names_its_types_and_its_place_and_quotes_nothing(
    error, type, message
):
    kept = outline(error)
    assert kept.type == type
    assert re.fullmatch(message, kept.message)
    assert kept.traceback is None


def test_no_error_is_kept_as_none():
    assert outline(None) is None


@pytest.mark.parametrize("told", [failure, outline])
def test_an_error_that_was_described_elsewhere_is_kept_as_it_was_described(told):
    error = ValueError("here")
    error.duerow_failure = Failure("KeyError", "KeyError", "there")
    assert (told(error).type, told(error).message) == ("KeyError", "KeyError")


def test_merged_headers_lose_those_set_to_none():
    assert merged({"a": 1, "b": 2}, {"b": None, "c": 3}) == {"a": 1, "c": 3}
    assert merged({"a": 1}, None) == {"a": 1}
    with pytest.raises(CodecError, match=r"^headers must be a mapping of names to scalars, not list$"):
        merged({"a": 1}, ["b"])
