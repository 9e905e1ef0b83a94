"""`muster.log` as a program in a task finds it: a file of its own, which needs nothing and fails nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.agent.system import processes
from muster.agent.tasks import metric_file, metric_writer
from muster.engine.stacks import script

_PROGRAM = """
import muster
muster.log(step=3, loss=0.5, acc=1)
muster.log(loss=float("nan"), time="x", **{"val/acc": True})
muster.log(10, nothing=None)
print("done")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / metric_file.MODULE).write_bytes(metric_file.module_archive())
    return tmp_path / "task"


def ran(program: str, folder: Path | None, **env: str) -> "subprocess.CompletedProcess[str]":
    task = {} if folder is None else metric_file.with_module({"MUSTER_TASK_DIR": str(folder)}, str(folder))
    given = {"PATH": os.environ["PATH"], **task, **env}
    # Without the packages of the tests: there, Muster is not installed.
    python = str(Path(sys.base_prefix) / "bin" / "python3")
    return subprocess.run([python, "-S", "-c", program], env=given, capture_output=True, text=True, check=False)


def lines(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "metrics").read_text().splitlines()]


def test_each_call_is_a_line_and_what_is_no_number_is_left_out_and_said_once(folder: Path) -> None:
    (folder / "metrics").touch()
    done = ran(_PROGRAM, folder)
    assert (done.returncode, done.stdout) == (0, "done\n")
    first, second = lines(folder)
    assert (first["step"], first["metrics"]) == (3, {"loss": 0.5, "acc": 1.0})
    assert (second["step"], sorted(second["metrics"])) == (4, ["loss", "val/acc"])
    assert [line.split(":")[1].split()[0] for line in done.stderr.splitlines()] == ["time", "nothing"]


def test_without_a_file_that_somebody_collects_the_lines_go_to_the_output(folder: Path) -> None:
    done = ran("import muster; muster.log(step=1, loss=0.5)", folder)
    assert done.stdout.startswith('muster.metrics {"step": 1, ')


def test_outside_of_a_task_nothing_is_written(folder: Path) -> None:
    done = ran("import muster; muster.log(step=1, loss=0.5)", None, PYTHONPATH=str(folder / metric_file.MODULE))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


_ODD_VALUES = """
import muster
class Tensor:
    def __float__(self):
        raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")
muster.log(step="x", lost=1)
muster.log(step=1, loss=0.5, huge=10**400, tensor=Tensor())
muster.log(step=2**53, loss=0.4)
muster.log(step=2, loss=0.3, **{"a\\nb": 1, "": 2, "n" * 251: 3})
"""


def test_what_has_no_place_in_the_history_takes_nothing_else_with_it_and_is_said(folder: Path) -> None:
    (folder / "metrics").touch()
    done = ran(_ODD_VALUES, folder)
    assert [(line["step"], line["metrics"]) for line in lines(folder)] == [(1, {"loss": 0.5}), (2, {"loss": 0.3})]
    said = [line.removeprefix("muster.log: ") for line in done.stderr.splitlines()]
    assert [words.split()[0] for words in said] == ["not", "huge", "tensor", "a", "'a\\nb'", "''", f"'{'n' * 50}'"]


_LONG_TRAINING = """
import muster, random, sys
writer = sys.modules["muster"]
writer._SPARING_FROM, writer._SPARED_EVERY_S, writer._MOST_BYTES = 2000, 3600.0, 8000
values = [100 + i % 7 for i in range(5000)]
values[3000], values[4000], values[4998] = 1, 1000, float("inf")
for step, value in enumerate(values):
    muster.log(step=step, loss=value, other=-step)
"""


def test_of_a_long_training_the_lowest_highest_and_last_values_are_kept_though_the_file_is_nearly_full(
    folder: Path,
) -> None:
    (folder / "metrics").touch()
    done = ran(_LONG_TRAINING, folder)
    assert "take 0 MiB: from now on" in done.stderr
    assert "no more are kept" not in done.stderr
    found = [(line["step"], name, value) for line in lines(folder) for name, value in line["metrics"].items()]
    assert [step for step, name, _ in found if name == "loss"][-3:] == [3000, 4000, 4999]
    assert {(3000, "loss", 1.0), (4000, "loss", 1000.0), (4999, "other", -4999.0)} <= set(found)


def test_a_file_that_cannot_be_written_stops_no_training(folder: Path) -> None:
    (folder / "metrics").symlink_to("/dev/full")
    done = ran(_PROGRAM, folder)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "not kept: " in done.stderr


def test_a_package_of_that_name_that_is_installed_comes_first(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "installed" / "muster"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("from muster.inner import name\n")
    (other / "inner.py").write_text("name = 'the installed one'\n")
    env = {"PYTHONPATH": f"{folder / metric_file.MODULE}:{other.parent}"}
    assert ran("import muster; print(muster.name)", folder, **env).stdout == "the installed one\n"


def test_the_path_that_a_job_sets_stays_in_front() -> None:
    assert metric_file.with_module({"PYTHONPATH": "/own"}, "/task")["PYTHONPATH"] == "/own:/task/muster.zip"
    assert metric_file.with_module({}, "/task")["PYTHONPATH"] == "/task/muster.zip"


def test_the_program_need_not_be_able_to_list_the_folder_of_its_task(folder: Path) -> None:
    """As under an account of its own. Python finds no module in a folder that it cannot list."""
    (folder / "metrics").touch()
    folder.chmod(0o311)
    as_another = [] if os.geteuid() else ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
    given = metric_file.with_module({"MUSTER_TASK_DIR": str(folder), "PATH": os.environ["PATH"]}, str(folder))
    python = str(Path(sys.base_prefix) / "bin" / "python3")
    program = "import os, muster; print(muster.__file__, os.access(os.environ['MUSTER_TASK_DIR'], os.R_OK))"
    done = subprocess.run(
        [*as_another, python, "-S", "-c", program], env=given, capture_output=True, text=True, check=False
    )
    folder.chmod(0o700)
    assert done.stdout == f"{folder / metric_file.MODULE}/muster.py False\n", done.stderr


_ALLOWING = """
import ctypes, os, signal, muster
muster.allow_stacks()
muster.allow_stacks()
def where():
    (name,) = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_file(fd)}
    return name.partition(" ")[0].rpartition("-")[2] == str(os.getpid())
def _is_file(fd):
    try:
        return "muster-stacks" in os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return False
print(where(), flush=True)
child = os.fork()
if child == 0:
    print(where(), flush=True)
    os.kill(os.getpid(), 50)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if hasattr(os, "waitstatus_to_exitcode") else 7)
"""


def test_whoever_allows_stacks_survives_the_signal_and_so_do_its_forks_each_with_a_file_of_its_own(
    folder: Path,
) -> None:
    done = ran(_ALLOWING, folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\nTrue\n7\n", "")


def test_outside_of_a_task_nobody_is_allowed_to_ask(folder: Path) -> None:
    program = "import muster; muster.allow_stacks(); print(open('/proc/self/status').read())"
    done = ran(program, None, PYTHONPATH=str(folder / metric_file.MODULE))
    mask = next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("SigCgt"))
    assert not int(mask, 16) >> 49 & 1


def test_the_server_asks_for_stacks_by_the_signal_and_the_file_that_the_task_knows() -> None:
    assert (script.SIGNAL, script.FILE) == (metric_writer.STACKS_SIGNAL, metric_writer.STACKS_FILE)
    assert script.EXEC_MARK == processes.EXEC_MARK
