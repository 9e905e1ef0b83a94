"""`muster report`: the table, CSV that no spreadsheet executes, and a picture that every browser reads."""

import csv
import io
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from muster.cli.tables.report_columns import report_csv, report_lines
from muster.pictures.report_picture import draw_report, height_of
from tests.unit.cli.calling import muster
from tests.unit.client.tiny_server import Answer, TinyServer

pytestmark = pytest.mark.fast
SVG = "{http://www.w3.org/2000/svg}"


def a_line(group: str, **known: Any) -> dict[str, Any]:
    return {
        "group": group,
        "jobs": 12,
        "gpuHours": 0.1 + 0.2,
        "idleGpuHours": 0.0,
        "unmeasuredGpuHours": 0.0,
        "gpuPercent": 30.7,
        "cpuHours": 1234.5,
        "usedCpuHours": 12.25,
        "medianWaitS": 125.0,
        "p95WaitS": 7200.0,
        "failures": {"platform": 1, "user": 2},
        **known,
    }


def a_report(*lines: dict[str, Any]) -> dict[str, Any]:
    return {
        "since": "2026-01-01T00:00:00.000Z",
        "until": "2026-01-31T00:00:00.000Z",
        "by": "user",
        "idleBelow": 10.0,
        "onlyOwn": False,
        "items": list(lines),
        "total": a_line(""),
    }


IDLE = a_line("bo", gpuHours=0.0, gpuPercent=None, medianWaitS=None, p95WaitS=None, failures={})


def test_the_table_has_a_total_and_short_numbers() -> None:
    assert report_lines(a_report(a_line("li"), IDLE)) == [
        "USER   JOBS  GPU HOURS   GPU  IDLE  CPU HOURS   WAIT  WAIT P95  FAILED",
        "li       12        0.3  31 %     0       1234  2m 5s        2h  platform=1 user=2",
        "bo       12          0     -     0       1234      -         -  -",
        "total    12        0.3  31 %     0       1234  2m 5s        2h  platform=1 user=2",
    ]


def test_csv_has_numbers_without_units_and_one_column_for_each_cause() -> None:
    rows = list(csv.DictReader(io.StringIO(report_csv(a_report(a_line("li", gpuHours=2.5), IDLE)))))
    assert (rows[0]["user"], rows[0]["gpu_hours"], rows[0]["median_wait_s"]) == ("li", "2.5", "125.0")
    assert (rows[0]["failed_user"], rows[0]["failed_limit"], rows[1]["gpu_percent"]) == ("2", "0", "")


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1+1", "-1-1", "@SUM(A1)", "\t=1", "\r=1", " =1"])
def test_csv_has_no_cell_that_a_spreadsheet_executes(name: str) -> None:
    (row,) = csv.DictReader(io.StringIO(report_csv(a_report(a_line(name)))))
    assert row["user"] == "'" + name.replace("\t", " ").replace("\r", " ")


@pytest.mark.parametrize("lines", [(), (IDLE,), (a_line("<b>&\x01\"'", gpuHours=3.0, idleGpuHours=1.0), IDLE)])
def test_the_picture_is_well_formed_and_as_high_as_it_says(lines: tuple[dict[str, Any], ...]) -> None:
    report = a_report(*lines)
    picture = ET.fromstring(draw_report(report))
    assert picture.attrib["height"] == str(height_of(report))
    assert "prefers-color-scheme: dark" in "".join(style.text or "" for style in picture.iter(f"{SVG}style"))


def test_the_picture_shows_thirty_groups_and_says_how_many_are_left_out() -> None:
    picture = ET.fromstring(draw_report(a_report(*(a_line(f"user{i}") for i in range(35)))))
    words = [text.text or "" for text in picture.iter(f"{SVG}text")]
    assert "user29" in words
    assert "user30" not in words
    assert any("5 more groups are left out" in text for text in words)


def test_the_picture_is_the_same_for_the_same_report() -> None:
    assert draw_report(a_report(a_line("li"))) == draw_report(a_report(a_line("li")))


def test_files_are_written_where_they_were_asked_for(server: TinyServer, tmp_path: Path) -> None:
    server.on("GET", "/report", Answer(200, a_report(a_line("li"))))
    sheet, picture = tmp_path / "r.csv", tmp_path / "r.svg"
    outcome = muster(server, "report", "--since", "7d", "--by", "vc", "-o", str(sheet), "--picture", str(picture))
    assert outcome.code == 0
    assert sheet.read_text().startswith("since,until,user,jobs,gpu_hours,")
    assert picture.read_text().startswith("<svg ")
    (asked,) = server.requests("GET", "/report")
    assert (asked.query["by"], asked.query["since"]) == (["vc"], ["7d"])


@pytest.mark.parametrize("words", [("-o", "xlsx"), ("--picture", "r.jpg"), ("--by", "team"), ("--idle-below", "101")])
def test_wrong_usage_is_said_before_the_server_is_asked(words: tuple[str, ...]) -> None:
    assert muster(None, "report", *words).code == 2
