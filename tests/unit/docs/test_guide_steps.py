"""What a page tells its reader to do, as the tests of the guides read it."""

import pytest

from tests.guides.steps import Command, File, NotRun, Setup, Until, read_steps

pytestmark = pytest.mark.fast


def test_commands_have_what_is_shown_below_them() -> None:
    page = "Text.\n```console\n$ muster get jobs   # all\nNAME\nmnist\n$ muster kill mnist\n```\n"

    assert read_steps(page) == [
        Command(2, "muster get jobs   # all", ("NAME", "mnist"), 3, 5),
        Command(5, "muster kill mnist"),
    ]


def test_a_command_may_take_several_lines() -> None:
    page = "```console\n$ echo a \\\n    b\na b\n$ cat <<'END'\n$ x\nEND\n$ x\n```\n"

    assert [step.text for step in read_steps(page) if isinstance(step, Command)] == [
        "echo a \\\n    b",
        "cat <<'END'\n$ x\nEND",
        "x",
    ]


def test_files_are_those_that_say_their_name() -> None:
    blocks = ("# job.yaml\nname: x", "name: y", "# clusters.d/lab.yaml in its home\nname: lab")
    page = "".join(f"```yaml\n{block}\n```\n" for block in blocks)

    assert [step.path for step in read_steps(page) if isinstance(step, File)] == ["job.yaml", "clusters.d/lab.yaml"]


def test_comments_set_up_and_leave_out() -> None:
    page = (
        "<!-- setup: server gpus=2xT4 -->\n<!-- file: a.txt\none\ntwo\n-->\n<!-- run: muster get jobs -->\n"
        "<!-- until: true -->\n<!-- a remark -->\n<!-- not run: it reboots -->\n```console\n$ reboot\n```\n"
    )

    assert read_steps(page) == [
        Setup(("server", "gpus=2xT4")),
        File("a.txt", "one\ntwo\n"),
        Command(5, "muster get jobs", hidden=True),
        Until(6, "true"),
        NotRun(8, "it reboots"),
    ]


def test_a_program_prints_the_text_below_it() -> None:
    page = "```python\nprint(1)\n```\n\nIt prints:\n\n```text\n1\n```\n"

    assert read_steps(page) == [Command(1, "print(1)\n", ("1",), 7, 8, language="python")]
