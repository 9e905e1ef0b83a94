"""Secrets of a job file: filled in inside the task, whatever they contain, and nowhere else."""

import json
from pathlib import Path

import pytest

from muster.wire.specs import read_source
from tests.conformance.openpai.cases import finished

pytestmark = pytest.mark.fast
JOB = """\
protocolVersion: 2
name: pai-secrets
type: job
secrets: {{token: {value}, deep: {{list: [first, second]}}, none: ""}}
taskRoles:
  worker:
    resourcePerInstance: {{cpu: 1, memoryMB: 64, gpu: 0}}
    commands: {commands}
extras:
  com.microsoft.pai.runtimeplugin:
    - {{plugin: cmd, parameters: {{preCommands: ["cat > pre <<'END'\\n<% $secrets.token %>\\nEND"]}}}}
"""
AWKWARD = ["hunter2", 'it\'s "so" & more', "a & b && c", r"back\slash \& \\", "$HOME `id` $(id)", "a*b ? [c]", "ü 你好"]


@pytest.mark.parametrize("value", AWKWARD)
def test_a_value_is_filled_in_as_it_is(value: str, tmp_path: Path) -> None:
    commands = ["cat > own <<'END'\n<%$secrets.token%>\nEND", 'echo "<% $secrets.deep.list[1] %>[<% $secrets.none %>]"']
    reading = read_source(JOB.format(value=json.dumps(value), commands=json.dumps(commands)))

    ends = dict(finished(reading.spec, tmp_path, reading.secrets))

    assert ends["worker-0"].returncode == 0, ends["worker-0"].stderr
    assert ends["worker-0"].stdout == "second[]\n"
    assert (tmp_path / "worker-0" / "own").read_text() == f"{value}\n"
    assert (tmp_path / "worker-0" / "pre").read_text() == f"{value}\n"


def test_a_value_is_text_of_the_command_as_in_openpai(tmp_path: Path) -> None:
    commands = ["echo '<% $secrets.token %>' \"<% $secrets.token %>\" <% $secrets.token %>"]
    reading = read_source(JOB.format(value="two  words", commands=json.dumps(commands)))

    assert dict(finished(reading.spec, tmp_path, reading.secrets))["worker-0"].stdout == (
        "two  words two  words two words\n"
    )


def test_a_value_is_in_neither_the_spec_nor_arguments_nor_the_environment_of_commands(tmp_path: Path) -> None:
    commands = ["env", "tr '\\0' '\\n' < /proc/$$/cmdline", "grep -c 'hunter[2]' <(echo '<% $secrets.token %>')"]
    reading = read_source(JOB.format(value="hunter2", commands=json.dumps(commands)))

    said = dict(finished(reading.spec, tmp_path, reading.secrets))["worker-0"]

    assert said.returncode == 0, said.stderr
    assert said.stdout.endswith("\n1\n")
    assert "hunter2" not in said.stdout
    assert "hunter2" not in repr(reading)
    assert [use.env for use in reading.spec.secrets] == ["PAI_SECRET_1"]


def test_a_secret_that_nobody_refers_to_is_not_kept() -> None:
    text = JOB.format(value="hunter2", commands='["true"]')
    reading = read_source(text.replace("<% $secrets.token %>", "nothing"))

    assert reading.secrets == {}
    assert reading.spec.secrets == ()
