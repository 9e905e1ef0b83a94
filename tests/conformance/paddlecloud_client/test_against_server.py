"""The commands of paddlecloud's client against a real server, by the client as one file, with nothing but Python."""

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.paddlecloud_client import one_file
from tests.parts.passable import open_to_all
from tests.parts.server import MusterServer, polls, running_server

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PASSWORD = "open sesame, please"
SMALL = ("-cpu", "0", "-memory", "64Mi", "-pscpu", "0", "-psmemory", "64Mi")
TRAIN = """\
import os, sys, time
print("trainer", os.environ["PADDLE_INIT_TRAINER_ID"], "of", os.environ["TRAINERS"], flush=True)
print(open("greeting.txt").read().strip(), flush=True)
if len(sys.argv) > 1:
    time.sleep(1000)
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return one_file.build(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of a datacenter."""
    storage = tmp_path_factory.mktemp("storage")
    for name in ("home", "public"):
        (storage / name).mkdir()
        open_to_all(storage / name)
    return storage


@pytest.fixture(scope="module")
def server(storage: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("paddlecloud")
    (home / "clusters.d").mkdir()
    (home / "clusters.d" / "local.yaml").write_text(
        f"name: local\nbackend: local\nfolders:\n  home: {storage}/home\n  public: {storage}/public\n"
    )
    with running_server(home) as running:
        yield running


@pytest.fixture(scope="module")
def paddlecloud(server: MusterServer, client: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a command as somebody with a `~/.paddle/config` and a folder `src`, and without a context of Muster."""
    status, _ = server.call("POST", "/api/v1/users", {"name": "li", "role": "admin", "password": PASSWORD})
    assert status == 201
    home = tmp_path_factory.mktemp("li")
    (home / ".paddle").mkdir()
    (home / ".paddle" / "config").write_text(
        f"datacenters:\n- {{name: dc1, username: li, password: '{PASSWORD}', endpoint: '{server.url}/'}}\n"
        "current-datacenter: dc1\n"
    )
    (home / "src").mkdir()
    (home / "src" / "train.py").write_text(TRAIN)
    (home / "src" / "greeting.txt").write_text("hello from the package\n")
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

    def run(*words: str, prelude: str = "") -> "subprocess.CompletedProcess[str]":
        done = one_file.run(client, "paddlecloud", *words, env=env, cwd=home, prelude=prelude)
        assert PASSWORD not in done.stdout + done.stderr
        return done

    return run


def rows(done: "subprocess.CompletedProcess[str]") -> list[list[str]]:
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()[1:]]


def row_of(paddlecloud: Run, name: str) -> list[str]:
    return next(row for row in rows(paddlecloud("get", "jobs")) if row[1] == name)


@pytest.mark.parametrize("prelude", ["", one_file.AS_ON_WINDOWS], ids=["here", "as-on-windows"])
def test_a_folder_is_uploaded_trained_with_listed_and_read(
    paddlecloud: Run, server: MusterServer, prelude: str
) -> None:
    name = "demo-windows" if prelude else "demo"
    words = ("-jobname", name, "-parallelism", "2", *SMALL)
    entry = ("-entry", "python3 train.py", "./src")

    submitted = paddlecloud("submit", *words, *entry, prelude=prelude)
    assert (submitted.returncode, submitted.stdout) == (0, f"{name} submited.\n"), submitted.stderr
    assert server.wait(name)["state"] == "Succeeded"

    found = paddlecloud("get", "jobs", prelude=prelude)
    assert found.stdout.splitlines()[0] == "NUM\tNAME\tSUCC\tFAIL\tSTART\tCOMP\tACTIVE"
    _, _, succeeded, failed, start, completed, active = next(row for row in rows(found) if row[1] == name)
    assert (succeeded, failed, active) == ("2", "<nil>", "<nil>")
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time) for time in (start, completed))
    workers = rows(paddlecloud("get", "workers", name, prelude=prelude))
    assert [row[1] for row in workers] == ["Succeeded", "Succeeded"]
    assert all(re.fullmatch(rf"{name}-trainer-[b-z0-9]{{5}}", row[0]) for row in workers)

    text = paddlecloud("logs", name, prelude=prelude).stdout
    assert text.count("hello from the package\n") == 2
    assert all(f"trainer {index} of 2\n" in text for index in (0, 1))
    one = paddlecloud("logs", "-n", "1", "-w", workers[0][0], name, prelude=prelude)
    assert one.stdout == "hello from the package\n"


def test_a_job_that_is_killed_is_not_listed_and_its_workers_are(paddlecloud: Run, server: MusterServer) -> None:
    words = ("submit", "-name", "endless", *SMALL)
    done = paddlecloud(*words, "-entry", "python3 train.py forever", "src/")
    assert done.returncode == 0, done.stderr
    server.wait_for_state("endless", "Running")
    assert row_of(paddlecloud, "endless")[6] == "1"

    assert paddlecloud("kill", "-rm", "endless").returncode == 0
    assert server.wait("endless")["state"] == "Cancelled"
    assert all(row[1] != "endless" for row in rows(paddlecloud("get", "jobs")))
    assert len(rows(paddlecloud("get", "workers", "endless"))) == 1
    assert paddlecloud("kill", "endless").returncode == 1


def test_a_package_that_lies_in_the_datacenter_is_used_in_place(paddlecloud: Run, server: MusterServer) -> None:
    put = paddlecloud("file", "put", "src/", "/pfs/dc1/home/li/mypackage")
    assert put.returncode == 0, put.stderr
    words = ("submit", "-jobname", "in-place", *SMALL, "-entry", "python3 train.py")
    done = paddlecloud(*words, "/pfs/dc1/home/li/mypackage/")
    assert done.returncode == 0, done.stderr
    assert server.wait("in-place")["state"] == "Succeeded"
    assert "hello from the package\n" in paddlecloud("logs", "in-place").stdout
    assert server.call("GET", "/api/v1/jobs/in-place/spec")[1]["spec"]["package"] == "local:home/li/mypackage"


@pytest.mark.parametrize("words", [("file", "put", "src/"), ("mkdir",)])
def test_a_home_that_is_made_by_the_first_write_is_for_its_owner_alone(
    paddlecloud: Run, storage: Path, words: tuple[str, ...]
) -> None:
    made = paddlecloud(*words, f"/pfs/dc1/home/new-{words[0]}/inner")
    assert made.returncode == 0, made.stderr
    assert (storage / "home" / f"new-{words[0]}").stat().st_mode & 0o777 == 0o700


def test_a_job_without_an_entry_and_one_with_a_package_that_is_nowhere_are_refused(paddlecloud: Run) -> None:
    refused = paddlecloud("submit", "-jobname", "without-entry", "./src")
    assert refused.returncode == 1
    assert "entry" in refused.stderr
    missing = paddlecloud("submit", "-jobname", "nowhere", "-entry", "true", "./none")
    assert missing.returncode == 1
    assert "none is not a folder" in missing.stderr


def test_files_go_to_the_datacenter_and_back(paddlecloud: Run, tmp_path: Path) -> None:
    at = "/pfs/dc1/home/li/files"
    (tmp_path / "data" / "inner").mkdir(parents=True)
    (tmp_path / "data" / "inner" / "part-0").write_text("clicks\n")
    (tmp_path / "model.bin").write_text("weights\n")

    for words in (("mkdir", f"{at}/models"), ("cp", "-v", str(tmp_path / "model.bin"), f"{at}/models/")):
        assert (done := paddlecloud(*words)).returncode == 0, done.stderr
    assert paddlecloud("file", "put", str(tmp_path / "data"), f"{at}/").returncode == 0
    assert paddlecloud("file", "ls", at).stdout.split() == ["data", "models"]
    listed = paddlecloud("ls", "-r", f"{at}/data").stdout.splitlines()
    assert listed[0] == f"{at}/data :"
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d d +\d+ {at}/data/inner", listed[1])
    assert re.fullmatch(rf"\S+ \S+ f +7 {at}/data/inner/part-0", listed[2])
    assert paddlecloud("cp", f"{at}/models/model.bin", str(tmp_path / "back")).returncode == 0
    assert (tmp_path / "back").read_text() == "weights\n"
    assert paddlecloud("file", "get", f"{at}/data", str(tmp_path / "got")).returncode == 0
    assert (tmp_path / "got" / "inner" / "part-0").read_text() == "clicks\n"
    assert paddlecloud("rm", f"{at}/data").returncode == 1
    assert paddlecloud("rm", "-r", f"{at}/data").returncode == 0
    assert paddlecloud("file", "ls", at).stdout.split() == ["models"]
    assert paddlecloud("ls", "/pfs/dc1/elsewhere").returncode == 1


def test_muster_s_own_commands_work_as_well(client: Path, server: MusterServer, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "main.py").write_text("print('from the package', flush=True)\nimport time\ntime.sleep(1000)\n")
    (tmp_path / "job.yaml").write_text(
        "name: plain\npackage: code\ncommand: python3 main.py\nresources: {cpu: 10m, memory: 64Mi}\n"
    )
    env = {"HOME": str(tmp_path), "MUSTER_SERVER": server.url, "MUSTER_TOKEN": server.token}

    def muster(*words: str) -> str:
        done = one_file.run(client, *words, env=env, cwd=tmp_path, prelude=one_file.AS_ON_WINDOWS)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert muster("submit", "job.yaml") == "plain\n"
    server.wait_for_state("plain", "Running")
    assert "plain" in muster("get", "jobs")
    assert any("from the package" in muster("logs", "plain") for _ in polls(30))
    muster("kill", "plain")
    assert server.wait("plain")["state"] == "Cancelled"


def test_sessions_at_a_terminal_say_what_windows_lacks(client: Path, tmp_path: Path) -> None:
    program = f"{one_file.AS_ON_WINDOWS}\nsys.path.insert(0, {str(client)!r})\n"
    program += "from muster.cli.failures import Failure\nfrom muster.cli.task_session import run_at_terminal\n"
    program += "try:\n    run_at_terminal(None)\nexcept Failure as why:\n    print(why.message, why.hint)\n"
    python = [getattr(sys, "_base_executable", sys.executable), "-I", "-S", "-c", program]
    done = subprocess.run(python, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "needs the terminal of a POSIX system" in done.stdout, done.stderr


def test_an_old_python_is_told_what_is_needed(client: Path) -> None:
    """The file must be read by the old Python before it can say so."""
    with zipfile.ZipFile(client) as archive:
        text = archive.read("__main__.py").decode()
    first, _ = text.split("from muster", 1)
    ast.parse(text, feature_version=(3, 7))
    assert "sys.version_info < (3, 11)" in first


def test_commands_of_a_server_say_that_they_are_not_here(client: Path, tmp_path: Path) -> None:
    for command in ("up", "sim", "operator", "cluster", "receivers"):
        done = one_file.run(client, command, env={"HOME": str(tmp_path)}, cwd=tmp_path)
        assert done.returncode == 1
        assert f"`muster {command}` is not part of the client as one file" in done.stderr


def test_every_module_of_the_client_is_imported_without_what_windows_lacks(client: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(client) as archive:
        names = [name for name in archive.namelist() if name.startswith("muster/") and name.endswith(".py")]
    modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]
    modules = [name for name in modules if ".built_in." not in name]
    assert len(modules) > 100
    program = f"{one_file.AS_ON_WINDOWS}\nsys.path.insert(0, {str(client)!r})\nimport importlib\n"
    program += f"for name in {modules!r}:\n    importlib.import_module(name)\n"
    python = [getattr(sys, "_base_executable", sys.executable), "-I", "-S", "-c", program]
    done = subprocess.run(python, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_libraries_for_drawing_are_complete(client: Path, tmp_path: Path) -> None:
    program = f"import sys\nsys.path.insert(0, {str(client)!r})\n"
    program += "import rich.live, rich.progress, rich.text, pathspec, wsproto, yaml\n"
    program += (
        "from muster.cli.templates.catalogue import built_in_files\nassert 'src/train.py' in built_in_files('single')\n"
    )
    python = [getattr(sys, "_base_executable", sys.executable), "-I", "-S", "-c", program]
    assert subprocess.run(python, cwd=tmp_path, check=False).returncode == 0


def test_the_same_sources_make_the_same_bytes(client: Path, tmp_path: Path) -> None:
    assert one_file.build(tmp_path).read_bytes() == client.read_bytes()
