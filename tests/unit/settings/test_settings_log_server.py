"""The address of the log server and its token: what is refused before anything starts."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.domain.errors import Invalid
from muster.settings.log_server import LogServerSettings, read_token
from muster.settings.server import ServerSettings, load_settings

pytestmark = pytest.mark.fast


def load(home: Path, log_server: Any, key: str = "logServer", **environ: str) -> ServerSettings:
    (home / "config.yaml").write_text(yaml.safe_dump({key: log_server}))
    return load_settings({}, {"MUSTER_HOME": str(home), **environ})


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("loghost:9900", "http://loghost:9900"),
        ("loghost", "http://loghost:9900"),
        ("http://loghost:80/logs/", "http://loghost:80/logs"),
        ("https://loghost", "https://loghost"),
        ("[::1]:9900", "http://[::1]:9900"),
        ({"url": "loghost:1"}, "http://loghost:1"),
    ],
)
@pytest.mark.parametrize("key", ["logServer", "log_server"])
def test_an_address_is_enough(tmp_path: Path, written: Any, url: str, key: str) -> None:
    settings = load(tmp_path, written, key)
    assert settings.log_server is not None
    assert (settings.log_server.url, settings.log_server.max_backlog) == (url, 1_000_000)


def test_it_may_come_from_the_environment(tmp_path: Path) -> None:
    settings = load_settings({}, {"MUSTER_HOME": str(tmp_path), "MUSTER_LOG_SERVER": "loghost:9900"})
    assert settings.log_server is not None
    assert settings.log_server.url == "http://loghost:9900"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("ftp://loghost", "must look like"),
        ("loghost:port", "must look like"),
        ("log host:9900", "must look like"),
        ("http://", "must look like"),
        ("http://me:word@loghost", "tokenFile"),
        ("http://loghost?x=1", "query"),
        ({"url": "loghost", "colour": "red"}, "colour"),
        ({"url": "loghost", "maxBacklog": 0}, "maxBacklog"),
    ],
)
def test_what_is_no_address_is_refused(tmp_path: Path, wrong: Any, why: str) -> None:
    with pytest.raises(Invalid) as caught:
        load(tmp_path, wrong)
    assert why in str([*caught.value.problems])


def test_the_token_is_in_a_private_file_or_in_the_environment(tmp_path: Path) -> None:
    plain = LogServerSettings.model_validate("loghost:1")
    assert read_token(plain, tmp_path, {"MUSTER_LOGSERVER_TOKEN": " qx7-pp\n"}) == "qx7-pp"
    assert read_token(plain, tmp_path, {}) == ""
    (tmp_path / "token").write_text("qx7-pp\n")
    (tmp_path / "token").chmod(0o644)
    with pytest.raises(Invalid) as caught:
        load(tmp_path, {"url": "loghost", "tokenFile": "token"})
    assert "chmod 600" in str([*caught.value.problems])
    (tmp_path / "token").chmod(0o600)
    settings = load(tmp_path, {"url": "loghost", "tokenFile": "token"})
    assert settings.log_server_token == "qx7-pp"
    assert "qx7-pp" not in repr(settings)
