"""What becomes of a foreign job file: a Muster spec, and for every part of it where it came from.

Three things can be said of a foreign field. It is translated; or it has no effect, which is a warning; or the job would
not be the same without it, which is a refusal. A refusal names the key of the Muster spec that settles it, and
overriding that key (`--set runtime.image=null`) is how a person says: run it all the same.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.domain.errors import Invalid, Problem
from muster.lib.nearest import nearest
from muster.wire.documents import Document, Path, dotted, enclosing

MAX_WRITTEN = 4 << 20
"""The most characters that the texts of a file may have once their references are replaced by values."""


@dataclass(frozen=True, slots=True)
class Refusal:
    problem: Problem
    settled_by: str = ""
    """The path in the Muster spec whose override settles the problem; empty if only the file can be corrected."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a part of the spec came from, and the way out when a backend cannot do it."""

    path: str
    line: int | None
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ClusterWish:
    """Names under which the file asks for a part of its own cluster, such as a partition of Slurm. If there is a
    cluster of such a name, the job runs there, and otherwise where it would run without."""

    names: tuple[str, ...]
    source: str
    line: int | None

    @property
    def unmet(self) -> str:
        named = " or ".join(repr(name) for name in self.names)
        message = f"there is no cluster {named} for you, and it has no effect"
        return str(Problem(self.source, message, "--cluster NAME chooses one", self.line))


@dataclass(frozen=True, slots=True)
class Translation:
    """`data` is the spec before overrides; `copies` are values to be taken from elsewhere in it after them."""

    data: dict[str, Any]
    warnings: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Keys that are left out if an override sets another key instead, and that other key."""
    bound: Mapping[str, str] = field(default_factory=dict)
    """Keys that are left out if an override has taken another key away, and that other key."""
    is_foreign: bool = True
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values that the file itself contains, by the name under which the spec refers to them. They are no part of it."""
    wish: ClusterWish | None = None

    @property
    def problems(self) -> list[Problem]:
        return [refusal.problem for refusal in self.refusals]

    def standing(self, overridden: Collection[str]) -> list[Problem]:
        """The problems that the overrides have not settled."""
        return [refusal.problem for refusal in self.refusals if not _within(refusal.settled_by, overridden)]

    def settled(self, data: dict[str, Any]) -> dict[str, Any]:
        """The overridden spec with the copies (of counts) in it, where nobody has put anything else, and without what
        an override has replaced."""
        for target, instead in self.replaced.items():
            if _value_at(data, instead) is not None:
                data = _with_value(data, target.split("."), None)
        for target, needed in self.bound.items():
            if _value_at(data, needed) is None and _value_at(data, target) is not None:
                data = _with_value(data, target.split("."), None)
        for target, source in self.copies.items():
            value = _value_at(data, source)
            if isinstance(value, int) and _value_at(data, target) is None:
                data = _with_value(data, target.split("."), value)
        return data

    def placed(self, problem: Problem, overridden: Collection[str]) -> Problem:
        """Relates a problem of the spec to the file as it was written. A problem of an override stays as it is."""
        if problem.line is not None or _within(problem.path, overridden):
            return problem
        origin = self._origin(problem.path)
        if origin is None:
            return problem
        return Problem(origin.path, problem.message, origin.hint or problem.hint, origin.line)

    def is_covered(self, problem: Problem) -> bool:
        """Whether a refusal already covers the problem, such as a missing command."""
        return any(problem.path == refusal.settled_by for refusal in self.refusals)

    def _origin(self, path: str) -> Origin | None:
        while path and path not in self.origins:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.origins.get(path)


class Translator:
    """Gathers a Translation while a dialect walks through its document."""

    def __init__(self, document: Document) -> None:
        self._lines = document.lines
        self._written = 0
        self._data: dict[str, Any] = {}
        self._warnings: list[Problem] = []
        self._refusals: list[Refusal] = []
        self._origins: dict[str, Origin] = {}
        self._copies: dict[str, str] = {}
        self._secrets: dict[str, str] = {}
        self._replaced: dict[str, str] = {}
        self._wish: ClusterWish | None = None
        self._bound: dict[str, str] = {}

    def put(self, target: Path, value: Any, source: Path, hint: str = "") -> None:
        inner = self._data
        for key in target[:-1]:
            inner = inner.setdefault(str(key), {})
        inner[str(target[-1])] = value
        self.trace(target, source, hint)

    def append(self, target: Path, value: Any, source: Path, hint: str = "") -> None:
        """Adds an item to a list of the spec."""
        inner = self._data
        for key in target[:-1]:
            inner = inner.setdefault(str(key), {})
        items = inner.setdefault(str(target[-1]), [])
        items.append(value)
        self.trace((*target, len(items) - 1), source, hint)

    def carry(self, name: str, value: str) -> None:
        """Keeps a value that must not be in the spec, under the name by which the spec refers to it."""
        self._secrets[name] = value

    def spend(self, characters: int, source: Path) -> None:
        """Counts what is written into the spec in place of a reference, or once more. Raises Invalid as soon as it is
        too much: references to references double a text with every line of a file."""
        self._written += characters
        if self._written > MAX_WRITTEN:
            message = f"the file becomes longer than {MAX_WRITTEN >> 20} MiB when its references are filled in"
            problem = Problem(dotted(source), "is where it becomes too long", line=self.line(source))
            raise Invalid(message, hint="refer to long texts less often", problems=(problem,))

    def said(self, target: Path) -> Any:
        """What has been put there so far, or None."""
        return _value_at(self._data, ".".join(str(key) for key in target))

    def trace(self, target: Path, source: Path, hint: str = "") -> None:
        self._origins[dotted(target)] = Origin(dotted(source), self.line(source), hint)

    def copy(self, target: Path, source: Path) -> None:
        self._copies[dotted(target)] = dotted(source)

    def replace(self, target: Path, instead: Path) -> None:
        """Leaves `target` out if an override sets `instead`."""
        self._replaced[dotted(target)] = dotted(instead)

    def prefer_clusters(self, names: Sequence[str], source: Path) -> None:
        self._wish = ClusterWish(tuple(names), dotted(source), self.line(source))

    def warn_line(self, line: int, word: str, message: str) -> None:
        """Says it of a line that stands for no value, such as a command in a script."""
        self._warnings.append(Problem(word, message, line=line))

    def refuse_line(self, line: int, word: str, message: str, hint: str = "", settled_by: Path = ()) -> None:
        self._refusals.append(Refusal(Problem(word, message, hint, line), dotted(settled_by)))

    def bind(self, target: Path, needed: Path) -> None:
        """Leaves `target` out if an override takes `needed` away."""
        self._bound[dotted(target)] = dotted(needed)

    def warn(self, source: Path, message: str, hint: str = "") -> None:
        self._warnings.append(Problem(dotted(source), message, hint, self.line(source)))

    def refuse(self, source: Path, message: str, hint: str = "", settled_by: Path = ()) -> None:
        problem = Problem(dotted(source), message, hint, self.line(source))
        self._refusals.append(Refusal(problem, dotted(settled_by)))

    def refuse_unknown(self, given: Collection[str], source: Path, known: Collection[str]) -> None:
        """Refuses each key that the format does not have, with the one that was probably meant."""
        for key in given:
            if key not in known:
                guess = nearest(key, list(known))
                hint = f"did you mean {guess}?" if guess else f"known keys: {', '.join(known)}"
                self.refuse((*source, key), "unknown key", hint)

    def mapping(self, value: Any, source: Path) -> dict[str, Any]:
        """The value if it is a mapping or absent; anything else is refused and empty."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self.refuse(source, f"is {value!r}"[:200], "a mapping")
        return {}

    def listed(self, value: Any, source: Path) -> list[Any]:
        if isinstance(value, list):
            return value
        if value is not None:
            self.refuse(source, f"is {value!r}"[:200], "a list")
        return []

    def line(self, source: Path) -> int | None:
        """Returns the line of the value, or of the nearest value around it."""
        while source and source not in self._lines:
            source = source[:-1]
        return self._lines.get(source)

    def translation(self) -> Translation:
        in_order = sorted(self._warnings, key=lambda warning: warning.line or 0)
        warnings = tuple(str(warning) for warning in in_order)
        return Translation(
            self._data,
            warnings,
            tuple(self._refusals),
            self._origins,
            self._copies,
            replaced=self._replaced,
            bound=self._bound,
            secrets=self._secrets,
            wish=self._wish,
        )


def _within(path: str, overridden: Collection[str]) -> bool:
    return bool(path) and any(around in overridden for around in enclosing(path) if around)


def _value_at(data: Any, path: str) -> Any:
    for key in path.split("."):
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _with_value(data: dict[str, Any], keys: list[str], value: Any) -> dict[str, Any]:
    if len(keys) == 1:
        return {**data, keys[0]: value}
    inner = data.get(keys[0])
    return {**data, keys[0]: _with_value(inner if isinstance(inner, dict) else {}, keys[1:], value)}
