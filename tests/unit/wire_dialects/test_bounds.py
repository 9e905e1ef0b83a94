"""A small file never becomes a huge text: what would is refused while it is translated."""

import json

import pytest

from muster.domain.errors import Invalid
from muster.wire.documents import read_document
from tests.unit.wire_dialects.reading import problems, translated

pytestmark = pytest.mark.fast
MANY = 100_000
"""Far more ports than a task may have, and few enough for a test that fails."""
SMALL = 64 << 10
OPENPAI = """\
protocolVersion: 2
name: demo
type: job
taskRoles:
  worker:
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0, ports: {%s}}
    commands: [echo hello]
"""
PROTOCOL_1 = {
    "jobName": "demo",
    "image": "repo/train:1",
    "taskRoles": [{"name": "worker", "command": "true", "portList": [{"label": "a", "portNumber": MANY}]}],
}


@pytest.mark.parametrize("ports", [f"a: {MANY}", "a: 40, b: 40", f"http: {MANY}"])
def test_more_ports_than_a_task_may_have_are_refused_before_any_is_named(ports: str) -> None:
    text = OPENPAI % ports
    assert len(str(translated(text).data)) < SMALL
    assert any("more than 64 ports" in problem for problem in problems(text))


def test_more_ports_than_a_task_may_have_are_refused_in_protocol_1() -> None:
    text = json.dumps(PROTOCOL_1)
    assert len(str(translated(text).data)) < SMALL
    assert any("more than 64 ports" in problem for problem in problems(text))


def test_as_many_ports_as_a_task_may_have_are_taken() -> None:
    assert translated(OPENPAI % "a: 62").problems == []


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: demo}
spec:
  restartPolicy: Never
  containers:
    - name: main
      image: repo/train:1
      command: [echo, %s]
      env:
        - {name: V0, value: xx}
"""


def doubling(times: int, last: str) -> str:
    lines = [f"        - {{name: V{n}, value: $(V{n - 1})$(V{n - 1})}}\n" for n in range(1, times + 1)]
    return POD % last + "".join(lines)


@pytest.mark.parametrize("text", [doubling(24, "done"), doubling(18, "$(V18)" * 20)])
def test_variables_that_double_each_other_are_refused(text: str) -> None:
    with pytest.raises(Invalid, match="longer than 4 MiB") as refused:
        translated(text)
    assert refused.value.problems[0].line


def test_variables_that_refer_to_each_other_a_little_are_filled_in() -> None:
    translation = translated(doubling(3, "$(V3)"))
    assert translation.problems == []
    assert "x" * 16 in str(translation.data)


def commands(start: str, reference: str, times: int) -> str:
    line = " ".join([f"<% {reference} %>"] * times)
    return f"{start}{OPENPAI % ''}".replace("echo hello", f'"{line}"')


LONG = "y" * 50_000


@pytest.mark.parametrize(
    ("start", "reference"),
    [
        (f"parameters: {{a: {LONG}}}\n", "$parameters.a"),
        (f"parameters: {{a: {{b: {LONG}}}}}\n", "$parameters.a.b"),
        (f"parameters: {{a: [{LONG}, z]}}\n", "$parameters.a"),
    ],
)
def test_templates_that_repeat_a_long_text_are_refused(start: str, reference: str) -> None:
    with pytest.raises(Invalid, match="longer than 4 MiB"):
        translated(commands(start, reference, 200))
    assert translated(commands(start, reference, 3)).problems == []


def test_many_roles_of_which_each_is_told_of_all_are_refused() -> None:
    head, role = (OPENPAI % "").split("  worker:\n")
    with pytest.raises(Invalid, match="longer than 4 MiB"):
        translated(head + "".join(f"  worker{n}:\n{role}" for n in range(300)))


def test_aliases_that_repeat_a_long_text_are_refused_when_the_file_is_read() -> None:
    with pytest.raises(Invalid, match="aliases"):
        read_document(f"a: &a {LONG}\nb: [{', '.join(['*a'] * 50)}]\n")
    assert len(read_document(f"a: &a {LONG}\nb: [{', '.join(['*a'] * 5)}]\n").data["b"]) == 5
