"""Reads values out of a Python file without running it: literals, names of literals, and texts put together of them.

Nothing of the file is imported or called. What cannot be read so is said with the file and the line.
"""

import ast
import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

_PERCENT = re.compile(r"%(?:%|(?:\(\w+\))?0?\d{0,3}(?:\.\d{1,3})?[sdrfg])")
_BRACES = re.compile(r"\{\{|\}\}|\{\w*(?::0?\d{0,3}(?:\.\d{1,3})?[sdfg]?)?\}")
_SPEC = re.compile(r"0?\d{0,3}(?:\.\d{1,3})?[sdfg]?")
_SCALARS = (str, int, float, bool, type(None))
_LONGEST = 1 << 20


class Unreadable(ValueError):
    """The message begins with `FILE:LINE:`."""

    def __init__(self, file: str, line: int, what: str, unknown: str = "") -> None:
        super().__init__(f"{file}:{line}: {what}")
        self.unknown = unknown
        """What cannot be known without running the file, as it is written there."""


def keyword_arguments(source: bytes, file: str, function: str) -> dict[str, Any]:
    """The keyword arguments of the only call of a function at the top level of a file, or none if it has no call.
    Raises Unreadable."""
    if function.encode() not in source:
        return {}
    module = _parsed(source, file)
    scope, found = Scope(file), list[dict[str, Any]]()
    for statement in module.body:
        call = _call_of(statement, function)
        if call is None:
            calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
            hidden = next((node for node in calls if _is_call(node, function)), None)
            if hidden is not None:
                raise Unreadable(file, hidden.lineno, f"{function} must be called at the top level of the file")
            scope.learn(statement)
            continue
        if found:
            raise Unreadable(file, call.lineno, f"{function} is called a second time")
        found.append(_arguments(call, scope, file, function))
    return found[0] if found else {}


def _parsed(source: bytes, file: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        what = f"this is no Python 3: {error.msg}"
        raise Unreadable(file, error.lineno or 1, what) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(file, 1, f"this cannot be read as Python: {error or type(error).__name__}") from None


def _call_of(statement: ast.stmt, function: str) -> ast.Call | None:
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    return value if isinstance(value, ast.Call) and _is_call(value, function) else None


def _is_call(node: ast.Call, function: str) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == function


def _arguments(call: ast.Call, scope: "Scope", file: str, function: str) -> dict[str, Any]:
    if call.args:
        raise Unreadable(file, call.args[0].lineno, f"{function} takes its values by name: {function}(fs_name=...)")
    found: dict[str, Any] = {}
    for keyword in call.keywords:
        value = scope.value(keyword.value)
        if keyword.arg is not None:
            found[keyword.arg] = value
        elif isinstance(value, dict) and all(isinstance(key, str) for key in value):
            found.update(value)
        else:
            raise Unreadable(file, keyword.value.lineno, "** needs a dict whose keys are texts")
    return found


class Scope:
    """The names that have been assigned so far, each with its value or with why it has none."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._values: dict[str, Any] = {}
        self._unread: dict[str, str] = {}

    def learn(self, statement: ast.stmt) -> None:
        """A name that is set in any other way than by one plain assignment has no value that can be read here."""
        name = _plainly_assigned(statement)
        if name is not None:
            try:
                value = self.value(statement.value)  # type: ignore[attr-defined]
            except Unreadable:
                self._forget(name, f"line {statement.lineno} gives it something else than a literal")
            else:
                self._values[name] = value
                self._unread.pop(name, None)
            return
        for bound, line in _bound_names(statement):
            self._forget(bound, f"line {line} sets it in another way than by a plain assignment")

    def value(self, node: ast.expr) -> Any:
        found = self._read(node)
        if isinstance(found, str) and len(found) > _LONGEST:
            raise self._cannot(node, "a text of more than 1 MiB")
        return found

    def _read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value) if isinstance(value, _SCALARS):
                return value
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.value(item) for item in items]
            case ast.Dict(keys=keys, values=values) if all(key is not None for key in keys):
                pairs = [(self.value(key), self.value(one)) for key, one in zip(keys, values, strict=True) if key]
                return {key: one for key, one in pairs if isinstance(key, str | int)}
            case ast.UnaryOp(op=ast.USub(), operand=inner) if _is_number(number := self.value(inner)):
                return -number
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._added(node, self.value(left), self.value(right))
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                given = self.value(right)
                whole = tuple(given) if isinstance(given, list) else given
                return self._filled(node, self.value(left), _PERCENT, "%", lambda text: text % whole)
            case ast.JoinedStr(values=parts):
                return "".join(self._part(part) for part in parts)
            case ast.Call(func=ast.Attribute(value=pattern, attr="format"), args=args, keywords=named):
                return self._formatted(node, self.value(pattern), args, named)
        raise self._cannot(node, f"`{shown_code(node)}`")

    def _named(self, node: ast.expr, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        why = self._unread.get(name, "no literal is assigned to it above")
        raise self._cannot(node, f"the name {name}: {why}")

    def _added(self, node: ast.expr, left: Any, right: Any) -> Any:
        if isinstance(left, str) and isinstance(right, str):
            return left + right
        if _is_number(left) and _is_number(right):
            return left + right
        raise self._cannot(node, f"`{shown_code(node)}`")

    def _part(self, part: ast.expr) -> str:
        if not isinstance(part, ast.FormattedValue):
            return str(self.value(part))
        spec = "" if part.format_spec is None else self.value(part.format_spec)
        value = self.value(part.value)
        if part.conversion != -1 or not isinstance(spec, str) or not _SPEC.fullmatch(spec):
            raise self._cannot(part, "this part of the f-string")
        return self._tried(part, lambda: format(value, spec))

    def _formatted(self, node: ast.expr, pattern: Any, args: list[ast.expr], named: list[ast.keyword]) -> str:
        values = [self.value(one) for one in args]
        by_name = {one.arg: self.value(one.value) for one in named if one.arg is not None}
        if len(by_name) < len(named):
            raise self._cannot(node, "** in format")
        return self._filled(node, pattern, _BRACES, "{}", lambda text: text.format(*values, **by_name))

    def _filled(
        self, node: ast.expr, pattern: Any, placeholders: re.Pattern[str], marks: str, fill: Callable[[str], str]
    ) -> str:
        """Only plain placeholders are filled in: no attributes, no indexes and no width beyond 999."""
        if not isinstance(pattern, str) or any(mark in placeholders.sub("", pattern) for mark in marks):
            raise self._cannot(node, f"`{shown_code(node)}`")
        return self._tried(node, lambda: fill(pattern))

    def _tried(self, node: ast.expr, fill: Callable[[], str]) -> str:
        try:
            return fill()
        except (TypeError, ValueError, LookupError):
            raise self._cannot(node, f"`{shown_code(node)}`") from None

    def _forget(self, name: str, why: str) -> None:
        self._values.pop(name, None)
        self._unread[name] = why

    def _cannot(self, node: ast.expr, what: str) -> Unreadable:
        why = f"this file is read and not run, so this cannot be known: {what}"
        return Unreadable(self._file, node.lineno, why, what)


def _plainly_assigned(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _bound_names(statement: ast.stmt) -> Iterator[tuple[str, int]]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((one.asname or one.name.partition(".")[0], node.lineno) for one in node.names)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown_code(node: ast.AST) -> str:
    """The code, without the values of texts: one of them may be a password."""
    return ast.unparse(_Hidden().visit(copy.deepcopy(node)))[:80]


class _Hidden(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant("…"), node) if isinstance(node.value, str) else node
