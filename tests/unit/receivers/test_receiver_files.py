"""Names of receivers, records of processes, and files that deployments write and people edit."""

import os
import subprocess
from pathlib import Path

import pytest

from muster.receivers.addresses import Address, parse_address
from muster.receivers.deployments import Deployment, Register, Wanted
from muster.receivers.instances import Instance, ProcessRecord
from muster.receivers.processes import Handle, ProcessMark, is_alive, mark_of
from muster.receivers.start_files import log_server_program
from muster.receivers.written_files import Change, WrittenFile, compared, write_changed

pytestmark = pytest.mark.fast
HERE = Address("127.0.0.1", 9090)


@pytest.mark.parametrize(
    ("text", "name", "folder"),
    [
        ("GPU1.example.org:9090", "gpu1.example.org:9090", "gpu1.example.org_9090"),
        ("[::1]:80", "[::1]:80", "--1_80"),
    ],
)
def test_a_receiver_and_its_folder_are_named_by_its_address(text: str, name: str, folder: str) -> None:
    address = parse_address(text)
    assert (str(address), address.folder) == (name, folder)


@pytest.mark.parametrize("text", ["a", "a:", ":1", "a:0", "a:65536", "a/b:1", "../x:1", "a..b:1", "a:1\n", "-a:1", ""])
def test_other_texts_are_no_addresses(text: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        parse_address(text)


def test_a_process_is_known_by_its_start_too(tmp_path: Path) -> None:
    own = mark_of(os.getpid())
    assert own is not None
    assert is_alive(own)
    assert not is_alive(ProcessMark(own.pid, "1@another boot"))
    assert Handle.open(ProcessMark(own.pid, "1@another boot")) is None
    instance = Instance(tmp_path, HERE)
    instance.folder.mkdir()
    assert instance.running() is None
    instance.write_record(ProcessRecord(own, "g"))
    assert instance.running() == ProcessRecord(own, "g")
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert mark_of(ended.pid) is None, "nobody has asked for its exit code, and yet it does not run"


def test_what_somebody_has_edited_is_kept(tmp_path: Path) -> None:
    files = {"config.yaml": WrittenFile("port: 1\n"), "start": WrittenFile("#!/bin/sh\nexec true\n", 0o700)}
    changes = compared(tmp_path, files)
    assert set(changes.values()) == {Change.CREATED}
    write_changed(tmp_path, files, changes)
    assert (tmp_path / "start").read_text().startswith("#!/bin/sh\n# Written by")
    assert (tmp_path / "start").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "config.yaml").stat().st_mode & 0o777 == 0o600
    assert set(compared(tmp_path, files).values()) == {Change.UNCHANGED}
    later = {**files, "config.yaml": WrittenFile("port: 2\n")}
    assert compared(tmp_path, later) == {"config.yaml": Change.CHANGED, "start": Change.UNCHANGED}
    (tmp_path / "config.yaml").write_text((tmp_path / "config.yaml").read_text() + "offers: [a]\n")
    assert compared(tmp_path, later)["config.yaml"] is Change.KEPT
    (tmp_path / "config.yaml").write_text("all my own\n")
    assert compared(tmp_path, later)["config.yaml"] is Change.KEPT


def test_what_is_wanted_is_remembered(tmp_path: Path) -> None:
    deployment, register = Deployment(tmp_path / "d"), Register(tmp_path / "account")
    deployment.folder.mkdir()
    deployment.change(lambda _: {HERE: Wanted(True, "s")})
    deployment.want([HERE], is_running=True, again=True)
    assert deployment.wanted()[HERE].generation == "s-1"
    deployment.want([HERE], is_running=False)
    assert deployment.wanted() == {HERE: Wanted(False, "s", 1)}
    register.add(deployment)
    register.add(deployment)
    assert register.deployments() == [deployment]
    deployment.forget([HERE])
    assert deployment.instances() == []


def test_a_start_file_that_was_copied_keeps_its_data_where_it_is(tmp_path: Path) -> None:
    """The parent of the folder to which somebody has copied it is often not theirs."""
    instance, elsewhere = tmp_path / "deployment" / "a_1", tmp_path / "elsewhere"
    for folder in (instance, elsewhere):
        folder.mkdir(parents=True)
        program = log_server_program("127.0.0.1:9900", None)
        write_changed(folder, {"start-log-server": program}, {"start-log-server": Change.CREATED})
    (instance / "start-receiver").touch()
    for folder in (instance, elsewhere):
        subprocess.run([folder / "start-log-server", "--help"], capture_output=True, timeout=60, check=True)
    assert {path.parent for path in tmp_path.rglob("log-server")} == {tmp_path / "deployment", elsewhere}
