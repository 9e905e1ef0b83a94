"""`muster import` on a real server."""

import json
from pathlib import Path

from tests.conformance.running import run_file, written
from tests.parts.server import MusterServer

SCRIPT = [
    "#!/bin/bash",
    "#SBATCH --job-name=imported --ntasks=2",
    "#SBATCH --mail-type=END",
    "srun -l cat data.txt | sort",
]


def test_printed_spec_is_submitted_and_does_the_same(muster_server: MusterServer, tmp_path: Path) -> None:
    written(tmp_path, "data.txt", "data\n")
    file = written(tmp_path, "train.sbatch", SCRIPT)

    shown = muster_server.run("import", str(file), cwd=tmp_path, check=True)
    job = written(tmp_path, "job.yaml", shown.stdout)

    assert "warning: line 3: --mail-type: has no effect" in shown.stderr
    assert "#   line 3: --mail-type: has no effect" in shown.stdout
    assert "name: imported  # line 2: --job-name" in shown.stdout
    assert "package: ." in shown.stdout
    logs = [run_file(muster_server, path).log for path in (file, job)]
    assert logs == ["0: data\n1: data\n"] * 2


def test_what_cannot_be_translated_is_an_error_with_its_line(muster_server: MusterServer, tmp_path: Path) -> None:
    file = written(tmp_path, "part.sbatch", ["#!/bin/bash", "#SBATCH --exclusive", "true"])

    shown = muster_server.run("import", str(file), cwd=tmp_path)

    assert (shown.returncode, shown.stdout) == (1, "")
    assert "line 2: --exclusive: Muster does not give a job whole nodes" in " ".join(shown.stderr.split())


def test_json_is_the_spec_alone_and_a_pipeline_has_one_for_each_task(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    file = written(tmp_path, "pipe.yaml", "name: pipe\n---\nname: a\nrun: echo a\n---\nrun: echo b\n")

    shown = muster_server.run("import", str(file), "-o", "json", cwd=tmp_path, check=True)

    first, second = json.loads(shown.stdout)["items"]
    assert (first["name"], second["name"]) == ("a", "pipe-1")
    assert second["after"] == [{"job": "a", "on": "succeeded"}]


def test_values_of_secrets_are_left_out_and_named(muster_server: MusterServer, tmp_path: Path) -> None:
    role = "{resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}, commands: ['echo <% $secrets.key %>']}"
    text = f"protocolVersion: 2\nname: sealed\ntype: job\nsecrets: {{key: open-sesame}}\ntaskRoles: {{w: {role}}}\n"
    file = written(tmp_path, "pai.yaml", text)

    shown = muster_server.run("import", str(file), cwd=tmp_path, check=True)
    name = shown.stderr.split("the value of the secret ")[1].split()[0]

    assert "open-sesame" not in shown.stdout + shown.stderr
    assert f"muster secret set {name}" in shown.stderr
    job = written(tmp_path, "job.yaml", shown.stdout)
    assert muster_server.run("submit", str(job), "--dry-run", cwd=tmp_path).returncode == 1, "nobody has stored it yet"
    muster_server.run("secret", "set", name, input="open-sesame", check=True)
    assert run_file(muster_server, job).log == "***********\n"
