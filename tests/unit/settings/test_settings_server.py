"""The server's settings: who wins over whom, and every problem at once."""

from pathlib import Path

import pytest

from muster.domain.errors import Invalid
from muster.settings.server import home_folder, load_settings

pytestmark = pytest.mark.fast


def test_defaults_listen_on_this_machine_only_and_keep_all_in_the_home_folder(tmp_path: Path) -> None:
    settings = load_settings({}, {"MUSTER_HOME": str(tmp_path)})
    assert (settings.home, settings.host, settings.port) == (tmp_path, "127.0.0.1", 7070)
    assert settings.database_url == f"sqlite:///{tmp_path}/muster.db"
    assert settings.keep_finished is None


def test_the_command_line_wins_over_variables_and_those_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("host: 1.1.1.1\nport: 1\nlogLevel: error\nkeepFinished: 30d\n")
    environ = {"MUSTER_HOME": str(tmp_path), "MUSTER_PORT": "2", "MUSTER_LOG_LEVEL": "debug", "MUSTER_HOST": ""}
    settings = load_settings({"port": 3, "host": None}, environ)
    assert (settings.host, settings.port, settings.log_level) == ("1.1.1.1", 3, "debug")
    assert settings.keep_finished == 30 * 86400


@pytest.mark.parametrize("key", ["logLevel", "log_level"])
def test_a_setting_may_be_named_either_way_and_the_later_still_wins(tmp_path: Path, key: str) -> None:
    (tmp_path / "config.yaml").write_text(f"{key}: error\n")
    environ = {"MUSTER_HOME": str(tmp_path)}
    assert load_settings({}, environ).log_level == "error"
    assert load_settings({"log_level": "debug"}, environ).log_level == "debug"
    assert load_settings({}, {**environ, "MUSTER_LOG_LEVEL": "warning"}).log_level == "warning"


def test_another_file_may_be_named_and_must_be_there(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    with pytest.raises(Invalid, match="no settings file"):
        load_settings({"config": str(file)}, {})
    file.write_text("port: 9\n")
    assert load_settings({"config": str(file), "home": str(tmp_path)}, {}).port == 9


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("prot: 1\nport: 99999\nlogLevel: loud\nkeepFinished: soon\n")
    with pytest.raises(Invalid) as refused:
        load_settings({"home": str(tmp_path)}, {})
    assert sorted(problem.path for problem in refused.value.problems) == ["keepFinished", "logLevel", "port", "prot"]


@pytest.mark.parametrize("value", ["90", "90.5", "'90'"])
def test_a_retention_without_a_unit_is_refused(tmp_path: Path, value: str) -> None:
    (tmp_path / "config.yaml").write_text(f"keepFinished: {value}\n")
    with pytest.raises(Invalid) as refused:
        load_settings({"home": str(tmp_path)}, {})
    assert "Write a unit" in str(refused.value.problems[0])


def test_a_problem_names_the_file_the_line_and_the_nearest_key(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("host: here\nprot: 1\nlog_level: loud\nlimits:\n  streams: many\n  uplaods: 3\n")
    with pytest.raises(Invalid) as refused:
        load_settings({"home": str(tmp_path)}, {"MUSTER_PORT": "high"})
    assert sorted(map(str, refused.value.problems)) == [
        f"{file}, line 2: prot: unknown key (did you mean port?)",
        f"{file}, line 3: log_level: is 'loud' (must match ^(debug|info|warning|error)$)",
        f"{file}, line 5: limits.streams: is 'many' (expected a whole number)",
        f"{file}, line 6: limits.uplaods: unknown key (did you mean uploads?)",
        "MUSTER_PORT: is 'high' (expected a whole number)",
    ]


def test_a_wrong_key_of_the_log_server_is_answered_with_its_own_keys(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("logServer: {url: 'a:1', foo: 1}\n")
    with pytest.raises(Invalid) as refused:
        load_settings({"home": str(tmp_path)}, {})
    (problem,) = refused.value.problems
    assert (problem.path, problem.message) == ("logServer.foo", "unknown key")
    assert problem.hint == "known keys: url, tokenFile, caFile, maxBacklog, alertAfter"


def test_a_rule_about_several_settings_shows_no_values(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("database: postgresql://li:word@db/muster\ntlsCert: a.pem\n")
    with pytest.raises(Invalid) as refused:
        load_settings({"home": str(tmp_path)}, {})
    assert list(map(str, refused.value.problems)) == ["tlsCert and tlsKey must be given together"]


@pytest.mark.parametrize("content", [b"a: [", b"just words", b"- 1", b"\xff\xfe\x00", b"host: \x80"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.yaml").write_bytes(content)
    with pytest.raises(Invalid, match=r"config\.yaml"):
        load_settings({"home": str(tmp_path)}, {})


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("# nothing yet\n")
    assert load_settings({"home": str(tmp_path)}, {}).port == 7070


def test_the_home_folder_is_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home_folder({"MUSTER_HOME": "here"}) == tmp_path / "here"
    assert home_folder({}) == tmp_path / ".muster"
