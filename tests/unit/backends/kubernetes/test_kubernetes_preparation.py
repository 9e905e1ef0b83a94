"""The step before a task, run for real: with Python, and with a shell alone."""

import hashlib
import io
import os
import ssl
import subprocess
import tarfile
import threading
from functools import partial, reduce
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from muster.backends.kubernetes import preparation
from muster.backends.kubernetes.pod_state import UNFIT_IMAGE
from muster.domain.launch_requests import LaunchRequest
from muster.domain.specs import Input


def archive(folder: Path, **files: str) -> str:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name.replace("__", "/"))
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    (folder / f"{digest}.tar.gz").write_bytes(packed.getvalue())
    return digest


def run(
    folder: Path, request: LaunchRequest, urls: dict[str, str], *, script: str, certificate: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs the script with the folders of the pod under `folder`."""
    places = {
        preparation.SCRIPTS_FOLDER: folder / "scripts",
        preparation.PLAN_FOLDER: folder / "plan",
        preparation.WORK_FOLDER: folder / "work",
    }
    for place in places.values():
        place.mkdir()
    for name, text in preparation.scripts([request], ["localhost", "localhost"], certificate).items():
        moved = reduce(lambda whole, place: whole.replace(place[0], str(place[1])), places.items(), text)
        (folder / "scripts" / name).write_text(moved)
    (folder / "plan" / preparation.PLAN).write_text(preparation.plan(request, urls))
    command: list[str | Path] = ["python3", folder / "scripts" / preparation.PYTHON]
    if script == "shell":
        command = _without_python(folder)
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def _without_python(folder: Path) -> list[str | Path]:
    script = folder / "scripts" / preparation.SHELL
    script.write_text(script.read_text().replace("command -v python3", "command -v no-such-python3"))
    return ["/bin/sh", script]


@pytest.mark.parametrize("script", ["python", "shell"])
def test_packages_and_inputs_are_where_they_are_on_every_cluster(tmp_path: Path, script: str) -> None:
    package, data = archive(tmp_path, main__py="print(1)", lib__a="x"), archive(tmp_path, x="the file", y="other")
    inputs = (Input(data, "all data"), Input(f"{data}/x", "deep/one.bin"))
    request = LaunchRequest("j1.1.worker.0", "", ("true",), {}, package=package, inputs=inputs)
    urls = {digest: (tmp_path / f"{digest}.tar.gz").as_uri() for digest in (package, data)}
    if script == "shell" and subprocess.run(["which", "curl"], capture_output=True, check=False).returncode:
        pytest.skip("this machine has no curl")
    result = run(tmp_path, request, urls, script=script)
    assert result.returncode == 0, result.stderr
    work = tmp_path / "work"
    found = {str(path.relative_to(work)): path.read_text() for path in work.rglob("*") if path.is_file()}
    assert found == {
        "main/py": "print(1)",
        "lib/a": "x",
        "all data/x": "the file",
        "all data/y": "other",
        "deep/one.bin": "the file",
    }


def test_a_damaged_archive_is_not_unpacked(tmp_path: Path) -> None:
    digest = archive(tmp_path, x="1")
    wrong = "0" * 64
    request = LaunchRequest("j1.1.worker.0", "", ("true",), {}, package=wrong)
    result = run(tmp_path, request, {wrong: (tmp_path / f"{digest}.tar.gz").as_uri()}, script="shell")
    assert result.returncode == 93
    assert f"the archive {wrong} is damaged" in result.stderr


def test_an_image_without_python_cannot_have_its_outputs_collected(tmp_path: Path) -> None:
    request = LaunchRequest("j1.1.worker.0", "", ("true",), {})
    step = preparation.scripts([request], ["localhost"], has_outputs=True)
    script = tmp_path / "prepare.sh"
    script.write_text(step[preparation.SHELL].replace("command -v python3", "command -v no-such-python3"))
    environment = {"PATH": os.environ["PATH"], preparation.OUTPUTS_VARIABLE: "yes"}
    done = subprocess.run(["/bin/sh", script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == UNFIT_IMAGE
    assert "set initImage" in done.stderr


def test_nothing_is_prepared_for_a_single_task_without_files() -> None:
    assert preparation.scripts([LaunchRequest("j1.1.worker.0", "", ("true",), {})], ["one"]) == {}


@pytest.mark.fast
def test_the_addresses_of_a_plan_are_renewed_and_nothing_else() -> None:
    request = LaunchRequest("j1.1.worker.0", "", ("true",), {}, package="a", inputs=(Input("b/x", "deep/x y"),))
    before = preparation.plan(request, {"a": "http://old/a", "b": "http://old/b"})
    assert preparation.renewed(before, lambda digest: f"http://new/{digest}") == preparation.plan(
        request, {"a": "http://new/a", "b": "http://new/b"}
    )


def test_the_certificate_that_a_server_has_made_itself_is_trusted(tmp_path: Path) -> None:
    digest = archive(tmp_path, x="1")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=muster"]
    subprocess.run([*make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    request = LaunchRequest("j1.1.worker.0", "", ("true",), {}, package=digest)
    urls = {digest: f"https://127.0.0.1:{server.server_port}/{digest}.tar.gz"}
    try:
        result = run(tmp_path, request, urls, script="python", certificate=certificate.read_text())
    finally:
        server.shutdown()
        server.server_close()
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "work" / "x").read_text() == "1"
