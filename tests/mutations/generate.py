"""Write all mutants of a part with mutmut, and check their types; see tests/mutations/mutants.py.

It runs in the folder that `mutants.py` has prepared. mutmut keeps the results of functions that have not changed.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from tests.mutations.ends import CAUGHT


def main() -> None:
    """Write the mutants and their metadata."""
    from mutmut.__main__ import create_mutants
    from mutmut.configuration import config
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.mutation.trampoline import set_mutant_under_test
    from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir, setup_source_paths

    set_mutant_under_test("mutant_generation")
    Path("mutants").mkdir(exist_ok=True)
    copy_src_dir()
    refresh()
    copy_also_copy_files()
    setup_source_paths()
    create_mutants(os.cpu_count() or 1)
    checked = subprocess.run(config().type_check_command, cwd="mutants", capture_output=True, text=True, check=True)
    errors: dict[str, set[int]] = defaultdict(set)
    for line in checked.stdout.splitlines():
        error = json.loads(line)
        errors[error["file"]].add(error["line"])
    for meta in sorted(Path("mutants/src").rglob("*.py.meta")):
        data = SourceFileMutationData(path=meta.relative_to("mutants").with_suffix(""))
        data.load()
        spans = json.loads(meta.with_suffix(".spans").read_text())["spans"]
        caught = {
            function
            for function, (first, last) in spans.items()
            if any(first <= line <= last for line in errors[str(data.path)])
        }
        for name, ended in data.exit_code_by_key.items():
            if name.rpartition(".")[2] in caught:
                data.exit_code_by_key[name] = CAUGHT
            elif ended == CAUGHT:
                data.exit_code_by_key[name] = None
        data.save()


def refresh() -> None:
    """Copy sources again that have changed since they were copied; mutmut does that for mutated files alone."""
    for source in Path("src").resolve().rglob("*.py"):
        copy = Path("mutants/src", source.relative_to(Path("src").resolve()))
        if copy.with_suffix(".py.meta").exists() or not copy.exists():
            continue
        if copy.stat().st_mtime < source.stat().st_mtime:
            shutil.copy2(source, copy)


if __name__ == "__main__":
    sys.exit(main())
