import pytest

from muster.domain.specs import Framework, JobSpec, Role, Spread, Where
from muster.launch.framework_guess import doubts, guess

pytestmark = pytest.mark.fast


def line(text: str, replicas: int = 2, name: str = "worker") -> Role:
    return Role(name, replicas, ("/bin/sh", "-c", text), is_line=True)


def words(*command: str, replicas: int = 2) -> Role:
    return Role("worker", replicas, command)


@pytest.mark.parametrize(
    ("role", "framework", "reason"),
    [
        (words("torchrun", "train.py"), "torch", "the command runs torchrun"),
        (words("/opt/venv/bin/torchrun", "--nproc_per_node=2", "train.py", replicas=1), "torch",
         "the command runs torchrun"),
        (words("python3.11", "-u", "-m", "torch.distributed.run", "train.py"), "torch",
         "the command runs python3.11 -m torch.distributed.run"),
        (words("python", "-W", "ignore", "-m", "torch.distributed.launch", "train.py"), "torch",
         "the command runs python -m torch.distributed.launch"),
        (line("cd src && OMP_NUM_THREADS=1 exec torchrun train.py 2>&1 | tee log"), "torch",
         "the command runs torchrun"),
        (line("# first\npython prep.py; torchrun train.py"), "torch", "the command runs torchrun"),
        (words("python", "-m", "paddle.distributed.launch", "train.py"), "paddle",
         "the command runs python -m paddle.distributed.launch"),
        (words("fleetrun", "train.py"), "paddle", "the command runs fleetrun"),
        (words("mpirun", "./solve"), "mpi", "the command runs mpirun"),
        (line("horovodrun -np 2 python train.py"), "mpi", "the command runs horovodrun"),
    ],
)  # fmt: skip
def test_a_launcher_gives_the_framework_away(role: Role, framework: str, reason: str) -> None:
    found = guess([role])
    assert found is not None
    assert (found.framework, found.reason) == (Framework(framework), reason)


@pytest.mark.parametrize(
    "role",
    [
        words("python", "train.py"),
        words("python", "torchrun", "-m", "torch.distributed.run"),
        words("python", "-m"),
        words("accelerate", "launch", "train.py"),
        words("bash", "-c", "torchrun train.py"),
        line("echo torchrun train.py"),
        line("echo 'a; torchrun train.py'"),
        line("echo \"it's\" 'torn; torchrun"),
        line("# torchrun train.py\npython train.py"),
        line(""),
        words("mpirun", "-np", "4", "./solve", replicas=1),
        Role("worker", 2, ()),
    ],
)
def test_everything_else_says_nothing(role: Role) -> None:
    assert guess([role]) is None


def test_roles_that_run_launchers_of_different_frameworks_say_nothing() -> None:
    assert guess([line("torchrun a.py"), line("fleetrun b.py", name="other")]) is None
    assert guess([line("torchrun a.py"), line("python b.py", name="other")]) is not None


def test_every_task_would_run_mpirun_and_the_user_is_told() -> None:
    (warning,) = doubts(JobSpec("a", (line("mpirun ./solve"),)))
    assert "each of the 2 tasks runs mpirun" in warning


def test_paddles_launcher_needs_a_machine_for_each_task_and_the_user_is_told() -> None:
    (warning,) = doubts(JobSpec("a", (line("fleetrun train.py"),)))
    assert "takes tasks on one machine for one" in warning
    assert doubts(JobSpec("a", (line("fleetrun train.py"),), where=Where(spread=Spread.APART))) == ()


def test_a_single_task_and_torchrun_raise_no_doubts() -> None:
    assert doubts(JobSpec("a", (line("fleetrun train.py", replicas=1),))) == ()
    assert doubts(JobSpec("a", (line("torchrun train.py"),))) == ()
