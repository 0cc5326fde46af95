"""A folder of files, on this machine or in an object store, which PyArrow can reach from every process."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.pipeline.table import without_user

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo

RENAMES: Final = ("local", "hdfs")
"""The file systems in which a file is visible while it is written, and can be renamed atomically."""

UNSEEN: Final = (".", "_")
"""The prefixes of the names of files that are not data."""


LASTING: Final = (FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError, IsADirectoryError)
"""Errors of file systems that waiting does not cure."""


class FolderUnavailable(StoreUnavailable):
    """A folder cannot be reached at the moment; worth retrying."""


class Folder:
    """A folder.

    Args:
        path: its absolute path on every machine, or a URL that PyArrow can open.

    Raises:
        ConfigurationError: PyArrow does not support this file system, or cannot reach it.
    """

    def __init__(self, path: str) -> None:
        from pyarrow import fs

        self.path = path
        try:
            if "://" in path:
                self.files, self._root = fs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
            else:
                self.files, self._root = fs.LocalFileSystem(), path
        except Exception as error:  # PyArrow raises many kinds of errors
            shown = without_user(path)
            raise ConfigurationError(
                f"PyArrow cannot open the folder {shown}: {str(error).replace(path, shown)}"
            ) from None

    @contextmanager
    def reaching(self, station: object) -> Iterator[None]:
        """Raise FolderUnavailable for errors in the block that may pass: PyArrow raises OSError if a network fails.

        Args:
            station: the station that needs the folder, for the error.
        """
        try:
            yield
        except LASTING:
            raise
        except OSError as error:
            shown = without_user(self.path)
            why = str(error).replace(self.path, shown)
            raise FolderUnavailable(f"{station}: the folder {shown} cannot be reached: {why}") from error

    def inside(self, name: str) -> str:
        """Return the full name of a file in the folder, for this file system."""
        return f"{self._root}/{name}"

    def url(self, name: str) -> str:
        """Return the full name of a file in the folder, for Spark and other programs."""
        path, mark, query = self.path.partition("?") if "://" in self.path else (self.path, "", "")
        return f"{path}/{name}{mark}{query}"

    def listed(self, below: str = "", recursive: bool = False) -> list[FileInfo]:
        """Return the files in a subfolder; none if it does not exist."""
        from pyarrow.fs import FileSelector, FileType

        where = self.inside(below) if below else self._root
        found = self.files.get_file_info(FileSelector(where, allow_not_found=True, recursive=recursive))
        return [one for one in found if one.type is FileType.File]

    def data_files(self) -> list[str]:
        """Return the names, relative to the folder, of all data files, subfolders included, in order of name."""
        names = (one.path[len(self._root) :].lstrip("/") for one in self.listed(recursive=True))
        return sorted(name for name in names if not any(part.startswith(UNSEEN) for part in name.split("/")))

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        size: int | None = self.files.get_file_info(self.inside(name)).size
        if size is None:
            raise FileNotFoundError(without_user(self.url(name)))
        return size

    def read(self, name: str) -> bytes:
        """Return the content of a file; raise FileNotFoundError if it does not exist."""
        with self.files.open_input_stream(self.inside(name)) as stream:
            content: bytes = stream.read()
        return content

    def put(self, name: str, content: bytes) -> None:
        """Write a file that others see either completely or not at all; it replaces a file of that name."""
        if self.files.type_name not in RENAMES:
            with self.files.open_output_stream(self.inside(name)) as stream:
                stream.write(content)
            return
        head, _, last = name.rpartition("/")
        unseen = f"{head}/.{last}.{secrets.token_hex(4)}"
        with self.writing(unseen) as stream:
            stream.write(content)
        self.files.move(self.inside(unseen), self.inside(name))
        self._keep(os.path.dirname(self.inside(name)))

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Open a file for writing; when the block ends, it is as durable as the file system allows."""
        where = self.inside(name)
        if self.files.type_name in RENAMES:
            self.files.create_dir(os.path.dirname(where), recursive=True)
        with self.files.open_output_stream(where) as stream:
            yield stream
        self._keep(where)
        above = name.split("/")[:-1]
        for depth in range(len(above), 0, -1):  # the names of new folders have to be durable as well
            self._keep(self.inside("/".join(above[:depth])))
        self._keep(self._root or "/")

    def _keep(self, where: str) -> None:
        """Make a file, or the names in a folder, survive a power failure: turns end relying on it."""
        if self.files.type_name != "local":
            return
        opened = os.open(where, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""
        with suppress(FileNotFoundError):
            self.files.delete_file(self.inside(name))
