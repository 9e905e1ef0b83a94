"""Where to push to: what is refused before anything starts."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.domain.errors import Invalid
from muster.settings.server import ServerSettings, load_settings

pytestmark = pytest.mark.fast


def load(home: Path, **influx: Any) -> ServerSettings:
    (home / "config.yaml").write_text(yaml.safe_dump({"influx": influx}))
    return load_settings({}, {"MUSTER_HOME": str(home)})


def a_secret(home: Path, text: str = "word\n", mode: int = 0o600) -> str:
    (home / "influx-password").write_text(text)
    (home / "influx-password").chmod(mode)
    return "influx-password"


def test_an_address_is_enough(tmp_path: Path) -> None:
    settings = load(tmp_path, url="http://monitor:8086/")
    assert settings.influx is not None
    assert (settings.influx.url, settings.influx.database, settings.influx.every) == (
        "http://monitor:8086",
        "muster",
        10.0,
    )
    assert settings.influx_password == ""


def test_the_password_is_the_first_line_of_a_file_in_the_home_folder(tmp_path: Path) -> None:
    settings = load(tmp_path, url="http://monitor:8086", user="muster", passwordFile=a_secret(tmp_path), every="2s")
    assert settings.influx_password == "word"
    assert "word" not in repr(settings).replace("password", "")


@pytest.mark.parametrize(
    ("influx", "words"),
    [
        ({}, "influx.url: is required"),
        ({"url": "monitor:8086"}, "must look like http://monitor:8086"),
        ({"url": "http://li:word@monitor:8086"}, "use `user` and `passwordFile`"),
        ({"url": "http://monitor:8086?db=x"}, "use `database` for the database"),
        ({"url": "http://m", "user": "li"}, "user and passwordFile must be given together"),
        ({"url": "http://m", "user": "li", "passwordFile": "nowhere"}, "cannot read"),
        ({"url": "http://m", "every": "10ms"}, "greater than or equal to 1"),
        ({"url": "http://m", "databse": "x"}, "did you mean database?"),
    ],
)
def test_wrong_settings_are_told_before_anything_starts(tmp_path: Path, influx: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid) as refused:
        load(tmp_path, **influx)
    told = " ".join(map(str, refused.value.problems))
    assert words in told
    assert "word@" not in told


@pytest.mark.parametrize(("mode", "text", "words"), [(0o640, "word\n", "chmod 600"), (0o600, "\n", "is empty")])
def test_a_password_file_is_private_and_holds_one(tmp_path: Path, mode: int, text: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        load(tmp_path, url="http://m", user="li", passwordFile=a_secret(tmp_path, text, mode))
    assert words in " ".join(map(str, refused.value.problems))
