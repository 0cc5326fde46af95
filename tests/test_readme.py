"""What the front page shows is what happens."""

import re
from pathlib import Path

import pytest

from tests.processes import run_program

README = Path(__file__).parents[1] / "README.md"

EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<output>.*?)```)?", re.DOTALL)

EXAMPLES = [(found["code"], found["output"] or "") for found in EXAMPLE.finditer(README.read_text())]


@pytest.mark.parametrize(("code", "output"), EXAMPLES, ids=range(1, len(EXAMPLES) + 1))
def test_each_example_prints_what_stands_below_it(code: str, output: str, tmp_path: Path):
    (tmp_path / "example.py").write_text(code)
    done = run_program("example", [], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == output


def test_the_first_example_has_ten_lines_at_most():
    code = EXAMPLES[0][0]
    assert len(code.splitlines()) <= 10


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)]+)\)", README.read_text()))
def test_each_link_leads_somewhere(target: str):
    assert (README.parent / target).exists()
