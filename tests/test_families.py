"""What is reported of each family of databases, and what the front page makes of it."""

from typing import Any

from tests.families import Seen, report
from tools.databases import kept, lines

MARIADB, MONGODB = "tests/stores/mariadb/test_conformance.py", "tests/stores/mongodb/test_conformance.py"


def found(*seen: Seen, missing: dict[str, str] | None = None) -> dict[str, Any]:
    families: dict[str, Any] = report(seen, {"mariadb": "10.11"}, missing or {}, whole=True)["families"]
    return families


def test_a_promise_is_kept_if_all_its_cases_passed():
    mariadb = found(
        Seen(f"{MARIADB}::test_one[sync-a]", "passed"),
        Seen(f"{MARIADB}::test_one[async-b]", "failed"),
        Seen(f"{MARIADB}::test_two[sync]", "passed"),
        Seen("tests/crash/test_killed.py::test_it[mariadb-fork]", "passed"),
        Seen("tests/copies/test_copy.py::test_it[mariadb-sqlite]", "passed"),
    )["mariadb"]
    assert mariadb["version"] == "10.11"
    assert mariadb["promises"] == {"passed": 1, "failed": ["test_one"]}
    assert mariadb["tests"] == {"crash": 1, "stores": 2}
    assert kept(mariadb) == "all but 1: 1 broken"


def test_a_promise_that_only_other_families_tried_is_told_to_be_left_out():
    families = found(Seen(f"{MARIADB}::test_one", "passed"), Seen(f"{MONGODB}::test_two", "passed"))
    assert families["mariadb"]["left_to_soak"] == ["test_two"]
    assert kept(families["mariadb"]) == "all but 1: 1 tested only by `make soak`"


def test_what_is_expected_to_be_broken_is_told_with_its_reason():
    mongodb = found(
        Seen(f"{MONGODB}::test_one", "passed"),
        Seen(f"{MONGODB}::test_two", "xfailed", "never: it has no such thing"),
        Seen(f"{MONGODB}::test_three[sync]", "xfailed", "not yet: nobody wrote it"),
    )["mongodb"]
    assert mongodb["never"] == {"test_two": "it has no such thing"}
    assert mongodb["not_yet"] == {"test_three": "nobody wrote it"}
    assert kept(mongodb) == "all but 2: 1 never kept there, 1 not yet shown to hold"


def test_a_family_that_did_not_run_is_not_called_tested_and_keeps_its_line():
    families = found(Seen(f"{MARIADB}::test_one", "passed"), missing={"mariadb": "it was not to be had"})
    assert families["mariadb"] == {"version": None, "not_run": "it was not to be had"}
    earlier = "| MariaDB 10.6 and later | `mysql://user@host/base` | all | idle workers poll |"
    assert earlier in lines(families, [earlier])
    assert earlier.replace("| all |", "| not run |") in lines(families, [])


def test_a_family_whose_promises_all_passed_keeps_all():
    assert kept(found(Seen(f"{MARIADB}::test_one", "passed"))["mariadb"]) == "all"
