"""A reservation is known to be of the same tables however they were reached, and of others if they are others."""

import pytest
from sqlalchemy import create_engine

import duerow
from duerow.errors import ConfigurationError


@pytest.fixture
def mine(tmp_path):
    with duerow.connect(f"sqlite:///{tmp_path}/app.db", migrate=True) as database:
        database.queue("mail").push("hello")
        yield database.queue("mail").reserve()


def test_other_ways_to_the_same_file_lead_to_the_same_place(mine, tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    for target in ["sqlite:///../app.db?busy_timeout=500", create_engine(f"sqlite:///{tmp_path}/sub/../app.db")]:
        with duerow.connect(target) as database:
            mine = database.queue("mail").extend(mine)
    mine.commit()


def test_other_files_and_other_tables_in_the_same_file_are_other_places(mine, tmp_path):
    for target, settings in [
        (f"sqlite:///{tmp_path}/other.db", {}),
        (f"sqlite:///{tmp_path}/app.db", {"prefix": "x_"}),
    ]:
        with (
            duerow.connect(target, migrate=True, **settings) as database,
            pytest.raises(ConfigurationError, match="of a different database"),
        ):
            database.queue("mail").commit(mine)
    mine.commit()
