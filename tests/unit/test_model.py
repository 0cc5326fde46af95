"""The models of the protocol, their catalogue and their page say the same, and name what exists."""

import ast
import re

import pytest

from model.catalog import FOLDER, MODELS, Model
from tests.docs.pages import DOCS, ROOT

PAGE = (DOCS / "explanation/model.md").read_text()
STEP = re.compile(
    r"^\| (?P<step>[^|]+) \| `(?P<file>\S+\.py)` `(?P<name>\w+)` \| (?P<statement>[^|]+) \|$", re.MULTILINE
)
STEPS = [pytest.param(*found.groups(), id=f"{found['file']} {found['name']}") for found in STEP.finditer(PAGE)]

of_each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)


def test_every_model_is_in_the_catalogue():
    assert {path.stem for path in FOLDER.glob("*.pml")} == {model.name for model in MODELS}


@of_each_model
def test_the_catalogue_has_every_broken_variant_of_a_model(model: Model):
    assert set(re.findall(r"\bBROKEN_(\w+)", model.path.read_text())) == set(model.broken)


@of_each_model
def test_every_model_has_a_broken_variant_and_bounds(model: Model):
    assert model.broken
    assert model.short


@of_each_model
def test_the_bounds_of_a_model_are_macros_that_it_has(model: Model):
    text = model.path.read_text()
    bounds = [*model.short, *model.full, *model.swarm, *model.broken.values()]
    assert [name for one in bounds for name in one if not re.search(rf"\b{name}\b", text)] == []


@of_each_model
def test_the_page_shows_what_stands_behind_a_model(model: Model):
    section = PAGE.partition(f"\n### {model.name}\n")[2].partition("\n### ")[0]
    assert STEP.search(section)
    assert f"| `{model.name}` |" in PAGE


def test_every_row_of_the_pages_sections_names_a_function():
    rows = [line for line in PAGE.partition("## From the model")[2].splitlines() if line.startswith("| ")]
    assert len(STEPS) == len([row for row in rows if not row.startswith("| step ")])


@pytest.mark.parametrize(("step", "file", "name", "statement"), STEPS)
def test_the_function_and_the_statement_behind_a_step_exist(step: str, file: str, name: str, statement: str):
    tree = ast.parse((ROOT / "src/duerow" / file).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    if statement.startswith("`"):
        room, _, title = statement.strip("`").partition(": ")
        text = (ROOT / f"tests/sql/postgresql/{room}.sql").read_text()
        assert re.search(rf"^-- statement: {title}\b", text, re.MULTILINE)
