"""What of the tests on several databases `make test` leaves to the long tests.

Both faces carry out the same statements of the same plans. What may still differ between the faces on a family are its
two drivers, and half of the promises meets each of them often: so a promise is tried on one face of each family, which
its name picks; on SQLite and in memory on the other one than elsewhere. What is about drivers and connections has files
of its own, which run on both. Of a promise with several examples each is tried in memory and on one of the databases,
which its name picks; so are those of rows of the user's own. Where Hypothesis makes the examples, it makes a third of
them on a database. The ways to hold a transaction of the caller's own, up to 33 on a family, are all tried, each with
the promises that their names pick: a quarter, and of the three that take longest a sixteenth.

What workers, and stations on Spark, do is made of what stores promise, and takes long; so do kills, telemetry, and what
is served over HTTP. It is tried on one of SQLite and PostgreSQL, which the test's name picks, and kills on one face. On
both are the data source, which asks each database in its own way, and workers that write in transactions. One kind of
worker is tried in memory, and the other one on the database, which meets a third of several examples. In memory half of
the promises are tried with transactions, and half without.

Behind HTTP there are the plans of another store, so a share of the promises is tried there.
"""

from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

FACES = ("sync", "async")

KINDS = ("transactions", "no transactions")

FAMILIES = {"memory", "sqlite", "postgresql", "mysql", "mariadb", "mongodb", "http"}
"""What a folder or a parameter is called whose promises are tried on one face."""

TURNED = {"memory", "sqlite"}
"""Those where it is the other one than on the others."""

EXAMPLES = {
    **dict.fromkeys(stores := ("sqlite", "postgresql", "mariadb", "mongodb"), stores),
    "entity": ("sqlite", "postgresql", "mariadb"),
}
"""Those of which one is picked for each example of a promise that has several, by folder."""

CHOSEN = {
    ("mariadb", "crash"): ("workers_killed_at_any_moment",),
    ("mariadb", "spark"): ("what_the_local_twin_does",),
    ("mongodb", "spark"): (
        "what_the_local_twin_does",
        "of_two_copies_of_a_task_that_settle_one",
        "a_staged_row_goes_where_it_says",
        "has_the_messages_with_their_fields",
        "each_row_becomes_a_message",
    ),
}
"""What `make test` runs on a family of a slow folder: that whose name has one of these in it."""

DATABASES = ("postgresql", "sqlite")
"""Those of which one is picked for a test that would run on both, in these folders."""

ON_ONE_DATABASE = {"spark", "workers", "crash", "telemetry", "web"}

ON_ONE_FACE = {"crash"}
"""Folders besides those of the promises."""

OF_PROMISES = {"test_conformance.py", "test_processes.py", "test_contention.py"}
"""Files whose promises are tried on one face of each family."""

WAYS = {
    "test_every_change_holds_when_the_caller_commits": 16,
    "test_every_change_is_undone_when_the_caller_rolls_back": 16,
    "test_a_change_within_the_callers_own_transaction_has_no_limit": 16,
}
"""Of how many ways to hold a transaction one is tried with a promise that takes long; of four with the others."""

MADE = 3
"""Of how many examples one is tried on a database, where Hypothesis makes them, and of those of workers."""

SHARES = {"http": 12}
"""Of how many promises one is tried on a folder that leads to the plans of another store."""

PAIRS = (
    {"memory-sqlite-sync", "sqlite-postgresql-async", "postgresql-memory-async", "postgresql-postgresql-async"},
    {"sqlite-memory-async", "memory-postgresql-sync", "postgresql-sqlite-sync", "sqlite-sqlite-sync"},
)
"""Between which databases, and by which face, one half of the promises about copies is not tried, and the other not.

Each family is in both, as what is copied from and as what is copied into; to and from MongoDB all are tried.
"""

ON_BOTH = {"test_source.py", "test_source_sink.py", "test_transactions.py"}
"""Files of these folders whose tests run on both."""


@pytest.hookimpl(specname="pytest_pycollect_makeitem", tryfirst=True)  # before tests are made
def pytest_pycollect_makeitem_of_shares(collector: pytest.Collector, name: str) -> list[pytest.Item] | None:
    """Make no tests of a promise that is not among the share that its folder tries."""
    if collector.config.option.markexpr == "not soak" and name.startswith("test_") and is_spared(collector.path, name):
        return []
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around those that mark what takes long on one store
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Generator[None, object, object]:
    """Of the tests that a function becomes, drop those left to the long tests; mark them if these are asked for too.

    They are more than half of all, and each process of `make test` would collect them only to drop them at the end.
    """
    made = yield
    if not isinstance(made, list):
        return made
    left = left_to_soak([item for item in made if isinstance(item, pytest.Function)])
    if collector.config.option.markexpr == "not soak":
        return [item for item in made if item not in left]
    for item in left:
        item.add_marker(pytest.mark.soak)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Have Hypothesis make fewer examples of a promise on a database; `make soak` has it make all of them."""
    test: Any = pyfuncitem.function
    short = pyfuncitem.config.option.markexpr == "not soak" and of_promises(pyfuncitem)
    if not short or family_of(pyfuncitem) == "memory" or not getattr(test, "is_hypothesis_test", False):
        return (yield)
    usual = test._hypothesis_internal_use_settings
    with pytest.MonkeyPatch.context() as patch:
        fewer = settings(usual, max_examples=-(-usual.max_examples // MADE))
        patch.setattr(test, "_hypothesis_internal_use_settings", fewer)
        return (yield)


def left_to_soak(tests: Sequence[pytest.Function]) -> set[pytest.Function]:
    """Return those of the tests of a function that `make test` does not run."""
    left = {item for item in tests if not is_chosen(item) or is_left(item)}
    left.update(in_other_ways([item for item in tests if of_promises(item) and item not in left]))
    left.update(on_other_databases([item for item in tests if is_on_one_database(item) and item not in left]))
    left.update(by_other_workers([item for item in tests if item.path.parent.name == "workers" and item not in left]))
    return left


def is_left(item: pytest.Function) -> bool:
    """Return whether a test is left out for what it is by itself."""
    return (
        is_spared(item.path, item.originalname) or is_of_other_pair(item) or item.get_closest_marker("soak") is not None
    )


def is_of_other_pair(item: pytest.Function) -> bool:
    """Return whether a promise about copies is tried between other databases than its name picks."""
    if item.path.parent.name != "copies" or not hasattr(item, "callspec"):
        return False
    return "-".join(item.callspec.params.get("pair", ())) in PAIRS[crc32(item.originalname.encode()) % len(PAIRS)]


def in_other_ways(items: Sequence[pytest.Function]) -> list[pytest.Function]:
    """Return those of the promises' tests that are tried in another way than their names pick; one of each stays."""
    promises: dict[tuple[Path, str, str], list[pytest.Function]] = defaultdict(list)
    for item in items:
        family = family_of(item) if item.path.parent.name == "entity" else ""
        promises[item.path, item.originalname, family].append(item)
    others: list[pytest.Function] = []
    for tests in promises.values():
        left = [item for item in tests if is_another(item)]
        others += left if len(left) < len(tests) else left[1:]
    return others


def is_chosen(item: pytest.Function) -> bool:
    """Return whether a test is run on its family where that is slow."""
    folder = item.path.parent.name
    lists = [CHOSEN[family, folder] for family in words(item) if (family, folder) in CHOSEN]
    return all(any(name in item.originalname for name in names) for names in lists)


def is_spared(file: Path, promise: str) -> bool:
    """Return whether a promise is not among the share that its folder tries."""
    of = SHARES.get(file.parent.name, 1) if file.name in OF_PROMISES else 1
    return crc32(promise.encode()) % of != 0


def of_promises(item: pytest.Function) -> bool:
    """Return whether a test is of the promises, on a family that tries each on one face; or of a folder that does."""
    if item.path.parent.name in ON_ONE_FACE:
        return True
    return (item.path.name in OF_PROMISES or item.path.parent.name == "entity") and is_of(item, FAMILIES)


def is_on_one_database(item: pytest.Function) -> bool:
    """Return whether a test that would run on both databases runs on one of them."""
    return item.path.parent.name in ON_ONE_DATABASE and item.path.name not in ON_BOTH


def on_other_databases(items: Sequence[pytest.Function]) -> list[pytest.Function]:
    """Return those of tests which run on both databases that are on the other one than their names pick.

    It is the same one for both faces, of which each may be tried on one of the databases.
    """
    found: dict[str, dict[str, list[pytest.Function]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        named = words(item)
        others = [word for word in named if word not in {*FACES, *DATABASES}]
        for database in set(DATABASES).intersection(named):
            found["-".join([item.path.name, item.originalname, *others])][database].append(item)
    both = {name: on for name, on in found.items() if len(on) == len(DATABASES)}
    return [item for name, on in both.items() for item in on[DATABASES[crc32(name.encode()) % len(DATABASES)]]]


def by_other_workers(items: Sequence[pytest.Function]) -> list[pytest.Function]:
    """Return those of tests in memory and on a database that are by the other kind of worker than their names pick.

    Of several examples a third is tried on a database as well, and one at least.
    """
    found: dict[tuple[str, str], list[pytest.Function]] = defaultdict(list)
    for item in items:
        others = [word for word in words(item) if word not in {*FACES, *FAMILIES}]
        found[item.originalname, "-".join([item.path.name, item.originalname, *others])].append(item)
    left: list[pytest.Function] = []
    examples: dict[str, list[tuple[str, list[pytest.Function]]]] = defaultdict(list)
    for (test, name), tests in found.items():
        if {family_of(item) == "memory" for item in tests} == {True, False}:
            in_memory = FACES[crc32(name.encode()) % len(FACES)]
            left += [item for item in tests if is_of(item, set(FACES)) and is_other_worker(item, in_memory)]
            examples[test].append((name, [item for item in tests if family_of(item) != "memory"]))
    for tried in examples.values():
        first = min(tried, key=lambda example: crc32(example[0].encode()))
        for name, tests in tried:
            if crc32(name.encode()) // len(FACES) % MADE and name != first[0]:
                left += tests
    return left


def is_other_worker(item: pytest.Function, in_memory: str) -> bool:
    """Return whether a test is in memory by another kind of worker than this, or on a database by this one."""
    return (in_memory in words(item)) != (family_of(item) == "memory")


def is_another(item: pytest.Function) -> bool:
    """Return whether the name of a promise picks another way to try it than this one."""
    return is_other_face(item) or is_other_kind(item) or is_other_way(item) or is_on_another_database(item)


def is_other_face(item: pytest.Function) -> bool:
    """Return whether the test's name picks the other face; it picks the same one in every run, on every machine."""
    faces = [word for word in words(item) if word in FACES]
    if not faces or "begin" in item.fixturenames:  # each way to hold a transaction suits one face alone
        return False
    is_picked = FACES[number_of(item, {*faces, *FAMILIES}) % len(FACES)] == faces[0]
    return is_picked == is_of(item, TURNED)


def is_other_kind(item: pytest.Function) -> bool:
    """Return whether a promise is tried in memory with transactions, and this is without; or the other way round."""
    kinds = [word for word in words(item) if word in KINDS]
    if not kinds or item.path.parent.name != "memory":
        return False
    return KINDS[number_of(item, {*FACES, *KINDS}) // len(FACES) % len(KINDS)] != kinds[0]


def is_on_another_database(item: pytest.Function) -> bool:
    """Return whether an example of a promise is tried on another database than this one; one of each stays on each."""
    databases = EXAMPLES.get(item.path.parent.name, ())
    examples = [word for word in words(item) if word not in {*FACES, *KINDS, *FAMILIES}]
    if family_of(item) not in databases or not examples or "begin" in item.fixturenames:
        return False
    return databases[number_of(item, {*FACES, *KINDS, *FAMILIES}) % len(databases)] != family_of(item)


def is_other_way(item: pytest.Function) -> bool:
    """Return whether a promise about transactions is tried in other ways to hold one; each promise is in a quarter."""
    if "begin" not in item.fixturenames or not words(item):
        return False
    of = WAYS.get(item.originalname, 4)
    places = sum(place for name, place in item.callspec.indices.items() if name != "face")  # so that none is left out
    return (crc32(item.originalname.encode()) + places) % of != 0


def number_of(item: pytest.Function, ways: set[str]) -> int:
    """Return a number for a test's name, the same for all of these ways to try it."""
    return crc32("-".join([item.originalname, *[word for word in words(item) if word not in ways]]).encode())


def is_of(item: pytest.Function, families: set[str]) -> bool:
    """Return whether a test runs on one of these families."""
    return not families.isdisjoint([*words(item), item.path.parent.name])


def family_of(item: pytest.Function) -> str:
    """Return the family that a test runs on, by its folder or its name; nothing if it names none."""
    return next((name for name in [item.path.parent.name, *words(item)] if name in FAMILIES), "")


def words(item: pytest.Function) -> list[str]:
    """Return what a test is given, as in its name."""
    return item.callspec.id.split("-") if hasattr(item, "callspec") else []
