"""Write requirements/*.txt: every version and hash, for Python 3.11 to 3.14, with no word of where they came from.

The machine's own package folders and indexes are left out, so that the files say the same wherever they are made.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENTS = ROOT / "requirements"

# Later sets agree with earlier ones, because all are installed into the same environment.
SETS: dict[str, list[str]] = {
    "build": ["requirements/build.in"],
    "dev": ["pyproject.toml", "--extra=dev", "--constraint=requirements/build.txt"],
    "demo": ["pyproject.toml", "--extra=demo", "--constraint=requirements/dev.txt"],
    "java": ["requirements/java.in"],
    "peers": ["requirements/peers.in", "--constraint=requirements/dev.txt"],
}
OPTIONS = [
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-annotate",
    "--no-config",
    "--custom-compile-command=make lock",
    "--quiet",
]
FOREIGN = re.compile(r"^\s*--(?!hash=)|://|^\S+==[^\s;]*\+", re.MULTILINE)


def main(arguments: list[str]) -> None:
    """Compile each set; further arguments, such as --upgrade, go to uv."""
    for name, source in SETS.items():
        target = REQUIREMENTS / f"{name}.txt"
        compiler = [sys.executable, "-m", "uv", "pip", "compile"]
        command = [*compiler, *source, *OPTIONS, f"--output-file={target}", *arguments]
        subprocess.run(command, cwd=ROOT, env=environment(), check=True)
        refuse_foreign(target)
        print(f"wrote {target.relative_to(ROOT)}")


def environment() -> dict[str, str]:
    """This process's environment without the settings that would add a place to take packages from."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}


def refuse_foreign(path: Path) -> None:
    """Stop at an index line, an address or a local version such as 1.0+cpu."""
    found = FOREIGN.search(path.read_text())
    if found:
        sys.exit(f"{path.name} names a place or a local version: {found.group().strip()!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
