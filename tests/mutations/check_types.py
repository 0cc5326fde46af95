"""Check the types of mutants for mutmut, which runs this in place of mypy; see tests/mutations/mutants.py.

A function that mutmut wraps narrows no types, so some code has errors before anything is changed. What the unchanged
copy of a function is reproached with is no fault of its mutants, so it is left out.
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

COPY = re.compile(r"(.+)__mutmut_(orig|\d+)$")


def main(arguments: list[str]) -> None:
    """Run mypy, and print its lines about what is wrong in a mutant alone."""
    command = [sys.executable, "-m", "mypy", "--output=json", "--no-warn-unused-ignores", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 1):
        sys.exit(ended.stderr + ended.stdout)
    errors = [error for line in ended.stdout.splitlines() if (error := json.loads(line))["severity"] == "error"]
    owners = {file: owners_of(Path(file)) for file in {error["file"] for error in errors}}
    known: set[tuple[str, str, str]] = set()
    found: list[tuple[tuple[str, str, str], str, str]] = []
    for error in errors:
        name, which = owners[error["file"]].get(error["line"], ("", "orig"))
        what = (error["file"], name, re.sub(r"__mutmut_(orig|\d+)", "", error["message"]))
        if which == "orig":
            known.add(what)
        else:
            found.append((what, which, json.dumps(error)))
    for what, _, line in found:
        if what not in known:
            print(line)


def owners_of(path: Path) -> dict[int, tuple[str, str]]:
    """Return the function and the number of its copy for each line of mutated source."""
    return {
        line: (copy[1], copy[2])
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (copy := COPY.match(node.name))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


if __name__ == "__main__":
    main(sys.argv[2:])
