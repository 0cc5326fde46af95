"""What the package says of itself on a package index, where links of the README that lead into this tree lead nowhere.

Who publishes sets DUEROW_REPOSITORY_URL, such as https://github.com/OWNER/NAME; then the links lead there, to the tag
of the version. Elsewhere the README stays as it is.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "DUEROW_REPOSITORY_URL"

LINK = re.compile(r"(?P<before>\]\(|\b(?:src|srcset)=\")(?P<path>[^)\":#]+)(?P<after>[)#\"])")
"""A link of Markdown's or a picture of HTML's that names a file of this tree."""


class RepositoryMetadata(MetadataHookInterface):
    """Adds the README, and the addresses of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the dynamic fields."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        url = os.environ.get(VARIABLE, "").rstrip("/")
        metadata["urls"] = addresses(url) if url else {}
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, url, f"v{metadata['version']}") if url else text,
        }


def addresses(url: str) -> dict[str, str]:
    """Return the project's addresses, under the names that the index knows."""
    return {
        "Source": url,
        "Issues": f"{url}/issues",
        "Changelog": f"{url}/blob/HEAD/CHANGELOG.md",
    }


def absolute(readme: str, url: str, tag: str) -> str:
    """Return a README whose links lead to the files of a tag; pictures are asked for as they are."""

    def led(found: re.Match[str]) -> str:
        way = "blob" if found["before"] == "](" else "raw"
        return f"{found['before']}{url}/{way}/{tag}/{found['path']}{found['after']}"

    return LINK.sub(led, readme)
