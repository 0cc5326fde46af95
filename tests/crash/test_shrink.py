"""A run that breaks a promise is made as small as possible, and becomes a program that breaks the promise again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.testing.torture import rows, tables, torture
from duerow.testing.torture.environment import Setting
from duerow.testing.torture.operation import Operator
from duerow.testing.torture.options import Options
from duerow.testing.torture.producer import ENOUGH, Producer
from duerow.testing.torture.report import Report, report_on
from duerow.testing.torture.shrink import Shrunk, arguments, described, script, shrink, without_faults
from duerow.testing.torture.verdict import Verdict
from duerow.testing.torture.workload import MESSAGES, PIPELINES, ROWS, WORKLOADS, chosen
from tests.crash.broken_store import Breaking

LOST, OTHER = "a message ends once", "a turn is handed out once"
TWICE = "a record comes out of the pipeline once"
LARGE = Options(7, kills=200, clocks=True, restart="pg_ctl restart")


def found(*kinds: str, story: str = "message 17 ended 0 times") -> Report:
    """A report that says that these promises are broken."""
    report = report_on(Verdict([], [], []), Options(7), {}, {}, [story] * len(kinds), 0, 0.0)
    return replace(report, kinds=kinds)


class Runs:
    """Runs that break a promise if a condition holds."""

    def __init__(self, breaks: Callable[[Options], bool], kind: str = LOST) -> None:
        self.breaks, self.kind = breaks, kind
        self.tried: list[Options] = []

    def __call__(self, options: Options) -> Report:
        self.tried.append(options)
        return found(self.kind) if self.breaks(options) else found()


def smallest(runs: Callable[[Options], Report], options: Options = LARGE, **how: int) -> Shrunk:
    return shrink(options, found(LOST), runs, tell=lambda _: None, **how)


def test_whatever_a_failure_does_not_need_is_left_out() -> None:
    runs = Runs(
        lambda options: (
            options.kills >= 3
            and options.clocks
            and {"push keyed", "awaited", "edit"} <= {*chosen(options.only)}
            and options.processes >= 3
        )
    )
    shrunk = smallest(runs)
    assert shrunk.options == Options(
        *(7, 3, None, 3, False, False, False), clocks=True, only=("push keyed", "awaited", "edit")
    )
    assert shrunk.report.kinds == (LOST,)
    assert shrunk.failed == shrunk.tried


@pytest.mark.parametrize(
    ("pushes", "kind"), [("send records", "pipeline"), ("insert rows", rows.KINDS[0]), ("push", "pop")]
)
def test_one_way_to_push_and_one_kind_of_consumer_are_left(pushes: str, kind: str) -> None:
    shrunk = smallest(Runs(lambda options: {pushes, kind} <= {*chosen(options.only)}))
    assert shrunk.options.only == (pushes, kind)
    assert (shrunk.options.kills, shrunk.options.processes) == (0, 2)


def test_a_smaller_run_that_fails_by_chance_is_tried_several_times() -> None:
    runs = Runs(lambda options: not options.kills and len(runs.tried) % 3 == 0)
    shrunk = smallest(runs)
    assert shrunk.options.kills == 0
    assert shrunk.tried > shrunk.failed


def test_a_run_that_breaks_another_promise_is_no_smaller_one() -> None:
    assert smallest(Runs(lambda _: True, OTHER)).options == LARGE


def test_the_same_run_is_not_tried_in_vain_twice() -> None:
    runs = Runs(lambda _: False)
    smallest(runs, tries=1)
    assert len([one for one in runs.tried if one != LARGE]) == len({*runs.tried} - {LARGE})


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StoreUnavailable("it is away")])
def test_what_was_found_until_the_search_ended_is_kept(error: BaseException) -> None:
    runs = Runs(lambda options: True)

    def interrupted(options: Options) -> Report:
        if len(runs.tried) == 2:
            raise error
        return runs(options)

    assert smallest(interrupted).options == runs.tried[-1]


def test_there_are_no_more_runs_than_are_asked_for() -> None:
    runs = Runs(lambda options: True)
    assert smallest(runs, most=3).options == runs.tried[-1]
    assert len(runs.tried) == 3


def test_the_shortest_story_of_the_smallest_run_is_kept() -> None:
    stories = iter(["a long story", "one", "a longer story"])
    shrunk = shrink(
        Options(7, 0, None, 2, False, False, False, only=("push", "pop")),
        found(LOST, story="the longest story of all"),
        lambda _: found(LOST, story=next(stories)),
        lambda _: None,
    )
    assert shrunk.report.stories == ("one",)
    assert (shrunk.failed, shrunk.tried) == (4, 4)


SMALL = Options(7, 0, stops=False, cuts=False, clocks=True, only=("push keyed", "by hand"), patience=5.0)


def test_the_script_has_the_command_the_options_and_the_story() -> None:
    text = script(Shrunk(SMALL, found(LOST), 5, 2, 3), LARGE, shared=True)
    assert "--seed 7 --kills 0 --no-stops --no-cuts --clocks --only 'push keyed' --only 'by hand' --shared\n" in text
    assert "# It failed 2 of 3 times." in text
    assert "# message 17 ended 0 times\n" in text
    assert f"larger run with the same seed: {described(LARGE)}." in text
    space: dict[str, object] = {"__name__": "script"}
    exec(text, space)
    assert space["OPTIONS"] == SMALL


def test_a_disk_that_is_no_longer_filled_is_not_freed_either() -> None:
    options = replace(SMALL, fill_disk="fill", free_disk="free")
    assert without_faults(options, ["fill_disk"]) == SMALL
    assert {"--fill-disk", "--free-disk"} <= {*arguments(options)}
    half = replace(options, free_disk=print)
    assert not {"--fill-disk", "--free-disk"} & {*arguments(half)}


@pytest.mark.parametrize("fault", ["restart", "fill_disk", "set_clock"])
def test_a_fault_that_a_function_causes_is_missing_in_the_script(fault: str) -> None:
    options = replace(SMALL, **{fault: print})
    assert f"--{fault.replace('_', '-')}" not in arguments(options)
    assert "calling a function, which this program lacks" in script(Shrunk(options, found(LOST), 5, 2, 3), LARGE)


def test_workloads_stand_for_their_operations_and_have_what_others_need() -> None:
    assert {*chosen(())} == {name for one in WORKLOADS for name in one.operations}
    assert not {one.name for one in WORKLOADS} & {*chosen(())}
    assert chosen(["rows"]) == ROWS.operations
    assert chosen(["send records", "pipeline", "pop"]) == ("send records", "pipeline")  # nobody pushes what is popped
    assert not {*chosen((), has_rows=False)} & {*ROWS.operations}
    with pytest.raises(ConfigurationError, match="no operation called 'pull'; choose from messages "):
        chosen(["pull"])
    with pytest.raises(ConfigurationError, match="nothing would be both pushed and handled"):
        chosen(["push"])
    with pytest.raises(ConfigurationError, match="nothing would be both pushed and handled"):
        chosen(["rows"], has_rows=False)


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    setting = Setting(f"sqlite:///{tmp_path}/spare.db", {"prefix": tables.prefix_of(7)})
    tables.create(setting)
    return setting


def test_every_way_of_producers_and_operators_has_its_name_and_can_be_left_out(setting: Setting) -> None:
    with setting.open() as database:
        ways, works = Producer(setting, database).ways, Operator(setting, database).works
        names = [way.__name__.replace("_", " ") for way in ways]
        assert names == [*MESSAGES.pushes, *PIPELINES.pushes, *ROWS.pushes]
        assert [work.__name__ for work in works] == [*MESSAGES.works]
        few = replace(setting, only=("push", "edit"))
        assert [way.__name__ for way in Producer(few, database).ways] == ["push"]
        assert [work.__name__ for work in Operator(few, database).works] == ["edit"]


@pytest.fixture
def broken(setting: Setting, processes: Any, scale: int) -> Callable[[Options], Report]:
    """Runs on a store that is broken on purpose; few messages wait in short tests, where each soon becomes many."""
    setting.access.drop()
    context = Breaking(processes, ENOUGH if scale > 1 else 20)
    return lambda options: torture(setting.url, options, tell=print, context=context)


def test_a_store_that_is_broken_on_purpose_breaks_its_promise_in_a_smaller_run_too(
    broken: Callable[[Options], Report],
) -> None:
    large = Options(7, kills=1, processes=2, only=("pipelines",))
    shrunk = shrink(large, found(TWICE), broken, tries=1, most=1)
    assert shrunk.options.kills == 0
    assert shrunk.report.kinds == (TWICE,)
    assert "times instead of 1" in script(shrunk, large)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_a_store_that_is_broken_on_purpose_becomes_a_program_that_shows_it(
    broken: Callable[[Options], Report],
) -> None:
    large = Options(7, kills=8, processes=4, only=("pipelines",))
    report = broken(large)
    assert report.kinds == (TWICE,)
    shrunk = shrink(large, report, broken, tries=1, most=40)
    assert shrunk.options.kills == 0
    text = script(shrunk, large)
    assert "times instead of 1" in text
    assert "no faults" in described(shrunk.options)
    pushes, kind = shrunk.options.only
    assert pushes in PIPELINES.pushes
    assert kind in PIPELINES.kinds
    assert shrunk.options.processes == 2
    space: dict[str, Any] = {"__name__": "script"}
    exec(text, space)
    assert broken(space["OPTIONS"]).kinds == report.kinds
