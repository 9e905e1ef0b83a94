"""Tables as CSV: texts of users are no formulas, and numbers are numbers."""

import csv
import io

import pytest

from muster.cli.run_tables import flattened
from muster.cli.tables.csv_texts import csv_text, harmless

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "text", ['=HYPERLINK("http://evil")', "+1+1", "-1-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\n=1"]
)
def test_a_text_is_no_formula_in_a_cell_and_in_a_title(text: str) -> None:
    rows = list(csv.reader(io.StringIO(csv_text([text, "b"], [["a", text]]), newline="")))
    cell = "'" + text.replace("\r", "\n")
    assert rows == [[cell, "b"], ["a", cell]]


@pytest.mark.parametrize("text", ["-0.1", "+3", "-1e-3", "lr", "a=b", "1+1", ""])
def test_numbers_and_other_texts_stay_as_they_are(text: str) -> None:
    assert harmless(text) == text


def test_a_carriage_return_begins_no_row() -> None:
    assert len(list(csv.reader(io.StringIO(csv_text(["a"], [["x\r=1+1"], ["x\r\n=1+1"]]))))) == 3


def test_numbers_are_written_plainly_and_what_is_missing_is_empty() -> None:
    assert csv_text(["a"], [[-1], [-0.5], [None], [True]]) == 'a\n-1\n-0.5\n""\nTrue\n'


def test_an_exported_run_has_no_formula_in_params_and_their_names() -> None:
    plain = ("id", "name", "owner", "cluster", "vc", "state", "reason", "submittedAt", "startedAt", "endedAt", "ranS")
    more = ("gpuHours", "cost", "peakMemoryBytes", "gpuPercent", "energyJ", "package", "commit", "trackingUrl")
    said = {"params": {"=1+1": "=1+2", "lr": -0.5}, "metrics": {}, "environment": {}, "tags": {}}
    run = {**dict.fromkeys((*plain, *more)), **said}
    text = csv_text(*flattened([run]))
    assert text.splitlines()[1].endswith(",'=1+2,-0.5")
