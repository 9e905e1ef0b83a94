"""Reads a settings file that is written as Python: names that are given literals, with docstrings between them.

It is parsed and never executed. A value may be put together of literals and of names that were given some above, as
`lib.python_literals` reads them; names that begin with `_` are for that only. Everything else is a problem with its
line.
"""

import ast
from typing import Any

from muster.domain.errors import Invalid, Problem
from muster.lib.python_literals import Scope, Unreadable, shown_code
from muster.wire.documents import MAX_BYTES, MAX_DEPTH, Document, Path, dotted

_LITERAL = "write texts, numbers, lists and dicts; nothing in the file is executed"


def read_python_literals(text: str) -> Document:
    """Raises Invalid with all problems."""
    if len(text) > MAX_BYTES:
        raise Invalid(f"the file is larger than {MAX_BYTES >> 10} KiB")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        problem = Problem("", error.msg, line=error.lineno)
        raise Invalid("the file is not valid Python", problems=(problem,)) from None
    except (ValueError, RecursionError, MemoryError):
        raise Invalid("the file is not valid Python: it has null bytes, or is nested too deeply") from None
    return _Reader().read(tree)


class _Reader:
    def __init__(self) -> None:
        self._lines: dict[Path, int] = {(): 1}
        self._problems: list[Problem] = []
        self._scope = Scope("")

    def read(self, tree: ast.Module) -> Document:
        values: dict[str, Any] = {}
        for statement in tree.body:
            match statement:
                case ast.Expr(value=ast.Constant(value=str())):
                    continue
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if name in values:
                        self._refuse((name,), statement, "is given twice", "")
                    self._lines[(name,)] = statement.lineno
                    values[name] = self._value(value, (name,), 1)
                    self._scope.learn(statement)
                case _:
                    self._refuse((), statement, f"{_shown(statement)} is not read here", "write `name = value`")
        if self._problems:
            raise Invalid("the file contains more than names with literals", problems=tuple(self._problems))
        return Document({name: value for name, value in values.items() if not name.startswith("_")}, self._lines)

    def _value(self, node: ast.expr, path: Path, depth: int) -> Any:
        if depth > MAX_DEPTH:
            self._refuse(path, node, "is nested too deeply", "")
            return None
        match node:
            case ast.Constant(value=value) if value is ...:
                self._refuse(path, node, "`...` stands for what an example leaves out", "write it, or remove the line")
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._item(item, (*path, place), depth) for place, item in enumerate(items)]
            case ast.Dict(keys=keys, values=found):
                return self._dict(keys, found, path, depth)
            case _:
                return self._scalar(node, path)
        return None

    def _scalar(self, node: ast.expr, path: Path) -> Any:
        try:
            return self._scope.value(node)
        except Unreadable as error:
            is_code = error.unknown.startswith("`")
            self._refuse(path, node, f"{error.unknown} is not a literal" if is_code else error.unknown, _LITERAL)
        except RecursionError:
            self._refuse(path, node, "is nested too deeply", "")
        return None

    def _item(self, node: ast.expr, path: Path, depth: int) -> Any:
        self._lines[path] = node.lineno
        return self._value(node, path, depth + 1)

    def _dict(self, keys: list[ast.expr | None], found: list[ast.expr], path: Path, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in zip(keys, found, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                values[key.value] = self._item(value, (*path, key.value), depth)
            else:
                self._refuse(path, key or value, "a key must be a text", "")
        return values

    def _refuse(self, path: Path, node: ast.AST, message: str, hint: str) -> None:
        self._problems.append(Problem(dotted(path), message, hint, line=getattr(node, "lineno", None)))


def _shown(node: ast.AST) -> str:
    """The beginning of what was written, which may span many lines."""
    text = " ".join(shown_code(node).split())
    return f"`{text[:40]}…`" if len(text) > 40 else f"`{text}`"
