"""Jobs in files with one document or several."""

from pathlib import Path

import pytest

from muster.client.errors import MusterError, Problem
from muster.client.job_files import FoundJobs, JobFile, jobs_in, located
from muster.client.submitting import Changes, read_text

pytestmark = pytest.mark.fast

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
PADDLE = "apiVersion: batch.paddlepaddle.org/v1\nkind: PaddleJob\nmetadata: {name: p}\n"


def found(*texts: str) -> FoundJobs:
    files = [JobFile(f"{place}.yaml", text, Path("/f")) for place, text in enumerate(texts)]
    return jobs_in(files, Changes({"hold": True}))


def sources(jobs: FoundJobs) -> list[tuple[str, str]]:
    return [(one.file, str(one.body["source"])) for one in jobs.submissions]


@pytest.mark.parametrize(
    "text", ["name: a\n", "---\nname: a\n", "# x\n---\nname: a\n---\n# nothing\n", "", '{"name": "a"}']
)
def test_a_file_with_one_document_is_sent_as_it_is(text: str) -> None:
    assert sources(found(text)) == [("0.yaml", text)]


def test_each_document_is_sent_alone_and_keeps_its_lines() -> None:
    text = "name: a\ncommand: |\n  echo ---\n--- # second\nname: b\n---\n\n--- {name: c}\n"
    jobs = sources(found(text, "name: d"))
    assert [name for name, _ in jobs] == ["0.yaml", "0.yaml", "0.yaml", "1.yaml"]
    assert [source.splitlines().index(line) for (_, source), line in zip(jobs, LINES, strict=True)] == [0, 4, 7, 0]
    assert all(one.body["set"] == {"hold": True} for one in found(text).submissions)


LINES = ("name: a", "name: b", "--- {name: c}", "name: d")


def test_objects_of_kubernetes_that_are_no_jobs_are_left_alone() -> None:
    jobs = found(f"name: a\n---\n{SERVICE}---\n{PADDLE}")
    assert [source.strip().splitlines()[0] for _, source in sources(jobs)] == ["name: a", "---"]
    assert jobs.warnings == ("0.yaml, line 2: Service (v1) is left alone: only jobs are submitted",)


def test_one_paddlejob_and_what_belongs_to_it_are_for_the_server_to_read() -> None:
    text = f"{SERVICE}---\n{PADDLE}"
    assert (sources(found(text)), found(text).warnings) == ([("0.yaml", text)], ())


@pytest.mark.parametrize("other", ["protocolVersion: 2\nname: pai\n", f"name: a\n---\n{PADDLE}"])
def test_a_program_beside_a_job_is_refused_whatever_the_job_is(other: str) -> None:
    deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: redis}\n"
    with pytest.raises(MusterError, match="a program beside the job") as caught:
        found(f"{other}---\n{deployment}")
    [problem] = caught.value.problems
    assert str(problem) == f"0.yaml, line {other.count(chr(10)) + 1}: is a Deployment"


def test_two_tasks_of_a_pipeline_with_one_name_are_told_so() -> None:
    with pytest.raises(MusterError, match="two tasks of the pipeline are called train"):
        found("name: train\nrun: ls\n---\nname: train\nrun: ls\n")


@pytest.mark.parametrize(
    ("written", "read"), [("name: a\r\nrun: ls\r\n", "name: a\nrun: ls\n"), ("#!/bin/sh\r\nls\r\n",) * 2]
)
def test_line_breaks_of_a_script_stay_as_they_are(tmp_path: Path, written: str, read: str) -> None:
    (tmp_path / "job").write_bytes(written.encode())
    assert read_text(tmp_path / "job") == read


def test_a_file_without_a_job_is_named() -> None:
    with pytest.raises(MusterError, match=r"0\.yaml has 2 documents, and no job among them"):
        found(f"{SERVICE}---\n{SERVICE}")


def test_a_repeated_name_is_told_with_both_files() -> None:
    jobs = found("name: sweep\n", "name: sweep\n").submissions
    told = Problem("jobs.1.name", "'sweep' is also in jobs.0", line=1)
    [problem] = located(MusterError("1 of 2 jobs is wrong", code="invalid", problems=[told]), jobs).problems
    assert str(problem) == "1.yaml, line 1: name: 'sweep' is also in 0.yaml"


def test_script_is_told_once_that_its_files_are_not_kept_unless_outputs_are_named(tmp_path: Path) -> None:
    array = JobFile("a.sbatch", "#!/bin/bash\n#SBATCH --array=0-2\ntrue\n", tmp_path)

    assert [one for one in jobs_in([array], Changes()).warnings if "name those to keep" in one] == [
        "a.sbatch: files that the script writes stay on the node for a while and are then removed; "
        "name those to keep: --set outputs=[results/]"
    ]
    assert not jobs_in([array], Changes({"outputs": ["results/"]})).warnings


def test_what_is_wrong_with_all_elements_of_an_array_is_told_once() -> None:
    script = "#!/bin/sh\n#SBATCH --array=1-3\n#SBATCH --deadline=now\ntrue\n"
    jobs = jobs_in([JobFile("many.sbatch", script, Path())], Changes()).submissions
    told = [Problem(f"jobs.{place}.--deadline", "is not done here", line=3) for place in range(3)]
    found = located(MusterError("3 of 3 jobs are wrong", code="invalid", problems=told), jobs).problems
    assert [(one.path, one.file, one.line) for one in found] == [("--deadline", "many.sbatch", 3)]
