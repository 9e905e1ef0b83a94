"""A distribution that is installed beside Muster brings a backend and a dialect, and a broken one harms nothing."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.parts.server import MusterServer, running_server

MODULE = """
from dataclasses import dataclass, replace

from muster.backends.kinds import BackendKind
from muster.backends.local.backend import LocalBackend
from muster.settings.cluster_kinds import ClusterKind
from muster.wire.dialects.detecting import Dialect
from muster.wire.dialects.translation import Translation
from muster.wire.physical_schema import SharedIn


class TinyIn(SharedIn):
    machine: str


@dataclass(frozen=True)
class Options:
    machine: str


def complete(cluster, model):
    return replace(cluster, options=Options(model.machine))


def builder(site):
    def build(cluster):
        root, name = site.home / "tiny", cluster.options.machine
        backend = LocalBackend(cluster.name, name, root, site.archives, own_user=site.own_user)
        backend.settings = cluster
        return backend

    return build


def translate(document):
    return Translation({"name": "wish", "cluster": "small", "command": document.data["wish"]})


KIND = BackendKind(ClusterKind("tiny", TinyIn, complete=complete), builder)
FRAIL = BackendKind(ClusterKind("frail"), lambda site: 1 / 0)
DIALECT = Dialect("wishes", "wishes", lambda data: "wish" in data, translate)
"""
ENTRY_POINTS = """
[muster.backends]
tiny = muster_tiny:KIND
frail = muster_tiny:FRAIL
ssh = muster_tiny:KIND
lost = muster_tiny:MISSING

[muster.dialects]
wishes = muster_tiny:DIALECT
odd = muster_tiny:KIND
"""
FILES = {
    "muster_tiny.py": MODULE,
    "muster_tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: muster-tiny\nVersion: 1.0\n",
    "muster_tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "muster_tiny-1.0.dist-info/entry_points.txt": ENTRY_POINTS,
}
NOT_USED = {
    "ssh of muster.backends is not used: the name is taken",
    "lost of muster.backends is not used: it cannot be loaded: AttributeError",
    "odd of muster.dialects is not used: muster_tiny:KIND is not a Dialect",
}


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip has installed the distribution, without a network and without a build."""
    folder = tmp_path_factory.mktemp("plugins")
    wheel = folder / "muster_tiny-1.0-py3-none-any.whl"
    record = "muster_tiny-1.0.dist-info/RECORD"
    with ZipFile(wheel, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
        archive.writestr(record, "".join(f"{name},,\n" for name in (*FILES, record)))
    target = folder / "site-packages"
    words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*words, str(wheel)], check=True, timeout=120)
    return target


@pytest.fixture(scope="module")
def server(site_packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("plugins-home")
    (home / "clusters.d").mkdir()
    (home / "clusters.d" / "small.yaml").write_text("backend: tiny\nmachine: box\n")
    (home / "clusters.d" / "weak.yaml").write_text("backend: frail\n")
    with running_server(home, {"PYTHONPATH": str(site_packages)}) as running:
        yield running


def test_a_job_in_the_plugins_dialect_runs_on_the_plugins_backend(server: MusterServer, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("wish: echo granted\n")
    server.run("submit", str(job), check=True)
    assert server.run("wait", "wish", "--timeout", "60s").returncode == 0
    assert "granted" in server.run("logs", "wish", check=True).stdout
    (node,) = json.loads(server.run("node", "list", "--cluster", "small", "-o", "json", check=True).stdout)["items"]
    assert node["name"] == "box"


def test_plugins_that_cannot_be_used_are_reported_to_admins(server: MusterServer) -> None:
    assert all(words in (server.home / "stderr.log").read_text() for words in NOT_USED)
    examined = server.run("doctor").stdout
    checked = server.run("cluster", "check")
    assert checked.returncode == 1
    for words in NOT_USED:
        assert words in examined
        assert (words in checked.stdout) == ("muster.backends" in words)
    assert "muster-tiny 1.0" in checked.stdout


def test_a_cluster_whose_backend_cannot_be_built_keeps_no_other_from_working(server: MusterServer) -> None:
    names = [cluster["name"] for cluster in json.loads(server.run("get", "clusters", "-o", "json").stdout)["items"]]
    assert sorted(names) == ["local", "small"]
    assert "the backend frail cannot be built: ZeroDivisionError" in (server.home / "stderr.log").read_text()


def test_files_of_a_plugins_backend_are_checked(server: MusterServer, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("backend: tiny\nmachines: box\n")
    checked = server.run("cluster", "check", str(tmp_path / "other.yaml"))
    assert checked.returncode == 1
    assert "machines: unknown key (did you mean machine?)" in checked.stdout
