"""The wheel and the source distribution hold what they must, and nothing else."""

import email
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://example.org/queues/duerow"


def tracked(*folders: str) -> set[str]:
    """The files that git knows in some folders; from a source distribution, which has no git, those that are there."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in found if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both, as they are built for publishing."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "DUEROW_REPOSITORY_URL": f"{REPOSITORY}/"},
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module")
def in_wheel(distributions: Path) -> dict[str, bytes]:
    (path,) = distributions.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


@pytest.fixture(scope="module")
def in_source(distributions: Path) -> set[str]:
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as source:
        return {name.partition("/")[2] for name in source.getnames()}


@pytest.fixture(scope="module")
def metadata(in_wheel: dict[str, bytes]) -> Message:
    (found,) = (content for name, content in in_wheel.items() if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(found)


def test_the_wheel_holds_every_file_of_the_packages_and_no_other(in_wheel: dict[str, bytes]) -> None:
    packaged = {name for name in in_wheel if ".dist-info/" not in name}
    assert packaged == {name.removeprefix("src/") for name in tracked("src")}
    assert {name.partition("/")[0] for name in packaged} == {"duerow", "pyspark_duerow", "pytest_duerow"}
    assert {"duerow/py.typed", "duerow/web/security/templates/login.html"} <= packaged


def test_the_wheel_carries_the_licence_of_everything_in_it(in_wheel: dict[str, bytes], metadata: Message) -> None:
    vendored = {name for name in tracked("src") if name.endswith(".LICENSE")}
    assert set(metadata.get_all("License-File", [])) == {"LICENSE", *vendored}
    licences = {name.partition("/licenses/")[2] for name in in_wheel if "/licenses/" in name}
    assert licences == {"LICENSE", *vendored}


def test_the_source_distribution_is_the_whole_tree_without_the_files_of_its_forge(in_source: set[str]) -> None:
    whole = {name for name in tracked(".") if not name.startswith((".ci/", ".github/"))}
    assert whole <= in_source
    assert {name for name in in_source if name.startswith((".ci", ".github", ".venv", "build", "dist"))} == set()


def test_the_wheel_names_its_version_and_the_pythons_that_are_tried(metadata: Message) -> None:
    assert metadata["Requires-Python"] == ">=3.11"
    named = [one.rpartition(" ")[2] for one in metadata.get_all("Classifier", []) if "Python :: 3." in one]
    assert named == ["3.11", "3.12", "3.13", "3.14"]


def test_the_front_page_on_an_index_has_no_link_that_leads_nowhere_there(metadata: Message) -> None:
    text = str(metadata.get_payload())
    tag = f"v{metadata['Version']}"
    assert f"]({REPOSITORY}/blob/{tag}/docs/benchmarks.md)" in text
    assert f'src="{REPOSITORY}/raw/{tag}/docs/assets/dashboard/overview-light.png"' in text
    assert "](docs/" not in text
    assert '"docs/' not in text
    assert f"Source, {REPOSITORY}" in metadata.get_all("Project-URL", [])
