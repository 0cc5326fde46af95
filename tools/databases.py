"""Make the README's table of databases of what the last whole `make test` reported, or check that it still says so.

python tools/databases.py          writes the table
python tools/databases.py --check  exits with 1 and says what differs, if something does

The report, `build/families.json`, has the versions of the servers and the numbers too. The table has neither: it is the
same on every machine on which the promises are kept.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
REPORT = ROOT / "build" / "families.json"
TABLE = re.compile(r"(?<=\n## Databases\n\n)(?:\|.*\n)+")


@dataclass(frozen=True)
class Row:
    """What the table says of a family besides what the tests found.

    Attributes:
        family: what the report calls it.
        name: the database, and from which version on.
        url: what a URL of it looks like.
        note: what somebody should know who chooses.
        unless_run: what the table says of the promises of one that only runs where a server is given; empty: it runs
            everywhere, and where it could not the table is left as it is.
    """

    family: str
    name: str
    url: str
    note: str
    unless_run: str = ""


ROWS = (
    Row("sqlite", "SQLite 3.35 and later", "sqlite:///app.db", "one machine, one writer at a time"),
    Row("postgresql", "PostgreSQL 15 and later", "postgresql://user@host/base", ""),
    Row("mariadb", "MariaDB 10.6 and later", "mysql://user@host/base", "idle workers poll"),
    Row(
        "mysql",
        "MySQL 8.0.19 and later",
        "mysql://user@host/base",
        "idle workers poll; to run the tests, set `DUEROW_TEST_MYSQL_URL` to your own server",
        unless_run="all, in the last manual run, on MySQL 9.7",
    ),
    Row(
        "mongodb",
        "MongoDB 6.0 and later",
        "mongodb://host/base",
        "tested against a server that speaks MongoDB's protocol, not yet against MongoDB itself",
    ),
    Row(
        "mssql",
        "SQL Server 2019 and later",
        "mssql://user@host/base",
        "the SQL has been reviewed and checked with a parser, but never executed; to test it, set "
        "`DUEROW_TEST_MSSQL_URL` to your own server",
        unless_run="never run",
    ),
    Row("memory", "memory", "memory://", "for tests; its messages are lost when the process ends"),
)


HEAD = ("| database | URL | promises kept | notes |", "|---|---|---|---|")


def lines(families: dict[str, Any], as_they_are: list[str]) -> list[str]:
    """Return the lines of the table for a report; a family that did not run keeps its line, if it has one."""
    told = list(HEAD)
    for row in ROWS:
        begin = f"| {row.name} | `{row.url}` |"
        line = f"{begin} {kept(families[row.family], row.unless_run)} | {row.note} |"
        earlier = [other for other in as_they_are if other.startswith(begin)]
        left = earlier and not row.unless_run and "not_run" in families[row.family]
        told.append(earlier[0] if left else line)
    return told


def kept(family: dict[str, Any], unless_run: str = "") -> str:
    """Return which promises a family keeps, in words."""
    if "not_run" in family:
        return unless_run or "not run"
    broken = [("broken", len(family["promises"]["failed"]))]
    unkept = [*broken, ("never kept there", len(family["never"])), ("not yet shown to hold", len(family["not_yet"]))]
    unkept.append(("tested only by `make soak`", len(family["left_to_soak"])))
    said = ", ".join(f"{number} {word}" for word, number in unkept if number)
    return f"all but {sum(number for _, number in unkept)}: {said}" if said else "all"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Make the README's table of databases of build/families.json.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the table says otherwise")
    only_check = parser.parse_args().check
    if not REPORT.exists():
        sys.exit(f"{REPORT.relative_to(ROOT)} is not there: run `make test` first")
    report = json.loads(REPORT.read_text())
    if not report["whole"]:
        print("the README's table of databases was not looked at: only some of the tests were run")
        return 0
    text = README.read_text()
    found = TABLE.search(text)
    if found is None:
        sys.exit("README.md has no table under the heading Databases")
    wanted = "\n".join(lines(report["families"], found.group().splitlines())) + "\n"
    if found.group() == wanted:
        return 0
    if only_check:
        print(f"README.md says\n\n{found.group()}\nbut the tests found\n\n{wanted}\nrun python tools/databases.py")
        return 1
    README.write_text(TABLE.sub(lambda _: wanted, text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
