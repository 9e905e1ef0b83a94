"""`muster submit` with several files and documents, against a real server."""

import json
from pathlib import Path

import pytest

from tests.e2e.test_cli_e2e import unique
from tests.parts.server import MusterServer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "say.sh").write_text("echo from the package: $1\n")
    return tmp_path


def test_files_and_documents_are_submitted_together_and_run_in_their_order(
    muster_server: MusterServer, folder: Path
) -> None:
    prep, train, report = unique("prep"), unique("train"), unique("report")
    (folder / "late.yaml").write_text(
        f"name: {report}\npackage: code\nafter: {train}\ncommand: sh say.sh three\n---\n"
        f"name: {train}\npackage: code\nafter: {prep}\ncommand: sh say.sh two\n"
    )
    early = f"name: {prep}\nparams: {{n: zero}}\ncommand: echo ${{params.n}}\n"
    done = muster_server.run("submit", str(folder / "late.yaml"), "-", "--follow", input=early)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "from the package: three\nfrom the package: two\nzero\n"
    jobs = {
        name: json.loads(muster_server.run("describe", name, "-o", "json").stdout) for name in (prep, train, report)
    }
    assert jobs[prep]["endedAt"] <= jobs[train]["startedAt"]
    assert jobs[train]["endedAt"] <= jobs[report]["startedAt"]


def test_all_problems_are_told_with_file_and_line_and_nothing_is_submitted(
    muster_server: MusterServer, folder: Path
) -> None:
    good, bad, missing = unique("good"), unique("bad"), unique("missing")
    (folder / "a.yaml").write_text(
        f"name: {good}\ncommand: 'true'\n---\nname: {bad}\ncommand: 'true'\npriority: huge\n"
    )
    (folder / "b.yaml").write_text(f"name: {missing}\ncommand: 'true'\npackage: nowhere\n")
    refused = muster_server.run("submit", str(folder / "a.yaml"), str(folder / "b.yaml"))
    assert refused.returncode == 1
    assert f"{folder}/a.yaml, line 6: priority: " in refused.stderr
    assert f"{folder}/b.yaml, line 3: package: {folder}/nowhere is not a folder" in refused.stderr
    assert muster_server.run("describe", good).returncode == 1


def test_output_waiting_and_dry_runs_of_several_jobs(muster_server: MusterServer, folder: Path) -> None:
    ends, fails = unique("ends"), unique("fails")
    (folder / "a.yaml").write_text(f"name: {ends}\ncommand: 'true'\n")
    (folder / "b.yaml").write_text(f"name: {fails}\ncommand: exit 3\n")
    files = [str(folder / "a.yaml"), str(folder / "b.yaml")]
    planned = muster_server.run("submit", *files, "--dry-run", check=True)
    assert planned.stdout.splitlines() == [ends, fails]
    waited = muster_server.run("submit", *files, "--wait", "-o", "json")
    assert waited.returncode == 1
    assert [job["state"] for job in json.loads(waited.stdout)["items"]] == ["Succeeded", "Failed"]
    again = muster_server.run("submit", *files, "--hold", check=True)
    assert again.stdout.splitlines() == [ends, fails]
    assert muster_server.run("submit", *files, "--name", "x").returncode == 2
