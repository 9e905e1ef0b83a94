"""Job files of other systems cost work in proportion to their length, whatever they contain.

Patterns do their work in one call, which cannot be counted. The texts here are as long as a file may be, so that a
pattern that takes quadratic time would take minutes.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.client.errors import MusterError
from muster.client.job_files import JobFile, jobs_in
from muster.client.submitting import Changes
from muster.domain.errors import Invalid
from muster.wire.dialects.detecting import translate
from muster.wire.dialects.scripts import script_document
from muster.wire.dialects.slurm.shell_text import shell_text
from muster.wire.dialects.streams import read_stream
from muster.wire.documents import Document, read_documents
from muster.wire.specs import read_source
from tests.security.work_counting import growth

pytestmark = pytest.mark.fast
LINEAR = 6.0
LONG = 900_000


def filling(text: str, end: str = "") -> str:
    return text * (LONG // len(text)) + end


def openpai(command: str) -> object:
    role = {"dockerImage": "i", "commands": [command], "resourcePerInstance": {"cpu": 1, "memoryMB": 1, "gpu": 0}}
    image = {"name": "i", "type": "dockerimage", "uri": "i"}
    job = {"protocolVersion": 2, "name": "a", "type": "job", "prerequisites": [image], "taskRoles": {"w": role}}
    return translate(Document(job))


def git_options(options: str) -> object:
    plugin = {"plugin": "git", "parameters": {"repo": "https://h/r", "options": options}}
    image = {"name": "i", "type": "dockerimage", "uri": "i"}
    role = {"dockerImage": "i", "commands": ["true"], "resourcePerInstance": {"cpu": 1, "memoryMB": 1, "gpu": 0}}
    job = {"protocolVersion": 2, "name": "a", "type": "job", "prerequisites": [image], "taskRoles": {"w": role}}
    return translate(Document({**job, "extras": {"com.microsoft.pai.runtimeplugin": [plugin]}}))


def pod(command: str) -> object:
    container = {"name": "c", "image": "i", "command": ["sh", "-c", command], "env": [{"name": "A", "value": command}]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return translate(Document({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}))


def mpijob(command: str) -> object:
    template = {"spec": {"containers": [{"name": "c", "image": "i", "command": ["sh", "-c", command]}]}}
    replicas = {role: {"replicas": 1, "template": template} for role in ("Launcher", "Worker")}
    job = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "a"}}
    return translate(Document({**job, "spec": {"mpiReplicaSpecs": replicas}}))


def dstack(command: str) -> object:
    return translate(Document({"type": "task", "name": "a", "commands": [command], "env": {"A": command}}))


def skypilot(command: str) -> object:
    return translate(Document({"name": "a", "run": command, "setup": command, "num_nodes": 2}))


def script(text: str) -> object:
    """A script may have 64 KiB."""
    return translate(script_document(f"#!/bin/bash\n{text[:65_000]}\n"))


def option(value: str) -> object:
    return script(f"#SBATCH {value}")


def duration(value: str) -> object:
    with pytest.raises(Invalid) as caught:
        read_source(json.dumps({"name": "a", "command": "true", "timeLimit": value[:100_000]}))
    return caught.value


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (openpai, filling("<% ")),
        (openpai, filling("<%")),
        (openpai, filling("<% $secrets.a")),
        (git_options, "x" * LONG),
        (git_options, "'" + filling("\\\\") + "'"),
        (pod, filling("$(")),
        (pod, filling("$$(")),
        (pod, filling("a-worker-")),
        (mpijob, filling("sshd -D", ";x")),
        (mpijob, filling("sshd -D ", ";;")),
        (dstack, filling("${{")),
        (dstack, filling("${{ secrets.a ")),
        (dstack, filling("mpirun#")),
        (skypilot, filling("mpirun#")),
        (skypilot, filling("conda ")),
        (script, filling("((")),
        (script, filling("$((")),
        (script, filling("$'\\'")),
        (script, filling("<<'")),
        (script, filling("<<A\n")),
        (script, filling("f() ")),
        (script, filling("srun\n")),
        (script, filling("srun --pty\n")),
        (script, filling("squeue;")),
        (script, filling("module load ")),
        (script, filling("for a in")),
        (script, filling("#SBATCH --nosuch\n")),
        (script, filling("#SBATCH -n1\n", "")),
        (script, "true\n" + filling("#SBATCH -n1\n")),
        (option, "--comment=" + "x" * LONG),
        (option, '--comment="' + filling("\\\\") + '"'),
        (option, "--gres=" + "(" * 4000 + ")" * 4000),
        (option, "--nodelist=" + "[" * 8000),
        (option, "--export=" + "," * 8000),
        (option, "--output=" + "%" * 8000),
        (duration, filling("1", "x")),
    ],
    ids=lambda value: value.__name__ if callable(value) else repr(value[:18]),
)
def test_a_hostile_text_costs_linear_work(read: Callable[[str], object], text: str) -> None:
    read(text)


def test_the_text_of_a_script_costs_linear_work() -> None:
    for part in ("((", "$((", "a(b ", "'a' ", '"a$(b)" ', "# a\n"):
        assert growth(lambda count, part=part: shell_text(part * count), 500) < LINEAR  # type: ignore[misc]


def test_a_stream_of_documents_costs_linear_work() -> None:
    """A hundred documents, each of them after very many empty lines."""
    text = "\n" * 500_000 + "\n".join(["---\nname: a\nrun: ls"] * 100)
    found = read_documents(text)
    assert found[-1].lines[("run",)] == len(text.splitlines())
    with pytest.raises(Invalid, match="100 jobs among them"):
        read_stream(text)


def test_a_file_of_very_many_documents_is_refused_before_it_is_sent() -> None:
    file = JobFile("a.yaml", "---\nname: a\nrun: ls\n" * 20_000, Path())
    with pytest.raises(MusterError, match="more than 1000 documents"):
        jobs_in([file], Changes())


def test_pods_that_a_command_calls_are_looked_for_at_once_in_all_roles() -> None:
    def volcano(count: int) -> object:
        container = {"name": "c", "image": "i", "command": ["sh", "-c", "demo-x-1 " * (20 * count)]}
        tasks = [{"name": f"t{n}", "template": {"spec": {"containers": [container]}}} for n in range(count)]
        job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "demo"}}
        return translate(
            Document({**job, "spec": {"tasks": [tasks[0], *({**one, "template": {}} for one in tasks[1:])]}})
        )

    assert growth(volcano, 100) < LINEAR
