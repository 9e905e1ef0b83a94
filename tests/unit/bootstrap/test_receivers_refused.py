"""What a machine refuses of a deployment, before anything is written."""

import os
import socket
from pathlib import Path

import pytest

from muster.bootstrap.receivers_refused import open_log_server, refused_here, unknown_log_server
from muster.receivers.addresses import Address
from muster.settings.receivers import ReceiversFile, Sound

pytestmark = pytest.mark.fast


def test_a_folder_that_takes_nothing_is_refused(tmp_path: Path) -> None:
    (refused,) = refused_here(Sound({}, Path("/proc/foo"), None))
    assert (refused.path, refused.message) == ("deploy_dir", "/proc cannot be written to: No such file or directory")
    assert list(refused_here(Sound({}, tmp_path / "a" / "b", None))) == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_others_can_fill_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "deployment"
    folder.mkdir()
    folder.chmod(0o775)
    assert list(refused_here(Sound({}, folder, None))) == []
    folder.chmod(0o1777)
    (refused,) = refused_here(Sound({}, folder, None))
    assert (refused.path, refused.message) == ("deploy_dir", f"everybody can write to {folder}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 4242, 4242)
    (refused,) = refused_here(Sound({}, tmp_path, None))
    assert refused.message == f"{tmp_path} belongs to the user with the number 4242"


def test_a_log_server_that_would_not_start_is_told() -> None:
    def notes(log_server: object, **environ: str) -> list[str]:
        given = {"receivers": ["a:1"], "deploy_dir": "/srv", "log_server": log_server}
        return list(open_log_server(ReceiversFile.model_validate(given), environ))

    (told,) = notes("loghost:9900")
    assert "start-log-server would not start without a token" in told
    assert notes("127.0.0.1:9900") == notes({"url": "loghost:9900", "tokenFile": "/etc/token"}) == []
    assert notes("loghost:9900", MUSTER_LOGSERVER_TOKEN="x") == []


def test_a_database_of_another_kind_is_refused() -> None:
    (refused,) = refused_here(Sound({}, None, "mysql://u:secret@x"))
    assert (refused.path, refused.message) == ("database", "databases of kind mysql are not supported")
    assert list(refused_here(Sound({}, None, "postgresql://u:secret@x/y"))) == []


def test_a_log_server_of_an_unknown_name_is_told() -> None:
    common = {"receivers": ["a:1"], "deploy_dir": "/srv"}
    settings = ReceiversFile.model_validate({**common, "log_server": "nowhere.invalid"})
    assert list(unknown_log_server(settings)) == [
        "the name of the log server, nowhere.invalid, is not known on this machine"
    ]
    for known in ({"log_server": "127.0.0.1:1"}, {}):
        assert list(unknown_log_server(ReceiversFile.model_validate({**common, **known}))) == []


def test_a_port_in_use_is_told_also_if_the_folder_is_wrong() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        here = Address(*taken.getsockname())
        (refused,) = refused_here(Sound({3: here, 4: here}, None, None))
    assert (refused.path, refused.message) == ("receivers[3]", f"port {here.port} is in use")
