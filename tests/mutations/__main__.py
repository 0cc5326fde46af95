"""Break a store on purpose, one mistake at a time, and see the conformance suite fail: python -m tests.mutations

Each mistake is made in a copy of the package, never in the tree itself; the suite runs on the copy until its first
failure. The copy without any mistake must pass, or a failure would prove nothing.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

from tests.mutations.seeds import STORES, TESTS, Mutation

ROOT = Path(__file__).parents[2]
SUITE = ["-q", "-x", "-p", "no:cacheprovider", "--no-header", "-k", "not async", "-m", "not soak"]

PASSED, FAILED = 0, 1
"""pytest's exit codes; any other means that the tests did not really run."""


def main() -> int:
    """Run the command line; the exit code is 0 if every mistake was noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__.splitlines()[0])
    parser.add_argument("stores", nargs="*", default=list(STORES), help=f"of {', '.join(STORES)}; default: all")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4), help="how many runs at a time")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duerow-mutations-") as folder:
        source = Path(folder, "src")
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
        with ThreadPoolExecutor(chosen.jobs) as threads:
            return max([try_store(store, source, threads) for store in chosen.stores])


def try_store(store: str, source: Path, threads: ThreadPoolExecutor) -> int:
    """Try every mistake in one store and print what noticed it; return 0 if all were noticed."""
    print(f"{store}: the suite without any mistake", flush=True)
    code, output = run(store, source, None)
    if code != PASSED:
        print(output, f"the suite does not pass on {store} as it is, so nothing is shown", sep="\n", file=sys.stderr)
        return 1
    caught = 0
    tried = threads.map(lambda mutation: notice(store, source, mutation), STORES[store])
    for mutation, noticed in zip(STORES[store], tried, strict=True):
        caught += noticed is not None
        print(f"  {'caught' if noticed else 'MISSED'}  {mutation.says:50} {noticed or ''}", flush=True)
    print(f"{store}: {caught} of {len(STORES[store])} mutations caught\n", flush=True)
    return int(caught < len(STORES[store]))


def notice(store: str, source: Path, mutation: Mutation) -> str | None:
    """Return the test that fails because of the mistake and after how many seconds, None if none does.

    A test that failed once may have failed by chance: it must fail again with the mistake, and pass without it.
    """
    began = monotonic()
    code, output = run(store, source, mutation)
    if code == PASSED:
        return None
    failed = re.search(r"^FAILED (\S+?)::(\w+)", output, re.MULTILINE)
    if code != FAILED or failed is None:
        raise RuntimeError(f"the tests did not run with {mutation.says!r}:\n{output}")
    seconds = monotonic() - began
    again = [run(store, source, what, f"{failed[1]}::{failed[2]}")[0] for what in (mutation, None)]
    return f"by {failed[2]} ({seconds:.0f} s)" if again == [FAILED, PASSED] else None


def run(store: str, source: Path, mutation: Mutation | None, test: str | None = None) -> tuple[int, str]:
    """Run the suite of a store, or one test of it, on a copy of the source, with one mistake or none."""
    with tempfile.TemporaryDirectory(prefix="duerow-mutation-") as folder:
        shutil.copytree(source, Path(folder, "src"))
        if mutation is not None:
            mutation.apply(Path(folder, "src", "duerow"))
        environment = {
            **os.environ,
            "PYTHONPATH": str(Path(folder, "src")),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(Path(folder, "hypothesis")),
        }
        check_copy(Path(folder), environment)
        suite = (*TESTS.get(store, ()), f"tests/stores/{store}/test_conformance.py")
        tests = suite if test is None else (test,)
        command = [sys.executable, "-m", "pytest", *SUITE, *tests, f"--basetemp={folder}/tests"]
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr


def check_copy(folder: Path, environment: dict[str, str]) -> None:
    """Make sure that it is the copy that is tested."""
    where = "import duerow; print(duerow.__file__)"
    found = subprocess.run([sys.executable, "-c", where], env=environment, capture_output=True, text=True, check=True)
    if not Path(found.stdout.strip()).is_relative_to(folder):
        raise RuntimeError(f"the tests would run on {found.stdout.strip()}, not on the copy in {folder}")


if __name__ == "__main__":
    sys.exit(main())
