"""Batch scripts on a real server: what they find, what they start, and how they end."""

import secrets
from pathlib import Path

import pytest

from tests.conformance.running import refused, run_file, written
from tests.parts.server import MusterServer

ONE_MACHINE = ("--set", "where.spread=pack", "--set", "resources.cpu=0.25")
"""Several nodes of the job on the one machine that a test has."""


def script(folder: Path, name: str, *lines: str) -> Path:
    return written(folder, f"{name}.sbatch", ["#!/bin/bash", *lines])


@pytest.fixture
def key(muster_server: MusterServer) -> None:
    muster_server.run("secret", "set", "srun-key", input=secrets.token_hex(32), check=True)


def test_script_runs_once_in_the_folder_from_which_it_was_submitted(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("print('trained')\n")
    lines = ('test "$PWD" = "$SLURM_SUBMIT_DIR" && python3 train.py', 'echo "name $SLURM_JOB_NAME"', "basename $0")

    ran = run_file(muster_server, script(tmp_path, "once", *lines))

    assert ran.state == "Succeeded"
    assert ran.log.splitlines() == ["trained", "name once", "slurm_script"], "Slurm names a job after its file, too"


def test_script_finds_itself_in_its_environment(muster_server: MusterServer, tmp_path: Path) -> None:
    names = ("SLURM_NTASKS", "SLURM_CPUS_PER_TASK", "SLURM_NNODES", "SLURM_PROCID", "SLURM_JOB_NODELIST", "SLURM_GPUS")
    lines = [f'echo "{name}=${{{name}-absent}}"' for name in names]
    file = script(tmp_path, "finds", "#SBATCH -J finds -n 2 -c 1 --mem=64", *lines, 'test "$SLURM_JOB_ID" -gt 0')

    ran = run_file(muster_server, file)

    assert ran.state == "Succeeded"
    assert ran.log.splitlines() == [
        "SLURM_NTASKS=2",
        "SLURM_CPUS_PER_TASK=1",
        "SLURM_NNODES=1",
        "SLURM_PROCID=0",
        "SLURM_JOB_NODELIST=127.0.0.1",
        "SLURM_GPUS=absent",
    ]


def test_variable_of_an_option_that_was_not_given_is_not_set(muster_server: MusterServer, tmp_path: Path) -> None:
    ran = run_file(muster_server, script(tmp_path, "unset", 'echo "${SLURM_NTASKS-none} ${SLURM_CPUS_PER_TASK-none}"'))

    assert ran.log == "none none\n"


def test_srun_starts_the_tasks_of_a_step_with_their_ranks(muster_server: MusterServer, tmp_path: Path) -> None:
    lines = (
        "#SBATCH --ntasks-per-node=2",
        "echo before",
        "srun -l bash -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS local $SLURM_LOCALID on $SLURM_NODEID'",
        "srun -n1 bash -c 'echo alone $SLURM_NTASKS step $SLURM_STEP_ID'",
        "printf 'a\\nb\\n' | srun -n2 wc -l",
    )

    ran = run_file(muster_server, script(tmp_path, "steps", *lines))

    assert ran.state == "Succeeded", ran.log
    first, *ranks, alone, given, also_given = ran.log.splitlines()
    assert (first, alone, given.strip(), also_given.strip()) == ("before", "alone 1 step 1", "2", "2")
    assert sorted(ranks) == ["0: rank 0 of 2 local 0 on 0", "1: rank 1 of 2 local 1 on 0"]


def test_login_shell_finds_srun_although_it_sets_path_anew(muster_server: MusterServer, tmp_path: Path) -> None:
    file = written(tmp_path, "login.sbatch", ["#!/bin/bash -l", "srun echo found", "scontrol show hostnames"])

    assert run_file(muster_server, file).log == "found\n127.0.0.1\n"


def test_steps_of_one_job_wait_for_each_other_when_its_cpus_are_taken(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    """Each step says that it runs by a file, and fails if the other one does at the same time."""
    step = "srun -n1 --exact sh -c 'mkdir running || exit 9; sleep 0.3; rmdir running'"
    ran = run_file(
        muster_server, script(tmp_path, "packed", f"{step} & first=$!", step, "a=$?; wait $first; exit $((a + $?))")
    )

    assert ran.state == "Succeeded", ran.log


def test_exit_code_of_a_step_is_the_highest_of_its_tasks(muster_server: MusterServer, tmp_path: Path) -> None:
    lines = ("#SBATCH -n2", "srun bash -c 'exit $((SLURM_PROCID * 7))'", "echo step $?", "srun nosuchprogram", "exit 5")

    ran = run_file(muster_server, script(tmp_path, "codes", *lines))

    assert ran.state == "Failed"
    assert "step 7\n" in ran.log
    tasks = muster_server.json("get", "workers", ran.id)["items"]
    assert [task["exitCode"] for task in tasks] == [5]


def test_output_is_in_the_log_and_in_the_file_that_was_asked_for(muster_server: MusterServer, tmp_path: Path) -> None:
    lines = (
        "#SBATCH -J kept",
        "#SBATCH -o logs/%x-%j.out -e logs/%x.err",
        "echo $SLURM_JOB_ID",
        "echo oh >&2",
        "sleep 99 &",
    )
    ran = run_file(muster_server, script(tmp_path, "outputs", *lines))

    assert ran.state == "Succeeded"
    number = next(line for line in ran.log.splitlines() if line.isdigit())
    muster_server.run("outputs", ran.id, "--get", str(tmp_path / "back"), check=True)
    found = {path.name: path.read_text() for path in (tmp_path / "back").rglob("kept*") if path.is_file()}
    assert found == {f"kept-{number}.out": f"{number}\n", "kept.err": "oh\n"}
    assert "oh\n" in ran.log


def test_signal_comes_before_the_time_is_up(muster_server: MusterServer, tmp_path: Path) -> None:
    lines = ("#SBATCH --time=1 --signal=B:USR1@59", "trap 'echo signalled; exit 0' USR1", "while :; do sleep 0.1; done")

    ran = run_file(muster_server, script(tmp_path, "signalled", *lines))

    assert (ran.state, ran.log) == ("Succeeded", "signalled\n")


def test_partition_is_a_cluster_of_that_name_and_otherwise_a_warning(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    there = run_file(muster_server, script(tmp_path, "there", "#SBATCH -p nosuch,local", "true"))
    gone = run_file(muster_server, script(tmp_path, "gone", "#SBATCH -p nosuch", "true"))

    assert (there.state, gone.state) == ("Succeeded", "Succeeded")
    assert "--partition" not in there.said
    assert "line 2: --partition: there is no cluster 'nosuch' for you" in gone.said


def test_array_is_a_job_for_each_element_and_its_limit_holds(muster_server: MusterServer, tmp_path: Path) -> None:
    """With a limit of one the second element finds that the first one has ended."""
    lines = (
        "#SBATCH -J other --array=1-3",
        "#SBATCH -J grid --array=2,4%1",
        'echo "$SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_JOB_ID step $SLURM_ARRAY_TASK_STEP"',
    )
    file = script(tmp_path, "grid", *lines)

    muster_server.run("submit", str(file), "--wait", cwd=tmp_path, check=True)

    jobs = {job["name"]: job for job in muster_server.json("get", "jobs")["items"]}
    first, second = (muster_server.run("logs", jobs[f"grid-{number}"]["id"]).stdout.split() for number in (2, 4))
    assert (first[:3], second[:3]) == (["2", "of", "2"], ["4", "of", "2"])
    assert first[3:] == second[3:], "they are parts of one array"
    assert first[4:] == ["step", "2"]
    assert jobs["grid-2"]["endedAt"] <= jobs["grid-4"]["startedAt"]


def test_script_with_line_breaks_of_dos_is_refused_as_by_sbatch(muster_server: MusterServer, tmp_path: Path) -> None:
    file = tmp_path / "dos.sbatch"
    file.write_bytes(b"#!/bin/bash\r\n#SBATCH -n 1\r\nhostname\r\n")

    assert "line breaks of DOS" in refused(muster_server, file)


def test_one_element_of_an_array_is_a_job(muster_server: MusterServer, tmp_path: Path) -> None:
    file = script(tmp_path, "sweep", "#SBATCH --array=0-3", "echo element $SLURM_ARRAY_TASK_ID")

    ran = run_file(muster_server, file, "--set", "env.SLURM_ARRAY_TASK_ID=3", "--name", "sweep-3")
    assert ran.log == "element 3\n"


def test_several_nodes_need_the_key_by_which_they_know_each_other(own_server: MusterServer, tmp_path: Path) -> None:
    file = script(tmp_path, "keyless", "#SBATCH -N 2", "srun hostname")

    said = refused(own_server, file, *ONE_MACHINE)

    assert "line 2: --nodes" in said
    assert "muster secret set srun-key" in said


@pytest.mark.usefixtures("key")
def test_srun_reaches_all_nodes_of_the_job_and_the_script_runs_on_the_first(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    (tmp_path / "who.sh").write_text(
        'echo "$SLURM_PROCID/$SLURM_NTASKS on $SLURM_NODEID is $MUSTER_TASK_NAME $EXTRA"\n'
    )
    lines = (
        "#SBATCH -J nodes -N 2 --ntasks-per-node=2",
        "export EXTRA=given",
        "nodes=($(scontrol show hostnames $SLURM_JOB_NODELIST)); echo ${#nodes[@]} nodes",
        "srun bash $SLURM_SUBMIT_DIR/who.sh",
        "srun -N2 -n2 bash -c 'exit $((SLURM_NODEID * 3))'; echo code $?",
    )

    ran = run_file(muster_server, script(tmp_path, "nodes", *lines), *ONE_MACHINE)

    assert ran.state == "Succeeded", ran.log
    said = ran.of("worker-0")
    assert ran.of("worker-1") == [], "only srun starts something there"
    assert said[0] == "2 nodes"
    assert sorted(said[1:5]) == [f"{rank}/4 on {rank // 2} is nodes-worker-{rank // 2} given" for rank in range(4)]
    assert said[-1] == "code 3"


def test_script_gets_the_arguments_that_it_reads_and_does_not_run_without_them(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    file = script(tmp_path, "arguments", "#SBATCH -J arguments", 'echo "$# [$1] [${2:-0}]"', "env | grep -c ^SCRIPT_")

    said = refused(muster_server, file)
    submitted = muster_server.run("submit", str(file), "--wait", "--", "a 'b' $c", "3", cwd=tmp_path)
    muster_server.run("submit", str(file), "--name", "without", "--wait", "--", cwd=tmp_path)

    assert "line 3: $1: the script reads its arguments, and none are given" in said
    assert "muster submit FILE -- ARGUMENT..." in said
    assert muster_server.run("logs", "arguments").stdout == "2 [a 'b' $c] [3]\n0\n", submitted.stderr
    assert muster_server.run("logs", "without").stdout == "0 [] [0]\n0\n"


def test_functions_that_a_script_exports_are_there_in_its_steps(muster_server: MusterServer, tmp_path: Path) -> None:
    lines = ("greet() { echo hello $1; }", "export -f greet", "srun bash -c 'greet you'")

    assert run_file(muster_server, script(tmp_path, "functions", *lines)).log == "hello you\n"


def test_elements_of_an_array_have_the_name_of_the_script_and_its_warnings_are_told_once(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    lines = ("#SBATCH -J arr2 --array=0-2 --comment=x -o %x.out", "echo $SLURM_JOB_NAME", "ls *.out")
    file = script(tmp_path, "named", *lines)

    tried = muster_server.run("submit", str(file), "--dry-run", cwd=tmp_path, check=True)
    sent = muster_server.run("submit", str(file), "--wait", cwd=tmp_path, check=True)

    for said in (tried.stderr, sent.stderr):
        assert said.count("--comment: has no effect") == 1
        assert "arr2-0 and 2 more: line 2: --comment" in said
    assert muster_server.run("logs", "arr2-1", check=True).stdout == "arr2\narr2.out\n"
