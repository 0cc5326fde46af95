"""A tag is published only if it is the version, with its changes gathered; the forge's files are what it can read."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.release_check import NotReady, notes

ROOT = Path(__file__).parents[2]
FORGE = ROOT / ".github"

pytestmark = pytest.mark.skipif(not FORGE.exists(), reason="a source distribution has no files of the forge")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree that is ready to be released as 1.2.0."""
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "README.md").touch()
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.0] - today\n\n- A.\n\n## [1.1.0] - once\n\n- B.\n")
    return tmp_path


def test_the_notes_of_a_release_are_its_section_of_the_changelog(tree: Path) -> None:
    assert notes(tree, "v1.2.0") == "- A."


def test_a_tag_of_another_version_is_refused(tree: Path) -> None:
    with pytest.raises(NotReady, match=r"v1\.3\.0.*has version 1\.2\.0"):
        notes(tree, "v1.3.0")


def test_changes_that_are_not_gathered_stop_a_release(tree: Path) -> None:
    (tree / "changelog.d" / "+new.added.md").touch()
    with pytest.raises(NotReady, match="1 changes"):
        notes(tree, "v1.2.0")


def test_a_version_without_a_section_is_refused(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text("# Changelog\n")
    with pytest.raises(NotReady, match=r"nothing of 1\.2\.0"):
        notes(tree, "v1.2.0")


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", "workflows/*.yml"),
        ("dependabot", "dependabot.yml"),
        ("github-issue-forms", "ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", "ISSUE_TEMPLATE/config.yml"),
    ],
)
def test_the_forge_can_read_its_files(schema: str, files: str) -> None:
    found = sorted(FORGE.glob(files))
    assert found
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, found)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
