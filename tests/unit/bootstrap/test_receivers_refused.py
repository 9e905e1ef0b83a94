"""What a machine refuses of a deployment, before anything is written."""

import socket
from pathlib import Path

import pytest

from muster.bootstrap.receivers_refused import refused_here, unknown_log_server
from muster.receivers.addresses import Address
from muster.settings.receivers import ReceiversFile, Sound

pytestmark = pytest.mark.fast


def test_a_folder_that_takes_nothing_is_refused(tmp_path: Path) -> None:
    (refused,) = refused_here(Sound({}, Path("/proc/foo"), None))
    assert (refused.path, refused.message) == ("deploy_dir", "/proc cannot be written to: No such file or directory")
    assert list(refused_here(Sound({}, tmp_path / "a" / "b", None))) == []
    assert list(tmp_path.iterdir()) == []


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
