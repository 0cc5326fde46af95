"""Who may read the files of an SQLite database is what the process's umask says."""

import os
import stat
from pathlib import Path

import pytest

import duerow


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644)])
def test_the_files_of_a_database_have_the_mode_that_the_umask_leaves(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        with duerow.connect(f"sqlite:///{tmp_path}/app.db", migrate=True) as db:
            db.queue("mail").push(1)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["app.db", "app.db-wal", "app.db-shm"], mode)
