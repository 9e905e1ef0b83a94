"""What an agent finds around it: folders, links to them, environments."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.agent.files.folder_checks import MARKER, FolderChecks, FolderOrder

from .driver import Agent, Refused, wait_until


def check(agent: Agent, path: Path, marker: str = "muster one", *, writable: bool = True, program: str = "") -> Any:
    folder = {"name": "data", "path": str(path), "marker": marker, "writable": writable, "program": program}
    return agent.ask("check_folders", folders=[folder])["folders"]["data"]


def test_first_to_look_leaves_the_marker_and_later_ones_read_it(agent: Agent, tmp_path: Path) -> None:
    assert check(agent, tmp_path, "muster one")["marker"] == "muster one"
    assert check(agent, tmp_path, "muster two")["marker"] == "muster one"
    assert (tmp_path / MARKER).read_text() == "muster one\n"
    assert [path.name for path in tmp_path.iterdir() if "probe" in path.name] == []


def test_folder_of_its_own_gets_no_marker(agent: Agent, tmp_path: Path) -> None:
    assert check(agent, tmp_path, "")["marker"] == ""
    assert not (tmp_path / MARKER).exists()


def test_folder_that_is_not_to_be_written_is_not_written(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert check(agent, tmp_path, writable=False) == {"marker": "", "empty": False}
    assert check(agent, tmp_path / "empty", writable=False) == {"marker": "", "empty": True}
    assert list(tmp_path.glob(".muster*")) == []


def test_missing_folder_is_told(agent: Agent, tmp_path: Path) -> None:
    assert check(agent, tmp_path / "none")["problem"] == f"missing: there is no {tmp_path / 'none'}"


def test_folder_that_cannot_be_written_is_told(agent: Agent) -> None:
    assert check(agent, Path("/proc"))["problem"].startswith("not writable")


def test_file_in_the_folders_place_is_told(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert check(agent, tmp_path / "file")["problem"].startswith("not usable")


def test_installation_without_its_program_is_told(agent: Agent, tmp_path: Path) -> None:
    assert check(agent, tmp_path, "", program="bin/python")["problem"].startswith("not complete")


def test_link_in_the_markers_place_is_not_followed(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("muster secret\n")
    (tmp_path / MARKER).symlink_to(tmp_path / "secret")
    assert check(agent, tmp_path)["marker"] == "muster one"
    assert (tmp_path / "secret").read_text() == "muster secret\n"


def test_relative_path_is_refused(agent: Agent) -> None:
    with pytest.raises(Refused):
        agent.ask("check_folders", folders=[{"name": "data", "path": "data"}])


def test_folder_that_hangs_holds_nobody_up(tmp_path: Path) -> None:
    """As with a file server that is away: whoever looks does not come back."""
    count = tmp_path / "count"
    script = f"import sys, time; open({str(count)!r}, 'a').write('x'); time.sleep(600)"
    checks = FolderChecks(script, within_s=1.0)
    order = FolderOrder("data", str(tmp_path), "", False, "")
    assert checks.check([order])["data"]["problem"].startswith("not answering")
    hanging = checks._hanging[str(tmp_path)]
    wait_until(lambda: hanging.poll() is not None, "the one that hung to be killed")
    assert count.read_text() == "x"


def test_links_lead_to_folders_of_the_node(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_text("hello")
    ended = agent.run("t", "/bin/cat", "in/data/file", links={"in/data": str(tmp_path / "data")})
    assert ended["exit_code"] == 0
    assert agent.log("t") == b"hello"


@pytest.mark.parametrize("target", ["", "..", "a/../b", "/abs", "a//b"])
def test_link_outside_the_working_folder_is_refused(agent: Agent, target: str) -> None:
    with pytest.raises(Refused):
        agent.launch("t", "/bin/true", links={target: "/tmp"})


@pytest.mark.parametrize("links", [{"a": "/tmp", "a/b": "/tmp"}, {"trainer_id": "/tmp", "trainer_id/x": "/tmp"}])
def test_link_that_something_stands_in_the_way_of_is_nothing_to_try_again(agent: Agent, links: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        agent.launch("t", "/bin/true", links=links)
    assert refused.value.code == "package"
    assert agent.run("t", "/bin/true")["exit_code"] == 0  # nothing was left of it


def venv(path: Path, *distributions: str) -> None:
    """A virtual environment with empty packages of these names and versions."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(path)], check=True)
    site = next(path.glob("lib/python3*/site-packages"))
    for distribution in distributions:
        name, version = distribution.split("==")
        (site / name).mkdir(exist_ok=True)
        about = site / f"{name}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def pretend_torch(path: Path, code: str) -> None:
    site = next(path.glob("lib/python3*/site-packages"))
    (site / "torch" / "__init__.py").write_text(code)


def test_an_environment_whose_python_is_gone_is_told_and_says_so_when_tried(agent: Agent, tmp_path: Path) -> None:
    venv(tmp_path / "envs" / "old", "torch==2.3.1")
    (tmp_path / "envs" / "old" / "bin" / "python").unlink()
    (tmp_path / "envs" / "old" / "bin" / "python").symlink_to(tmp_path / "removed")
    found = agent.ask("environments", conda="", folders=[{"name": "envs", "path": str(tmp_path / "envs")}])
    (told,) = found["environments"]
    assert (told["name"], told["python"], told["frameworks"]) == ("envs/old", "", {"torch": "2.3.1"})
    tried = agent.ask("test_environment", path=told["path"], devices="")
    assert tried["error"] == "its Python does not start: No such file or directory"


def test_environments_are_found_with_their_versions(agent: Agent, tmp_path: Path) -> None:
    venv(tmp_path / "envs" / "miniconda3")
    venv(tmp_path / "envs" / "miniconda3" / "envs" / "py", "torch==2.3.1")
    venv(tmp_path / "envs" / "venvs" / "one", "jax==0.4.30")
    (tmp_path / "envs" / "venvs" / "empty").mkdir()
    folders = [{"name": "envs", "path": str(tmp_path / "envs")}]
    found = agent.ask("environments", conda=str(tmp_path / "envs" / "miniconda3"), folders=folders)
    told = {(one["kind"], one["name"]): one["frameworks"] for one in found["environments"]}
    assert told == {
        ("conda", "base"): {},
        ("conda", "py"): {"torch": "2.3.1"},
        ("venv", "envs/venvs/one"): {"jax": "0.4.30"},
    }
    version = ".".join(str(part) for part in sys.version_info[:2])
    assert all(one["python"].startswith(version) for one in found["environments"])
    assert found["problems"] == []


def test_pipes_in_the_place_of_an_environments_files_keep_nobody_waiting(agent: Agent, tmp_path: Path) -> None:
    venv(tmp_path / "envs" / "good", "jax==0.4.30")
    venv(tmp_path / "envs" / "hostile", "torch==2.3.1")
    about = next((tmp_path / "envs" / "hostile").glob("lib/python3*/site-packages/torch-2.3.1.dist-info/METADATA"))
    about.unlink()
    os.mkfifo(about)
    conda = tmp_path / "conda"
    for prefix in (conda, conda / "envs" / "piped"):
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin" / "python").symlink_to(sys.executable)
        os.mkfifo(prefix / "pyvenv.cfg")
    found = agent.ask("environments", conda=str(conda), folders=[{"name": "envs", "path": str(tmp_path / "envs")}])
    told = {one["name"]: one["frameworks"] for one in found["environments"]}
    assert told == {"base": {}, "piped": {}, "envs/good": {"jax": "0.4.30"}, "envs/hostile": {"torch": "2.3.1"}}


def test_environment_is_really_imported_and_asked_for_cards(agent: Agent, tmp_path: Path) -> None:
    venv(tmp_path / "py", "torch==2.3.1")
    pretend_torch(
        tmp_path / "py",
        "import os\n__version__ = '2.3.1'\nprint('hello from torch')\n"
        "class cuda:\n"
        "    is_available = staticmethod(lambda: bool(os.environ['CUDA_VISIBLE_DEVICES']))\n"
        "    device_count = staticmethod(lambda: len(os.environ['CUDA_VISIBLE_DEVICES'].split(',')))\n",
    )
    seen = agent.ask("test_environment", path=str(tmp_path / "py"), devices="3")
    assert seen["frameworks"] == [{"name": "torch", "version": "2.3.1", "gpus": 1}]
    blind = agent.ask("test_environment", path=str(tmp_path / "py"), devices="")
    assert blind["frameworks"][0]["gpus"] == 0


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise ImportError('libcudart.so.11 is missing')", "ImportError: libcudart.so.11 is missing"),
        ("import os; os._exit(9)", "it ended with exit code 9"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "it ended with exit code -11"),
    ],
)
def test_environment_that_fails_says_how(agent: Agent, tmp_path: Path, code: str, told: str) -> None:
    venv(tmp_path / "py", "torch==2.3.1")
    pretend_torch(tmp_path / "py", code)
    found = agent.ask("test_environment", path=str(tmp_path / "py"))
    assert found["frameworks"][0]["error"] == told


def test_environment_of_an_old_python_is_tried_too(agent: Agent, tmp_path: Path) -> None:
    """Before 3.8 there was no importlib.metadata; there is none here either."""
    venv(tmp_path / "py", "tensorflow_gpu==1.15.0", "torch==1.7.1+cu110")
    site = next((tmp_path / "py").glob("lib/python3*/site-packages"))
    (site / "sitecustomize.py").write_text("import sys; sys.modules['importlib.metadata'] = None\n")
    pretend_torch(tmp_path / "py", "__version__ = '1.7.1'\nclass cuda: is_available = staticmethod(lambda: False)\n")
    (site / "tensorflow").mkdir()
    (site / "tensorflow" / "__init__.py").write_text(
        "__version__ = '1.15.0'\n"
        "class config:\n class experimental:\n  list_physical_devices = staticmethod(lambda kind: [kind])\n"
    )
    found = agent.ask("test_environment", path=str(tmp_path / "py"), devices="0")
    assert found["error"] == ""
    assert found["frameworks"] == [
        {"name": "tensorflow", "version": "1.15.0", "gpus": 1},
        {"name": "torch", "version": "1.7.1", "gpus": 0},
    ]


@pytest.mark.parametrize("change", ["owner", "mode"])
def test_environment_that_others_can_change_is_not_run_under_our_account(
    agent: Agent, tmp_path: Path, change: str
) -> None:
    python = tmp_path / "shared" / "envs" / "theirs" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    python.chmod(0o755)
    if change == "owner":
        if os.getuid() != 0:
            pytest.skip("only root can give files away")
        os.chown(tmp_path / "shared" / "envs" / "theirs", 61_234, 61_234)
    else:
        (tmp_path / "shared").chmod(0o777)
    told = agent.ask("test_environment", path=str(python.parent.parent))
    assert "others can change" in told["error"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("part", ["lib/python3*/site-packages", "pyvenv.cfg", "lib/python3*/site-packages/torch"])
def test_environment_whose_packages_others_can_change_is_not_tried(agent: Agent, tmp_path: Path, part: str) -> None:
    venv(tmp_path / "py", "torch==2.3.1")
    next((tmp_path / "py").glob(part)).chmod(0o777)
    assert "others can change" in agent.ask("test_environment", path=str(tmp_path / "py"))["error"]


def test_environment_without_a_python_says_so(agent: Agent, tmp_path: Path) -> None:
    assert agent.ask("test_environment", path=str(tmp_path))["error"].startswith("its Python does not start")


def test_engines_are_told_with_why_others_do_not_work(agent: Agent, tmp_path: Path) -> None:
    found = agent.ask("engines")
    assert {one["name"] for one in found["engines"]}.isdisjoint(found["problems"])
    assert all(Path(one["program"]).is_absolute() for one in found["engines"])


def test_engine_whose_service_is_away_does_not_work(start_agent: Any, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "docker").write_text(f"#!/bin/sh\necho '{json.dumps({'ServerErrors': ['no daemon']})}'\n")
    (tools / "docker").chmod(0o755)
    found = start_agent(None, PATH=f"{tools}").ask("engines")
    assert found["engines"] == []
    assert "no daemon" in found["problems"]["docker"]
