"""Jobs as experiments in tables: side by side, or one line each for a file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from muster.cli.failures import Failure
from muster.cli.tables.job_usage import energy
from muster.cli.tables.sweep_columns import value_text
from muster.cli.tables.text_tables import Column
from muster.lib.numbers import as_number
from muster.lib.own_environment import PYARROW, pip_install
from muster.lib.quantities import about_bytes

Run = Mapping[str, Any]
_USE: Sequence[tuple[str, Callable[[Run], Any]]] = (
    ("ran", lambda run: f"{run['ranS']:.0f} s"),
    ("GPU hours", lambda run: round(run["gpuHours"], 3)),
    ("cost", lambda run: None if run["cost"] is None else round(run["cost"], 2)),
    ("peak memory", lambda run: None if run["peakMemoryBytes"] is None else about_bytes(run["peakMemoryBytes"])),
    ("GPU busy", lambda run: None if run["gpuPercent"] is None else f"{run['gpuPercent']:.0f} %"),
    ("energy", lambda run: energy(run["energyJ"])),
)
_PLAIN = (
    *("id", "name", "owner", "cluster", "vc", "state", "reason", "submittedAt", "startedAt", "endedAt", "ranS"),
    *("gpuHours", "cost", "peakMemoryBytes", "gpuPercent", "energyJ", "package", "commit", "trackingUrl"),
)
_DIRTY = "-dirty"


@dataclass(frozen=True, slots=True)
class Cells:
    values: Sequence[Any]
    raw: Mapping[str, Any] = field(default_factory=dict)


def compared(runs: Sequence[Run]) -> tuple[list[str], list[list[Any]]]:
    """The names of the jobs, and a line for each property. Properties that all share and that say nothing are left out,
    as are variables and tags that do not differ."""
    lines = [
        _line("id", runs, lambda run: run["id"]),
        _line("owner", runs, lambda run: run["owner"]),
        _line("state", runs, lambda run: run["state"]),
        _line("submitted", runs, lambda run: run["submittedAt"]),
        _line("package", runs, lambda run: (run["package"] or "")[:12]),
        _line("commit", runs, lambda run: _short(run["commit"])),
        _line("tracking URL", runs, lambda run: run["trackingUrl"]),
        *_keyed("environment", runs, "environment", only_differing=False),
        *(_line(title, runs, value) for title, value in _USE),
        *_keyed("param", runs, "params", only_differing=False),
        *_keyed("env", runs, "env", only_differing=True),
        *_keyed("tag", runs, "tags", only_differing=True),
    ]
    for name in known_names(runs, "metrics"):
        lines.append([name, *((run["metrics"].get(name) or {}).get("last") for run in runs)])
    return [run["name"] for run in runs], [line for line in lines if any(value not in (None, "") for value in line[1:])]


def flattened(runs: Sequence[Run]) -> tuple[list[str], list[list[Any]]]:
    """The titles of a table with one line for each job, and the lines."""
    params, metrics, parts, tags = (known_names(runs, key) for key in ("params", "metrics", "environment", "tags"))
    kinds = ("last", "lowest", "highest", "lastStep")
    titles = [*_PLAIN, *(f"environment.{name}" for name in parts), *(f"params.{name}" for name in params)]
    titles += [f"metrics.{name}.{kind}" for name in metrics for kind in kinds] + [f"tags.{name}" for name in tags]
    given = {name: _as_numbers([run["params"].get(name) for run in runs]) for name in params}
    lines = []
    for place, run in enumerate(runs):
        found = [(run["metrics"].get(name) or {}).get(kind) for name in metrics for kind in kinds]
        ran_in, noted = [run["environment"].get(name) for name in parts], [run["tags"].get(name) for name in tags]
        lines.append(
            [*(run[name] for name in _PLAIN), *ran_in, *(given[name][place] for name in params), *found, *noted]
        )
    return titles, lines


def plotted(
    runs: Sequence[Run], params: Sequence[str], metrics: Sequence[str], kind: str
) -> list[tuple[str, list[str | float | bool | None]]]:
    """The axes of parallel coordinates, each with the value of each run: the parameters, by default those that differ,
    and then the metrics. `kind` says which value of a metric counts; one that is not finite has no place."""
    names = params or [
        name for name in known_names(runs, "params") if len({_compared(run["params"].get(name)) for run in runs}) > 1
    ]
    found = [(name, [run["params"].get(name) for run in runs]) for name in names]
    for name in metrics:
        values = [(run["metrics"].get(name) or {}).get(kind) for run in runs]
        found.append((name, [None if isinstance(value, str) else value for value in values]))
    return found


def write_parquet(path: Path, titles: Sequence[str], lines: Sequence[Sequence[Any]]) -> None:
    """A column of numbers has the same type in every file, whatever jobs are in it, so that files can be put together.
    One whose values have several types is one of texts."""
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        hint = f"{pip_install(PYARROW)}, or name the file .csv"
        raise Failure("Parquet needs pyarrow, which is not installed here", hint=hint) from None
    table = {}
    for place, title in enumerate(titles):
        values = [line[place] for line in lines]
        kind = _kind(title, values)
        given = [None if value is None else kind(value) for value in values]
        table[title] = arrow.array(given, _ARROW[kind])
    parquet.write_table(arrow.table(table), path)


_ARROW = {int: "int64", float: "double", bool: "bool", str: "string"}
_FLOATS = ("ranS", "gpuHours", "cost", "gpuPercent", "energyJ")
_MOST_INT = 2**63 - 1


def _kind(title: str, values: Sequence[Any]) -> type:
    """The values of a metric that are not finite come as texts, such as `NaN`, and are numbers in a table."""
    if title == "peakMemoryBytes" or (title.startswith("metrics.") and title.endswith(".lastStep")):
        return int
    if title in _FLOATS or title.startswith("metrics."):
        return float
    types = {type(value) for value in values if value is not None}
    if types == {int} and all(abs(value) <= _MOST_INT for value in values if value is not None):
        return int
    if types and types <= {int, float}:
        return float
    return bool if types == {bool} else str


def _as_numbers(values: Sequence[Any]) -> Sequence[Any]:
    """The values of a parameter as numbers, if all are numbers: MLflow's clients write them as texts."""
    numbers = [as_number(value) for value in values]
    if any(number is None and value is not None for number, value in zip(numbers, values, strict=True)):
        return values
    if any(isinstance(number, float) for number in numbers):
        return [None if number is None else float(number) for number in numbers]
    return numbers


def _compared(value: Any) -> str:
    """The same for values that are the same, numbers and texts of them alike."""
    number = as_number(value)
    return repr(value if number is None else float(number))


def _short(commit: str) -> str:
    """Enough of it to know it, and whether something was changed since."""
    return commit.removesuffix(_DIRTY)[:12] + (_DIRTY if commit.endswith(_DIRTY) else "")


def _keyed(title: str, runs: Sequence[Run], key: str, *, only_differing: bool) -> list[list[Any]]:
    lines = [[f"{title} {name}", *(run[key].get(name) for run in runs)] for name in known_names(runs, key)]
    return [line for line in lines if not only_differing or len({repr(value) for value in line[1:]}) > 1]


def known_names(runs: Sequence[Run], key: str) -> list[str]:
    """The names of what these jobs have of a kind, such as params or metrics."""
    return sorted({name for run in runs for name in run[key]})


def _line(title: str, runs: Sequence[Run], value: Callable[[Run], Any]) -> list[Any]:
    return [title, *(value(run) for run in runs)]


def cell_columns(titles: Sequence[str]) -> list[Column[Cells]]:
    return [Column(title, _cell(place)) for place, title in enumerate(titles)]


def _cell(place: int) -> Callable[[Cells], Any]:
    return lambda line: _rounded(line.values[place])


def _rounded(value: Any) -> Any:
    return value_text(value) if isinstance(value, float) else value
