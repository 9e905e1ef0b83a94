"""How many bytes a text has, in the words of each database."""

from typing import Any

from sqlalchemy import Integer
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class octets(FunctionElement[int]):
    type = Integer()
    inherit_cache = True
    name = "octets"


@compiles(octets)
def _octets(element: octets, compiler: SQLCompiler, **options: Any) -> str:
    return f"octet_length({compiler.process(element.clauses, **options)})"


@compiles(octets, "sqlite")
def _octets_in_sqlite(element: octets, compiler: SQLCompiler, **options: Any) -> str:
    """Older versions of SQLite know no octet_length."""
    return f"length(CAST({compiler.process(element.clauses, **options)} AS BLOB))"
