"""`srun` as a program of its own: what its tasks get, and whom its nodes obey."""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.wire.dialects.slurm import step_program
from tests.parts.server import polls

PROGRAM = Path(step_program.__file__)
ALLOCATION = {
    "SLURM_JOB_NODELIST": "127.0.0.1",
    "SLURM_JOB_ID": "7",
    "SLURM_CPUS_ON_NODE": "4",
    "SLURM_GPUS_ON_NODE": "4",
    "CUDA_VISIBLE_DEVICES": "4,5,6,7",
}


def environment(folder: Path, **more: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "MUSTER_"))}
    return {**plain, **ALLOCATION, "SLURM_MUSTER": str(folder), "SLURM_SUBMIT_DIR": str(folder), **more}


def srun(folder: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(PROGRAM), "srun", *words],
        env=environment(folder, **more),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_each_task_sees_only_the_gpus_that_it_asked_for(tmp_path: Path) -> None:
    ran = srun(tmp_path, "-n2", "--gpus-per-task=2", "-l", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")

    assert sorted(ran.stdout.splitlines()) == ["0: 4,5", "1: 6,7"], ran.stderr


def test_tasks_see_all_gpus_of_the_node_if_they_ask_for_none(tmp_path: Path) -> None:
    assert srun(tmp_path, "-n1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES").stdout == "4,5,6,7\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-n1", "--gres=gpu:9", "true"), "asks for 9 GPUs on a node, and the job has 4"),
        (("-N3", "true"), "asks for 3 nodes, and the job has 1"),
        (("-w", "elsewhere", "true"), "elsewhere is not among the nodes of the job"),
        (("--multi-prog", "x.conf"), "does not know the option --multi-prog"),
        (("--mpi=pmi2", "true"), "has no PMI"),
        (("-n2",), "no command was given"),
        (("-n5", "true"), "srun: error: More processors requested than permitted"),
        (("-n2", "-c3", "true"), "srun: error: More processors requested than permitted"),
        (("--time=soon", "-n1", "true"), "Invalid --time specification: soon"),
    ],
)
def test_step_that_cannot_be_is_refused_with_words(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    ran = srun(tmp_path, *words)

    assert ran.returncode != 0
    assert said in ran.stderr


def test_output_of_a_step_goes_to_files_by_task(tmp_path: Path) -> None:
    srun(tmp_path, "-n2", "-o", "out-%j-%t.txt", "sh", "-c", "echo $SLURM_PROCID")

    assert {path.name: path.read_text() for path in tmp_path.glob("out-*")} == {
        "out-7-0.txt": "0\n",
        "out-7-1.txt": "1\n",
    }


def test_export_none_gives_tasks_no_variables_of_the_script(tmp_path: Path) -> None:
    ran = srun(tmp_path, "--export=NONE,B=two", "-n1", "sh", "-c", 'echo "${A-none} $B $SLURM_PROCID"', A="one")

    assert ran.stdout == "none two 0\n"


def test_step_may_have_more_tasks_than_cpus_if_it_says_so(tmp_path: Path) -> None:
    assert srun(tmp_path, "-n5", "-O", "echo", "one").stdout == "one\n" * 5
    assert srun(tmp_path, "-n5", "echo", "one", SLURM_OVERCOMMIT="1").stdout == "one\n" * 5


def test_step_ends_at_its_time_limit(tmp_path: Path) -> None:
    ran = srun(tmp_path, "-n1", "--time=0:01", "sleep", "600")

    assert ran.returncode == 128 + 15
    assert "srun: error: the step has reached its time limit" in ran.stderr


def test_options_without_effect_are_told(tmp_path: Path) -> None:
    ran = srun(tmp_path, "-n1", "--mem=4G", "-m", "cyclic", "echo", "ran")

    assert ran.stdout == "ran\n"
    assert ran.stderr.splitlines() == [
        "srun: warning: --mem has no effect here",
        "srun: warning: --distribution has no effect here",
    ]
    assert srun(tmp_path, "-n1", "--mem=0", "--distribution=block", "true").stderr == ""


def test_lines_of_different_tasks_are_not_mixed(tmp_path: Path) -> None:
    """Each task writes half a line, and the other half when the others have done so, too."""
    program = "printf a; touch $SLURM_PROCID; while ! [ -e 0 -a -e 1 -a -e 2 ]; do sleep 0.02; done; echo b; printf end"
    ran = srun(tmp_path, "-n3", "sh", "-c", program)

    assert ran.stdout.replace("end", "") == "ab\n" * 3
    assert ran.stdout.count("end") == 3


def test_beginning_of_a_line_is_shown_before_its_end_comes(tmp_path: Path) -> None:
    program = "printf half; while ! [ -e seen ]; do sleep 0.02; done"
    reading, writing = os.pipe()
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), "srun", "-i", "none", "-n2", "sh", "-c", program],
        env=environment(tmp_path),
        cwd=tmp_path,
        stdout=writing,
    ) as step:
        os.close(writing)
        assert os.read(reading, 4) == b"half"
        (tmp_path / "seen").touch()
        assert step.wait(60) == 0
    os.close(reading)


@pytest.mark.parametrize("label", [(), ("--label",)])
def test_step_goes_on_when_nobody_reads_its_output_any_more(tmp_path: Path, label: tuple[str, ...]) -> None:
    """As in `srun … | head -n 1`."""
    read, write = os.pipe()
    command = [sys.executable, str(PROGRAM), "srun", "-n2", *label, "sh", "-c", "seq 100000; touch ended.$SLURM_PROCID"]
    step = subprocess.Popen(command, env=environment(tmp_path), cwd=tmp_path, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    os.read(read, 1)
    os.close(read)
    said = step.communicate(timeout=120)[1]

    assert (step.returncode, said) == (0, b"")
    assert {path.name for path in tmp_path.glob("ended.*")} == {"ended.0", "ended.1"}


def test_step_goes_on_when_its_output_cannot_be_written(tmp_path: Path) -> None:
    ran = srun(tmp_path, "-n2", "-o", "/dev/full", "sh", "-c", "seq 100000; touch ended.$SLURM_PROCID")

    assert ran.returncode == 0
    assert ran.stderr == "srun: error: /dev/full cannot be written: No space left on device\n"
    assert {path.name for path in tmp_path.glob("ended.*")} == {"ended.0", "ended.1"}


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_first_host_name_may_be_taken_alone(tmp_path: Path, unbuffered: str) -> None:
    """As in `MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)`, also with `set -o pipefail`."""
    more = {"SLURM_JOB_NODELIST": "n[1-2000]", "PYTHONUNBUFFERED": unbuffered}
    shell = f"set -o pipefail; {sys.executable} {PROGRAM} scontrol show hostnames | head -n 1"
    done = subprocess.run(
        ["bash", "-c", shell],
        env=environment(tmp_path, **more),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "n1\n", "")


def test_functions_that_the_script_exports_reach_the_tasks(tmp_path: Path) -> None:
    ran = srun(tmp_path, "-n1", "bash", "-c", "greet you", **{"BASH_FUNC_greet%%": "() { echo hello $1; }"})

    assert ran.stdout == "hello you\n"


@contextmanager
def serving(folder: Path, key: str) -> Iterator[dict[str, str]]:
    """A second node of a job, on this machine. Gives the variables of the first one."""
    secret = folder / "secrets"
    secret.mkdir()
    (secret / "srun-key").write_text(key)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    variables = {
        "MUSTER_SECRETS": str(secret),
        "SLURM_MUSTER_KEY": "srun-key",
        "MUSTER_PORT_0": str(port),
        "MUSTER_ENDPOINTS_WORKER": f"127.0.0.1:1,127.0.0.1:{port}",
        "SLURM_JOB_NODELIST": "first,second",
    }
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), "serve"], env=environment(folder, **variables), cwd=folder
    )
    try:
        for _ in polls(30):
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield variables
    finally:
        process.kill()
        process.wait()


def test_other_node_starts_what_comes_with_the_key_and_ends_when_it_is_told(tmp_path: Path) -> None:
    with serving(tmp_path, secrets.token_hex(16)) as variables:
        ran = srun(tmp_path, "-w", "second", "-n1", "sh", "-c", "echo on $SLURMD_NODENAME; exit 3", **variables)
        assert (ran.returncode, ran.stdout) == (3, "on second\n"), ran.stderr

        ended = subprocess.run(
            [sys.executable, str(PROGRAM), "end"], env=environment(tmp_path, **variables), check=False
        )
        assert ended.returncode == 0


def test_other_node_does_nothing_for_somebody_without_the_key(tmp_path: Path) -> None:
    with serving(tmp_path, secrets.token_hex(16)) as variables:
        other = tmp_path / "other"
        other.mkdir()
        (other / "srun-key").write_text(secrets.token_hex(16))
        wrong = {**variables, "MUSTER_SECRETS": str(other)}

        ran = srun(tmp_path, "-w", "second", "-n1", "touch", str(tmp_path / "touched"), **wrong)
        right = srun(tmp_path, "-w", "second", "-n1", "echo", "still there", **variables)

    assert ran.returncode != 0
    assert not (tmp_path / "touched").exists()
    assert right.stdout == "still there\n", "and it goes on"


def test_tasks_on_the_other_node_end_with_their_step(tmp_path: Path) -> None:
    with serving(tmp_path, secrets.token_hex(16)) as variables:
        command = [sys.executable, str(PROGRAM), "srun", "-w", "second", "-n1", "sh", "-c", "echo $$; exec sleep 600"]
        with subprocess.Popen(
            command, env=environment(tmp_path, **variables), cwd=tmp_path, stdout=subprocess.PIPE, text=True
        ) as step:
            assert step.stdout is not None
            pid = int(step.stdout.readline())
            step.kill()
        gone_by = time.monotonic() + 60
        while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
            assert time.monotonic() < gone_by
            time.sleep(0.05)
