"""The job of `muster notebook`."""

import shlex
import subprocess

import pytest

from muster.cli.notebook_job import NotebookOptions, notebook_spec

pytestmark = pytest.mark.fast


def test_only_what_was_asked_for_is_in_the_spec() -> None:
    spec = notebook_spec(NotebookOptions(name="nb", idle_s=90))
    assert spec["command"][-2:] == ["", "90"]
    assert (spec["ports"], spec["outputs"]) == (1, ["*.ipynb"])
    assert not {"resources", "runtime", "cluster", "timeLimit"} & set(spec)


def test_a_folder_of_the_node_is_an_argument_and_not_part_of_the_script() -> None:
    asked = NotebookOptions(name="nb", folder="/data; rm -rf /", gpu=1, runtime={"conda": "torch"}, cluster="lab")
    spec = notebook_spec(asked)
    assert spec["command"][-2] == "/data; rm -rf /"
    assert "rm -rf" not in spec["command"][2]
    assert (spec["resources"], spec["runtime"], spec["cluster"]) == ({"gpu": 1}, {"conda": "torch"}, "lab")
    assert "outputs" not in spec


def test_the_script_is_plain_sh() -> None:
    command = notebook_spec(NotebookOptions(name="nb"))["command"]
    assert command[:2] == ["sh", "-c"]
    subprocess.run(["sh", "-n", "-c", command[2]], check=True)
    assert shlex.split(command[2])
