"""What goes along with a script: the folder from which it is submitted, and never a home."""

from pathlib import Path

import pytest

from muster.client.errors import MusterError
from muster.client.job_files import FoundJobs, JobFile, jobs_in
from muster.client.submitting import Changes

pytestmark = pytest.mark.fast
WRITTEN = "files that the script writes stay on the node"
SCRIPT = "#!/bin/bash\n#SBATCH -n1\ntrue\n"


def about_folders(found: FoundJobs) -> list[str]:
    """The warnings but for the one that every script has."""
    return [one for one in found.warnings if WRITTEN not in one]


def test_folder_from_which_a_script_is_submitted_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    found = jobs_in([JobFile("scripts/train.v2.sbatch", SCRIPT, Path("scripts"))], Changes())

    (submission,) = found.submissions
    assert submission.folder == tmp_path
    assert submission.body["set"] == {"name": "train"}
    assert about_folders(found) == []


def test_home_is_never_sent_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    found = jobs_in([JobFile("train.sbatch", SCRIPT, Path())], Changes())

    assert found.submissions[0].folder is None
    (said,) = about_folders(found)
    assert "your home folder is not sent" in said


def test_folder_that_is_named_is_sent_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    found = jobs_in([JobFile("train.sbatch", SCRIPT, Path())], Changes({"package": "code"}))

    assert found.submissions[0].folder == tmp_path / "code"
    assert about_folders(found) == []


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("--array=0-2", ["j-0", "j-1", "j-2"]),
        ("-a 1,5", ["j-1", "j-5"]),
        ("--array 0-10:5", ["j-0", "j-5", "j-10"]),
        ("--arr=3", ["j-3"]),
    ],
)
def test_array_is_a_job_for_each_element(option: str, names: list[str]) -> None:
    script = f"#!/bin/sh\n#SBATCH -J j {option}\ntrue\n"

    found = jobs_in([JobFile("x.sbatch", script, Path())], Changes())

    assert [one.body["set"]["name"] for one in found.submissions] == names
    assert all("after" not in one.body["set"] for one in found.submissions)


def test_limit_of_an_array_makes_each_wait_for_the_one_that_many_places_before() -> None:
    script = "#!/bin/sh\n#SBATCH -J j --array=0-3%2\ntrue\n"

    found = jobs_in([JobFile("x.sbatch", script, Path())], Changes())

    waits = [one.body["set"].get("after") for one in found.submissions]
    assert waits == [None, None, [{"job": "j-0", "on": "ended"}], [{"job": "j-1", "on": "ended"}]]


def test_array_that_is_too_long_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(MusterError, match="has more than 1000 elements"):
        jobs_in([JobFile("x.sbatch", "#!/bin/sh\n#SBATCH --array=0-99999\n", Path())], Changes())


def test_text_with_three_dashes_in_a_script_is_one_job() -> None:
    script = "#!/bin/sh\ncat <<END\n---\nEND\n---\n"

    assert len(jobs_in([JobFile("x.sh", script, Path())], Changes()).submissions) == 1
