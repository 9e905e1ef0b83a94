"""Jobs side by side in a table."""

from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from muster.cli.run_tables import _PLAIN, compared, flattened, plotted, write_parquet

pytestmark = pytest.mark.fast
_NONE = ("package", "cost", "peakMemoryBytes", "gpuPercent", "energyJ")
_TEXTS: dict[str, Any] = {
    **dict.fromkeys(("id", "name", "owner", "state", "submittedAt", "trackingUrl"), "x"),
    **{"ranS": 1.0, "gpuHours": 0.0, "commit": "", "env": {}, "tags": {}, **dict.fromkeys(_NONE)},
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("commit", "shown"),
    [(COMMIT, "0123456789ab"), (f"{COMMIT}-dirty", "0123456789ab-dirty"), ("0123456-dirty", "0123456-dirty")],
)
def test_a_commit_is_short_and_says_whether_the_code_was_changed(commit: str, shown: str) -> None:
    _, lines = compared([{**_TEXTS, "commit": commit, "params": {}, "env": {}, "environment": {}, "metrics": {}}])
    assert ["commit", shown] in lines


def test_what_jobs_ran_in_is_compared_and_exported_as_far_as_it_is_known() -> None:
    first, second = _given(None, None)
    runs = [{**first, **_TEXTS, "environment": {"image": "torch:2", "gpu": "A100"}}, {**second, **_TEXTS}]
    _, lines = compared(runs)
    assert ["environment gpu", "A100", None] in lines
    titles, rows = flattened(runs)
    assert [row[titles.index("environment.image")] for row in rows] == ["torch:2", None]


def test_energy_and_tags_that_differ_are_compared_and_all_tags_exported() -> None:
    first, second = ({**one, **_TEXTS, "tags": {"team": "a"}} for one in _given(None, None))
    runs = [{**first, "energyJ": 7.2e6, "tags": {"team": "a", "note": "warm"}}, second]
    names = [line[0] for line in compared(runs)[1]]
    assert ("energy" in names, "tag note" in names, "tag team" in names) == (True, True, False)
    assert ["energy", "2.00 kWh", None] in compared(runs)[1]
    titles, rows = flattened(runs)
    assert [row[titles.index("tags.note")] for row in rows] == ["warm", None]
    assert [row[titles.index("tags.team")] for row in rows] == ["a", "a"]


def test_columns_of_a_parquet_file_have_one_type_whatever_is_in_them(tmp_path: Path) -> None:
    plain = {"lowest": None, "highest": None, "lastStep": 3}
    runs = _given(2**70, 1, None)
    for run, last in zip(runs, [0.5, "NaN", "-Infinity"], strict=True):
        run["metrics"] = {"loss": {**plain, "last": last}}
        run["params"] |= {
            "flag": True,
            "depth": 3,
            "mixed": "x" if last == 0.5 else 2,
            "batch": 0.5 if last == "NaN" else 1,
        }
    write_parquet(tmp_path / "runs.parquet", *flattened(runs))
    table = parquet.read_table(tmp_path / "runs.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert {name: kinds[f"params.{name}"] for name in ("lr", "flag", "depth", "mixed", "batch")} == {
        **{"lr": "double", "flag": "bool", "depth": "int64", "mixed": "string", "batch": "double"}
    }
    assert [kinds[name] for name in ("cost", "energyJ", "peakMemoryBytes", "startedAt")] == [
        *("double", "double", "int64", "string")
    ]
    assert kinds["metrics.loss.lowest"] == kinds["metrics.loss.last"] == "double"
    assert kinds["metrics.loss.lastStep"] == "int64"
    assert [str(value) for value in table["metrics.loss.last"].to_pylist()] == ["0.5", "nan", "-inf"]


def _given(*values: object) -> list[dict[str, Any]]:
    plain = dict.fromkeys((*_NONE, *_PLAIN))
    none: dict[str, Any] = {"metrics": {}, "environment": {}, "tags": {}}
    return [{**plain, "params": {} if value is None else {"lr": value}, **none} for value in values]


@pytest.mark.parametrize(
    ("values", "column"),
    [
        (["0.1", None, 0.2], [0.1, None, 0.2]),
        (["1", 2], [1, 2]),
        (["1", "0.5"], [1.0, 0.5]),
        (["1", "auto"], ["1", "auto"]),
        (["2024_01", "1"], ["2024_01", "1"]),
        (["nan", "1"], ["nan", "1"]),
    ],
)
def test_a_parameter_of_numbers_alone_is_saved_as_numbers(values: list[object], column: list[object]) -> None:
    titles, lines = flattened(_given(*values))
    found = [line[titles.index("params.lr")] for line in lines]
    assert [(type(one), one) for one in found] == [(type(one), one) for one in column]


def test_a_parameter_with_one_number_is_no_axis_though_one_is_a_text() -> None:
    assert plotted(_given(0.1, "0.10"), [], [], "last") == []
    assert [name for name, _ in plotted(_given(0.1, "0.2"), [], [], "last")] == ["lr"]
