"""The program that is sent to a pod to answer requests there: modules of the agent, in one text.

It is sent over the connection and kept in memory there. Nothing of it is in the image, the cluster or the arguments of
the process.
"""

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from muster.backends.kubernetes.preparation import WORK_FOLDER

_SERVICE = "muster.agent.pods.pod_service"
_FIRST = "import sys; exec(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())))"
COMMAND = ("python3", "-I", "-S", "-c", _FIRST)
"""Reads the length of the program on a line, then the program, and runs it."""
_PROGRAM = """import importlib.abc, importlib.util, sys
SOURCES = {sources!r}
class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name not in SOURCES:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=SOURCES[name][0])
    def exec_module(self, module):
        exec(compile(SOURCES[module.__name__][1], module.__name__, "exec"), module.__dict__)
sys.meta_path.insert(0, Sources())
from {service} import main
main({work!r})
"""


@cache
def program(work: str = WORK_FOLDER) -> bytes:
    """What is written to the standard input of `COMMAND`. Requests follow, as frames."""
    sources: dict[str, tuple[bool, str]] = {}
    _add(_SERVICE, sources)
    for package in {name.rpartition(".")[0] for name in sources} | {"muster", "muster.agent"}:
        sources.setdefault(package, (True, ""))
    text = _PROGRAM.format(sources=sources, service=_SERVICE, work=work).encode()
    return b"%d\n%b" % (len(text), text)


def _add(module: str, sources: dict[str, tuple[bool, str]]) -> None:
    """The module and all of the agent that it imports."""
    spec = find_spec(module)
    if module in sources or spec is None or spec.origin is None:
        return
    text = Path(spec.origin).read_text(encoding="utf-8")
    is_package = spec.submodule_search_locations is not None
    if not is_package:
        sources[module] = (False, text)
    for name in _imported(ast.parse(text)):
        _add(name, sources)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Imports at the top of the module; those for type checkers are inside an `if`."""
    for statement in tree.body:
        if not isinstance(statement, ast.ImportFrom) or not (statement.module or "").startswith("muster.agent"):
            continue
        assert statement.module is not None
        yield statement.module
        yield from (name for alias in statement.names if _is_module(name := f"{statement.module}.{alias.name}"))


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
