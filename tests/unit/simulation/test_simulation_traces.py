import gzip
import io
from pathlib import Path

import pytest

from muster.domain.errors import Invalid
from muster.simulation.options import NodeGroup
from muster.simulation.records import TraceJob
from muster.simulation.tables import REPORTED
from muster.simulation.traces import read_nodes, read_quota, read_trace, write_trace
from tests.parts.traces import foreign_trace

pytestmark = pytest.mark.fast


def a_file(folder: Path, text: str) -> Path:
    path = folder / "trace.csv"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> Invalid:
    with pytest.raises(Invalid) as caught:
        read_trace(path)
    return caught.value


def test_four_columns_in_any_order_are_enough(tmp_path: Path) -> None:
    path = a_file(tmp_path, "gpus,job_id,duration_s,submit_s\n4,a,60,0\n")

    assert read_trace(path) == [TraceJob("a", 0, 60, 4)]


def test_every_known_column_is_used_and_others_are_not(tmp_path: Path) -> None:
    path = a_file(
        tmp_path,
        "job_id,user,vc,submit_s,duration_s,gpus,gpu_type,cpus,mem,limit_s,status\n"
        "a,amy,vision,1.5,60,0.5,V100,4,1024,3600,Pass\n",
    )

    assert read_trace(path) == [TraceJob("a", 1.5, 60, 0.5, "amy", "vision", "V100", 4, 1024, 3600)]


def test_jobs_come_by_submission_then_by_id(tmp_path: Path) -> None:
    path = a_file(tmp_path, "job_id,submit_s,duration_s,gpus\nc,5,1,1\nb,0,1,0\na,5,1,1\n")

    assert [job.job_id for job in read_trace(path)] == ["b", "a", "c"]


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(gzip.compress(b"job_id,submit_s,duration_s,gpus\na,0,60,1\n"))

    assert len(read_trace(path)) == 1


def test_every_wrong_row_is_named_by_its_line(tmp_path: Path) -> None:
    path = a_file(tmp_path, "job_id,submit_s,duration_s,gpus\na,0,x,1\nb,0,1,1\n,-1,1,\nb,0,nan,1\nc,1,1,1,1\n")

    error = refusal(path)

    assert "4 wrong rows" in error.message
    assert [str(problem) for problem in error.problems] == [
        "line 2: duration_s: 'x' is not a number of at least 0",
        "line 4: job_id: is empty",
        "line 4: submit_s: '-1' is not a number of at least 0",
        "line 4: gpus: is empty",
        "line 5: job_id: 'b' is on line 3 already",
        "line 5: duration_s: 'nan' is not a number of at least 0",
        "line 6: 5 values, but the header names 4",
    ]


def test_of_many_wrong_rows_the_first_are_shown(tmp_path: Path) -> None:
    path = a_file(tmp_path, "job_id,submit_s,duration_s,gpus\n" + "".join(f"{n},0,x,1\n" for n in range(50)))

    error = refusal(path)

    assert "50 wrong rows; the first 20" in error.message
    assert len(error.problems) == REPORTED


def test_a_missing_column_is_guessed(tmp_path: Path) -> None:
    error = refusal(a_file(tmp_path, "job_id,submit_s,duration,gpus\na,0,1,1\n"))

    assert "lacks the column duration_s" in error.message
    assert "is 'duration' meant to be 'duration_s'?" in error.hint


@pytest.mark.parametrize("content", [b"", b"\x1f\x8bbroken", b"\xff\xfe\x00"])
def test_what_is_no_csv_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(content)

    assert str(path) in refusal(path).message


def test_a_written_trace_is_read_back(tmp_path: Path) -> None:
    jobs = [TraceJob("a", 0, 60, 0.5, "amy", "vision", "V100", 4, 1024, 3600), TraceJob("b", 1.25, 1, 8)]
    text = io.StringIO()

    write_trace(jobs, text)

    assert read_trace(a_file(tmp_path, text.getvalue())) == jobs
    assert text.getvalue().splitlines()[2] == "b,,,1.25,1,8,,,,"


def test_nodes_that_are_alike_make_a_group(tmp_path: Path) -> None:
    path = a_file(tmp_path, "node,gpus,gpu_type,cpus,mem_mib\na,8,V100,96,1024\nb,0,,32,\nc,8,V100,96,1024\n")

    assert read_nodes(path) == [NodeGroup(2, 8, "V100", "", 96, 1024), NodeGroup(1, 0, "", "", 32)]


@pytest.mark.parametrize("column", ["nodes", "nodes_of_8_gpus"])
def test_quotas_are_nodes_by_virtual_cluster(tmp_path: Path, column: str) -> None:
    path = a_file(tmp_path, f"vc,{column}\nvision,3\nspeech,1\n")

    assert read_quota(path, [NodeGroup(4, 8)]) == {"vision": 3, "speech": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vc,nodes_of_4_gpus\na,1\n", "counts nodes of 4 GPUs, but --nodes has others"),
        ("vc,nodes\na,1\na,2\n", "names a more than once"),
        ("vc,nodes\na,1.5\n", "1 wrong row"),
        ("vc,quota\na,1\n", "1 wrong row"),
    ],
)
def test_a_wrong_quota_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        read_quota(a_file(tmp_path, text), [NodeGroup(4, 8)])


@pytest.mark.parametrize(
    ("name", "jobs"), [("muri_trace3.csv.gz", 992), ("tiresias60.csv.gz", 60), ("openb2023_default.csv.gz", 8152)]
)
def test_traces_of_others_are_read_whole(name: str, jobs: int) -> None:
    assert len(read_trace(foreign_trace(name))) == jobs
