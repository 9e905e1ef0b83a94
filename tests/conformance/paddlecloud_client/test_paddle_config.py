"""`~/.paddle/config`, as the documents of paddlecloud describe it, in both of its forms."""

from pathlib import Path

import pytest

from muster.client.errors import MusterError
from muster.client.paddle_config import Datacenter, read_active

pytestmark = pytest.mark.fast

ACTIVE = """\
datacenters:
- name: datacenter1
  active: true
  username: li@example.org
  password: secret
  endpoint: http://cloud.example.org
"""
CURRENT = """\
datacenters:
- {name: dc1, username: li, password: one, endpoint: "http://one.example.org:8000/"}
- {name: dc2, username: wang, password: two, endpoint: 'https://two.example.org\\', usercert: a, userkey: b}
current-datacenter: dc2
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "config"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> MusterError:
    with pytest.raises(MusterError) as raised:
        read_active(written(folder, text))
    return raised.value


def test_the_datacenter_that_is_active_is_used(tmp_path: Path) -> None:
    found = read_active(written(tmp_path, ACTIVE))

    assert found == Datacenter("datacenter1", "http://cloud.example.org", "li@example.org", "secret")
    assert "secret" not in repr(found)


def test_the_current_datacenter_is_used_and_slashes_after_the_endpoint_are_left_out(tmp_path: Path) -> None:
    assert read_active(written(tmp_path, CURRENT)) == Datacenter("dc2", "https://two.example.org", "wang", "two")
    other = CURRENT.replace("current-datacenter: dc2", "current-datacenter: dc1")
    assert read_active(written(tmp_path, other)).endpoint == "http://one.example.org:8000"


def test_one_of_several_is_active(tmp_path: Path) -> None:
    text = ACTIVE + "- {name: other, active: false, username: x, password: y, endpoint: http://other.example.org}\n"
    assert read_active(written(tmp_path, text)).name == "datacenter1"


@pytest.mark.parametrize("password", ["0123", "no", "1e3", "12_3", "~", "'quo ted'", '"a:b"'])
def test_a_password_is_text_whatever_it_looks_like(tmp_path: Path, password: str) -> None:
    text = ACTIVE.replace("password: secret", f"password: {password}")
    assert read_active(written(tmp_path, text)).password == password.strip("'\"")


def test_two_active_datacenters_are_refused_by_name(tmp_path: Path) -> None:
    text = ACTIVE + "- {name: other, active: true, username: x, password: y, endpoint: http://other.example.org}\n"
    error = refusal(tmp_path, text)
    assert "'datacenter1' and 'other' have `active: true`" in error.message
    assert "only one" in error.hint


def test_active_and_current_that_disagree_are_refused(tmp_path: Path) -> None:
    text = CURRENT.replace("{name: dc1,", "{name: dc1, active: true,")
    assert "'dc1' has `active: true`" in refusal(tmp_path, text).message


def test_a_current_datacenter_that_matches_nothing_is_refused_with_the_names(tmp_path: Path) -> None:
    error = refusal(tmp_path, CURRENT.replace("current-datacenter: dc2", "current-datacenter: dc3"))
    assert "'dc3'" in error.message
    assert "dc1, dc2" in error.hint


def test_no_active_datacenter_is_refused_with_a_way_out(tmp_path: Path) -> None:
    error = refusal(tmp_path, ACTIVE.replace("active: true", "active: false"))
    assert "no datacenter is active" in error.message
    assert "current-datacenter: NAME" in error.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no `datacenters`"),
        ("- a\n", "no `datacenters`"),
        ("datacenters: none\n", "not a list"),
        ("datacenters: []\n", "not a list"),
        ("datacenters: [x]\n", "datacenters[0] is not a mapping"),
        (ACTIVE.replace("name: datacenter1", "title: x"), "datacenters[0] has no name"),
        (ACTIVE.replace("http://cloud.example.org", "cloud.example.org"), "not the URL"),
        (ACTIVE.replace("http://cloud.example.org", "http://h:99999999"), "not the URL"),
        (ACTIVE.replace("http://cloud", "http://li:pw@cloud"), "contains a login"),
        (ACTIVE.replace("active: true", "active: maybe"), "neither true nor false"),
        (ACTIVE.replace("password: secret", "password: [secret]"), "datacenters[0].password is not a single text"),
        (ACTIVE + ACTIVE.split("\n", 1)[1].replace("active: true", ""), "two datacenters have the name"),
        (ACTIVE.replace("  password: secret", "  password: 'secret"), "not valid YAML"),
    ],
)
def test_what_cannot_be_used_is_said_without_the_password(tmp_path: Path, text: str, words: str) -> None:
    error = refusal(tmp_path, text)
    assert words in error.message
    assert "secret" not in f"{error.message} {error.hint}"


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(MusterError, match="No such file"):
        read_active(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MusterError, match="UTF-8"):
        read_active(tmp_path / "binary")
