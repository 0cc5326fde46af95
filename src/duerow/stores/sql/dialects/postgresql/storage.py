"""CREATE TABLE with storage parameters, which SQLAlchemy writes only since version 2.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Table
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateTable


class CreateStored(CreateTable):
    """CREATE TABLE … WITH (…).

    Args:
        table: the table.
        storage: its storage parameters.
    """

    def __init__(self, table: Table, storage: Mapping[str, float]) -> None:
        super().__init__(table)
        self.storage = storage


@compiles(CreateStored)
def _write(element: CreateStored, compiler: Any, **kw: Any) -> str:
    created: str = compiler.visit_create_table(element, **kw)
    parameters = ", ".join(f"{name} = {value}" for name, value in element.storage.items())
    return f"{created.rstrip()}\n WITH ({parameters})\n\n"
