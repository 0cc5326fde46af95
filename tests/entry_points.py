"""What an installer leaves of a package, for processes that find its sources by their path."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def install(folder: Path, project: dict[str, Any]) -> None:
    """Write what an installer would leave of a project beside its sources: its name and its entry points."""
    version = project.get("version", "0")
    installed = folder / f"{project['name'].replace('-', '_')}-{version}.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in points.items()) for group, points in groups]
    (installed / "entry_points.txt").write_text("\n".join(lines))
