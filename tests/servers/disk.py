"""A small disk for the data of one server, which can be filled."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.servers.process import ServerUnavailable


class NoSmallDisk(ServerUnavailable):
    """This machine lets neither this user nor root mount one, as in most containers."""


PIECES: Final = (1 << 20, 1 << 12)
"""Sizes in bytes of what is written to fill the disk; the last one is the size of a page."""


@dataclass(frozen=True)
class SmallDisk:
    """A disk that only programs see that are started `through` a command.

    Attributes:
        through: The command.
        ballast: The file that takes all space when the disk is full, as other programs reach it.
    """

    through: Sequence[str]
    ballast: Path

    def fill(self) -> None:
        """Take all space that is left."""
        with suppress(OSError), self.ballast.open("ab", buffering=0) as file:
            for size in PIECES:
                with suppress(OSError):  # no space is left for such a piece
                    while file.write(bytes(size)) == size:
                        pass

    def free(self) -> None:
        """Give the space back."""
        self.ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(at: Path, megabytes: int, owner: str | None) -> Iterator[SmallDisk]:
    """A disk in memory, for as long as the block runs; nothing of it is left even if this process is killed.

    It is mounted in a namespace of its own: by root, or in a namespace for users as well.

    Args:
        at: Where it is mounted; a folder that does not exist yet.
        megabytes: Its size.
        owner: The user whom it belongs to; None is the current one.

    Raises:
        NoSmallDisk: This machine does not let us mount it.
    """
    at.mkdir()
    user = pwd.getpwnam(owner) if owner else pwd.getpwuid(os.geteuid())
    is_root = os.geteuid() == 0
    apart = ["unshare", "--mount", *([] if is_root else ["--user", "--map-current-user", "--keep-caps"])]
    mount = f"mount -t tmpfs -o size={megabytes}m,mode=700,uid={user.pw_uid},gid={user.pw_gid} disk '{at}'"
    holder = subprocess.Popen(
        [*apart, "setpriv", "--pdeathsig=KILL", "sh", "-c", f"{mount} && echo mounted && exec sleep infinity"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stderr is not None
    try:
        if holder.stdout.readline() != "mounted\n":
            raise NoSmallDisk(
                "a full disk needs a small disk of its own, which only root may mount here, or somebody who may have "
                f"namespaces: {holder.stderr.read().strip()}"
            )
        enter = ["nsenter", f"--target={holder.pid}", "--mount"]
        through = [*enter, *([] if is_root else ["--user", "--preserve-credentials"]), "--"]
        yield SmallDisk(through, Path(f"/proc/{holder.pid}/root{at}/ballast"))
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
        holder.stderr.close()
