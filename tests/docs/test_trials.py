"""The tutorials that start servers can be followed; `make wheel` follows them as a new user would, with the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, as_json, name, pages
from tests.docs.test_examples import is_followed


@pytest.mark.soak
@pytest.mark.parametrize("page", [page for page in pages() if is_followed(page)], ids=name)
def test_a_tutorial_can_be_followed(page: Path, tmp_path: Path) -> None:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "DUEROW_"))}
    ours["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    program = [sys.executable, "-P", ROOT / "tools" / "page_trial.py"]
    done = subprocess.run(
        program, input=as_json(page), cwd=tmp_path, env=ours, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
