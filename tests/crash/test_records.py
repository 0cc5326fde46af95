"""The verdict on a run notices records that a pipeline loses or duplicates, and rows that do not end once."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from duerow.testing.torture.evidence import Item, Row
from duerow.testing.torture.ledger import Line
from duerow.testing.torture.options import Options
from duerow.testing.torture.pipelines import (
    COPYING,
    GATHERING,
    LEFT,
    PARTS,
    RECORDS,
    RIGHT,
    SETS,
    WHOLE,
    outputs_of,
)
from duerow.testing.torture.report import report_on
from duerow.testing.torture.verdict import Verdict

COPIED, DIVIDED = "1.1/1", "1.1/2"
ALL = [*range(PARTS)]


def judged(lines: Sequence[Line], rows: Sequence[Row] = (), items: Sequence[Item] | None = ()) -> Verdict:
    """The verdict on lines in this order."""
    return Verdict([replace(line, seq=place) for place, line in enumerate(lines, 1)], rows, [], None, items)


def broken(lines: Sequence[Line], rows: Sequence[Row] = (), items: Sequence[Item] = ()) -> list[str]:
    return [one.what for one in judged(lines, rows, items).broken_promises()]


def sent(*records: str) -> list[Line]:
    return [Line("sent", record.partition("/")[0], RECORDS, note=record) for record in records]


def out(*queues: str, record: str = COPIED, first: int = 100) -> list[Row]:
    return [Row(id, queue, "new", {"record": record}) for id, queue in enumerate(queues, first)]


def whole(parts: Sequence[int] = ALL, id: int = 100) -> Row:
    return Row(id, WHOLE, "new", {"record": DIVIDED, "parts": [*parts]})


def test_a_record_comes_out_once_of_each_branch_or_once_as_a_whole() -> None:
    assert outputs_of(COPIED) == (LEFT, RIGHT)
    assert outputs_of(DIVIDED) == (WHOLE,)
    assert broken(sent(COPIED), out(LEFT, RIGHT)) == []
    assert broken(sent(DIVIDED), [whole()]) == []


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([], "came out of left 0 times instead of 1"),
        (out(LEFT), "came out of right 0 times instead of 1"),
        (out(LEFT, LEFT, RIGHT), "came out of left 2 times instead of 1"),
        (out(LEFT, RIGHT, WHOLE), "came out of whole 1 times instead of 0"),
        (out(COPYING), "came out of left 0 times instead of 1: it is new in copying"),
        (out(LEFT, RIGHT, COPYING), "came out, but is still on its way: it is new in copying"),
    ],
)
def test_a_record_that_a_fork_loses_doubles_or_keeps_is_told(rows: list[Row], what: str) -> None:
    assert broken(sent(COPIED), rows) == [f"record {COPIED} {what}"]


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([], "came out of whole 0 times instead of 1"),
        ([whole(), whole(id=101)], "came out of whole 2 times instead of 1"),
        ([whole(ALL[1:])], f"came out of whole with the parts {ALL[1:]}"),
        ([whole([0, 0, *ALL[1:]])], f"came out of whole with the parts {[0, 0, *ALL[1:]]}"),
        (
            [Row(100, SETS, "new", {"correlation": f'"{DIVIDED}"'})],
            f"came out of whole 0 times instead of 1: it is new in {SETS}",
        ),
        (
            [whole(), Row(101, GATHERING, "dead", {"record": DIVIDED, "part": 2})],
            f"came out, but is still on its way: it is dead in {GATHERING}",
        ),
    ],
)
def test_a_set_that_a_join_loses_doubles_or_keeps_is_told(rows: list[Row], what: str) -> None:
    assert broken(sent(DIVIDED), rows) == [f"record {DIVIDED} {what}"]


def test_a_record_whose_push_nobody_saw_end_comes_out_once_or_not_at_all() -> None:
    assert broken([Line("pushing", "1.1", RECORDS)]) == []
    assert broken([Line("pushing", "1.1", RECORDS)], out(LEFT, RIGHT)) == []
    assert "came out of right 0 times" in broken([], out(LEFT))[0]


def test_a_record_without_the_line_of_its_transaction_is_told() -> None:
    record = "1.2w/1"
    assert broken(sent(record), out(LEFT, RIGHT, record=record)) == []
    assert "the transaction that pushed it was not committed" in broken([], out(LEFT, RIGHT, record=record))[0]


def test_a_turn_of_a_station_that_began_twice_is_told() -> None:
    called = Line("called", "1.1", COPYING, 7, 1, note=COPIED)
    assert broken([*sent(COPIED), called, replace(called, token=2)], out(LEFT, RIGHT)) == []
    assert "turn 1 of message 7 was begun 2 times" in broken([*sent(COPIED), called, called], out(LEFT, RIGHT))[0]


def test_the_story_of_a_record_has_its_own_lines_and_messages_only() -> None:
    other = "1.1/3"
    lines = [Line("pushing", "1.1", RECORDS), *sent(COPIED, other), Line("called", "1.1", COPYING, 7, 1, note=COPIED)]
    verdict = judged(lines, [*out(LEFT), *out(LEFT, RIGHT, record=other, first=200)])
    (lost,) = verdict.broken_promises()
    story = verdict.story(lost)
    assert "called 7 token 1" in story
    assert "pushing" in story
    assert other not in story


ROW = "2.1w/0"
DONE = Item(ROW, 1, "done")


def row_lines(*what: str, token: int = 1) -> list[Line]:
    return [Line("inserted", "2.1w", note=ROW), *(Line(one, None, token=token, note=ROW) for one in what)]


def test_a_row_ends_once_however_often_it_was_begun() -> None:
    again = replace(row_lines("row begun")[1], token=2)
    assert broken(row_lines("row begun", "row ended"), items=[DONE]) == []
    assert broken(row_lines("row begun", "row effect", "row ended"), items=[DONE]) == []
    verdict = judged([*row_lines("row begun"), again, *row_lines("row ended")[1:]], (), [replace(DONE, handled=2)])
    assert verdict.broken_promises() == []
    assert "1 rows of the application's own table, 1 of them handled more than once" in str(verdict)


@pytest.mark.parametrize(
    ("lines", "items", "what"),
    [
        (row_lines(), [], "was inserted once, but is there 0 times"),
        (row_lines("row ended"), [DONE, DONE], "was inserted once, but is there 2 times"),
        (row_lines("row ended")[1:], [DONE], "the transaction that inserted it was not committed"),
        (row_lines(), [DONE], "ended 0 times"),
        (row_lines("row ended", "row ended"), [DONE], "ended 2 times"),
        (row_lines("row effect", "row effect", "row ended"), [DONE], "had 2 effects"),
        (row_lines("row ended"), [replace(DONE, handled=0)], "what its handler wrote is missing"),
        (row_lines("row ended"), [replace(DONE, status="error", is_due=True)], "is stuck"),
        (row_lines("row ended"), [replace(DONE, leased_by="w")], "is stuck"),
        (row_lines("row begun", "row begun", "row ended"), [DONE], "turn 1 of row 2.1w/0 was begun 2 times"),
    ],
)
def test_a_row_that_is_lost_doubled_or_stuck_is_told(lines: list[Line], items: list[Item], what: str) -> None:
    assert any(what in one for one in broken(lines, items=items))


def test_the_story_of_a_row_has_its_lines_and_the_row() -> None:
    verdict = judged(row_lines("row begun"), (), [replace(DONE, status="error", is_due=True)])
    story = verdict.story(verdict.broken_promises()[0])
    assert "row begun" in story
    assert "status='error'" in story


def test_the_report_says_which_promises_are_broken_and_that_a_database_has_no_rows() -> None:
    report = report_on(judged(sent(COPIED), (), None), Options(7), {}, {}, ["a b"], 0, 0.0, kinds=["a turn"])
    assert report.kinds == ("a turn", "a record comes out of the pipeline once")
    assert "no rows of the application's own table" in report.summary
