"""Loads what other distributions bring: the entry points of one group, each checked before anything uses it.

A plugin that cannot be used is a problem that the server reports. It never keeps the server from starting.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar, runtime_checkable

from muster.domain.errors import Problem

BACKENDS = "muster.backends"
DIALECTS = "muster.dialects"
NOTIFIERS = "muster.notifiers"


@runtime_checkable
class Named(Protocol):
    """What every plugin has: the name of its entry point."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


@dataclass(frozen=True, slots=True)
class Plugins(Generic[T]):
    found: tuple[T, ...] = ()
    problems: tuple[Problem, ...] = ()


def load_plugins(
    group: str,
    kind: type[T],
    taken: Collection[str] = (),
    find: Callable[[str], Iterable[EntryPoint]] = lambda group: entry_points(group=group),
) -> Plugins[T]:
    """Loads the objects of this kind that a group offers. `taken` are the names that Muster has itself."""
    found: dict[str, T] = {}
    problems = []
    for point in sorted(find(group), key=lambda point: (point.name, point.value)):
        loaded = _loaded(point, kind, {*taken, *found})
        if isinstance(loaded, Problem):
            problems.append(loaded)
        else:
            found[point.name] = loaded
    return Plugins(tuple(found.values()), tuple(problems))


def _loaded(point: EntryPoint, kind: type[T], taken: Collection[str]) -> T | Problem:
    if point.name in taken:
        return plugin_problem(point, "the name is taken", "uninstall it, or use a version with another name")
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:  # whatever the code of others does when it is imported
        return plugin_problem(point, f"it cannot be loaded: {type(error).__name__}: {error}", "update or uninstall it")
    if not isinstance(loaded, kind):
        return plugin_problem(point, f"{point.value} is not a {kind.__name__}", "update or uninstall it")
    if loaded.name != point.name:
        return plugin_problem(point, f"it calls itself {loaded.name!r}", "the name of the entry point must be the same")
    return loaded


def plugin_problem(point: EntryPoint, message: str, hint: str) -> Problem:
    origin = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    return Problem("", f"the plugin {point.name} of {point.group} is not used: {message}", hint, file=origin)
