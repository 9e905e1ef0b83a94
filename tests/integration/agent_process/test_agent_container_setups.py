"""A setup in containers of an image with Python: installed by the first one, and there for the next."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.domain.specs import Mount, Runtime, Setup
from muster.launch.containers import ContainerTask, TaskFolder, container_launch
from muster.launch.setup_script import SCRIPT
from muster.launch.setups import ENTRY_VARIABLE, SCRIPT_FILE, setup_command
from tests.parts.building import a_spec
from tests.parts.engines import EngineMissing, EnginePart
from tests.parts.podman import private_podman, remove
from tests.parts.python_image import pack_python_image
from tests.parts.tiny_wheel import make_wheel

from .conftest import StartAgent
from .test_agent_containers import as_found
from .test_agent_packages_launch import pack

PYTHON_IMAGE = "localhost/muster-python:1"
INSTALL = "cd wheels && pip install -q --no-index --find-links . mypkg"


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EnginePart]:
    base, archive = Path(tempfile.mkdtemp(prefix="muster-podman-")), tmp_path_factory.mktemp("image") / "python.tar"
    try:
        found = private_podman(base)
        pack_python_image(archive)
    except EngineMissing as missing:
        pytest.skip(str(missing))
    made = found.call("import", str(archive), PYTHON_IMAGE)
    assert made.returncode == 0, made.stderr
    yield found
    remove(found, base)


@pytest.mark.parametrize("workdir", [None, "/etc"])
def test_containers_share_what_the_first_one_installed(
    start_agent: StartAgent, podman: EnginePart, tmp_path: Path, workdir: str | None
) -> None:
    """The setup runs in the package, wherever the command starts."""
    agent = start_agent(tmp_path / "root", around=podman.around, **podman.env)
    hello, wheel = agent.ask("hello"), make_wheel(tmp_path / "wheels")
    entry = f"{hello['root']}/setups/{'a' * 32}/{'1' * 32}"
    package = pack(tmp_path / "code.tar.gz", {"wheels/" + wheel.name: wheel.read_bytes()})
    spec = a_spec(setup=Setup(("/bin/sh", "-c", INSTALL)), runtime=Runtime(image=PYTHON_IMAGE, workdir=workdir))
    words = setup_command(spec, ("python", "-c", "import mypkg, os; print('answer', mypkg.ANSWER, os.getcwd())"))
    env = {ENTRY_VARIABLE: entry, "MUSTER_JOB_ID": "j", "MUSTER_ATTEMPT": "1", "MUSTER_JOB_NAME": "first"}
    for task in ("t", "u"):
        content = ContainerTask(
            task_id=task, image=PYTHON_IMAGE, argv=words, env=env, mounts=(Mount(entry, entry),), workdir=workdir
        )
        place = TaskFolder(f"{hello['root']}/tasks/{task}", hello["uid"], hello["gid"])
        ready = container_launch(as_found(agent, podman), content, place)
        agent.launch(
            task,
            *ready.argv,
            env=dict(ready.env),
            files={**ready.files, SCRIPT_FILE: SCRIPT},
            package=package,
            container={"program": podman.program, "name": ready.name},
            setup={"entry": entry, "kept": True, "most_bytes": 1 << 40, "most_age_s": 1e6},
        )
        assert agent.wait_phase(task, "ended")["exit_code"] == 0, agent.log(task).decode()
        expected = workdir or f"{place.folder}/work"
        assert agent.log(task).decode().endswith(f"answer 42 {expected}\n")
    assert agent.log("t").startswith(b"muster: setup: begins\n")
    assert agent.log("u").startswith(b"muster: setup: ready: prepared on ")
