"""The file of the monitor: as YAML, as Python that is never executed, and with all its mistakes told at once."""

from pathlib import Path

import pytest

from muster.domain.errors import Invalid
from muster.settings.monitor_reading import MonitorConfig, read_monitor_config

pytestmark = pytest.mark.fast

SEED = '''"""
all receivers needed to be check alive
"""
receivers = [
        "yq01-ecom-triger-box01.yq01.baidu.com:9090",
        "127.0.0.1:9091",
        ]
"""
mail list to receive warning message

if any receive failed, send warning mails
send abstract mail each week even if no failure is found.
"""
warning_maillist = [
        "wangyanfei01@baidu.com",
        "luotao02@baidu.com",
        ]
'''
LEAST = "receivers: [a:1]\nwarning_maillist: [li@example.org]\n"


def read(tmp_path: Path, text: str, name: str = "monitor.yaml", **environ: str) -> MonitorConfig:
    file = tmp_path / name
    file.write_text(text)
    return read_monitor_config(file, {"MUSTER_HOME": str(tmp_path / "home"), **environ})


def refused(tmp_path: Path, text: str, name: str = "monitor.yaml", **environ: str) -> list[str]:
    with pytest.raises(Invalid) as error:
        read(tmp_path, text, name, **environ)
    return [str(one).removeprefix(f"{tmp_path / name}, ") for one in error.value.problems]


def test_the_python_file_of_the_old_platform_is_enough(tmp_path: Path) -> None:
    settings = read(tmp_path, SEED, "monitor_conf.py").settings
    assert [one.title for one in settings.receivers] == ["yq01-ecom-triger-box01.yq01.baidu.com:9090", "127.0.0.1:9091"]
    assert [one.url for one in settings.receivers][1] == "http://127.0.0.1:9091"
    assert settings.warning_maillist == ("wangyanfei01@baidu.com", "luotao02@baidu.com")
    assert (settings.interval, settings.smtp.host, settings.smtp.used_port) == (60.0, "localhost", 25)
    assert (settings.damping.failures, settings.language, settings.canary) == (2, "en", None)


def test_a_python_file_may_have_every_key(tmp_path: Path) -> None:
    more = 'interval = "30s"\nsmtp = {"host": "mail", "port": 2525}\ndamping = {"failures": -1}\n'
    assert refused(tmp_path, SEED + more, "m.py") == [
        "line 20: damping.failures: input should be greater than or equal to 1 (got -1)"
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import os", "line 18: `import os` is not read here (write `name = value`)"),
        ('interval = os.environ["X"]', "line 18: interval: `os.environ['…']` is not a literal"),
        ('receivers += ["b:1"]', "line 18: `receivers += ['…']` is not read here"),
        ('smtp = {"host": f"{x}"}', "line 18: smtp.host: the name x: no literal is assigned to it above"),
        ("notices = [\n  1,\n  ...,\n]", "line 20: notices[1]: `...` stands for what an example leaves out"),
        ('receivers = ["twice:1"]', "line 18: receivers: is given twice"),
        ("smtp = {**x}", "line 18: smtp: a key must be a text"),
        ("def f(): pass", "line 18: `def f(): pass` is not read here"),
        ('print("executed")', "line 18: `print('…')` is not read here"),
        ("a = b = 1", "line 18: `a = b = 1` is not read here"),
    ],
)
def test_python_that_is_not_a_literal_is_told_with_its_line(
    tmp_path: Path, line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (problem,) = refused(tmp_path, SEED + line + "\n", "m.py")
    assert problem.startswith(said)
    assert capsys.readouterr().out == ""


def test_python_may_put_texts_together_of_names_that_are_literals(tmp_path: Path) -> None:
    text = '_room = "a.example.org"\nreceivers = [_room + ":9090", "%s:9091" % _room, f"{_room}:9092"]\n'
    text += 'warning_maillist = ["li@example.org"]\nsmtp = {"host": "mail", "from": "muster@example.org"}\n'
    assert [one.url for one in read(tmp_path, text, "m.py").settings.receivers] == [
        f"http://a.example.org:{port}" for port in (9090, 9091, 9092)
    ]


def test_python_that_cannot_be_parsed_is_told_with_its_line(tmp_path: Path) -> None:
    assert refused(tmp_path, "receivers = [\n", "m.py") == ["line 1: '[' was never closed"]
    for text in ("x = " + "[" * 5000, "x = " + "-" * 100_000 + "1", "x = 1\0"):
        with pytest.raises(Invalid):
            read(tmp_path, text, "m.py")


def test_all_mistakes_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    text = """\
receivers: [a:x, {url: b:1, tokn: 1}, "http://me:pw@host"]
warning_maillist: [nobody, "a@b\\r\\nBcc: c@d"]
inteval: 3
smtp: {tls: maybe, hots: mail}
notices: [{kind: feishu, url: "http://x"}, {kind: slack, urlEnv: X, secretEnv: Y}, {kind: webhook}]
digest: {day: someday, time: "25:00", timeZone: Mars}
language: fr
damping: {failures: 0}
"""
    found = refused(tmp_path, text)
    for expected in (
        "line 1: receivers[0]: must be host:port",
        "line 1: receivers[1].tokn: unknown key (did you mean tokenFile?)",
        "line 1: receivers[2]: must contain neither an account nor a query; a token goes to tokenFile",
        "line 2: warning_maillist[0]: must be a mail address",
        "line 2: warning_maillist[1]: must be a mail address",
        "line 3: inteval: unknown key (did you mean interval?)",
        "line 4: smtp.tls: is 'maybe'",
        "line 4: smtp.hots: unknown key (did you mean host?)",
        "line 5: notices[0]: the address of a feishu robot is a secret: use urlFile or urlEnv",
        "line 5: notices[1]: slack has no signing secret",
        "line 5: notices[2]: needs one of url, urlFile and urlEnv",
        "line 6: digest.day: is 'someday'",
        "line 6: digest.time: must be a time of day such as 09:00",
        "line 6: digest.timeZone: is not a time zone",
        "line 7: language: is 'fr'",
        "line 8: damping.failures: input should be greater than or equal to 1",
    ):
        assert any(one.startswith(expected) for one in found), (expected, found)
    assert "pw@" not in "".join(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("receivers: []\nwarning_maillist: [a@b]\n", "names 0 receivers"),
        ("receivers: [a:1, a:1]\nwarning_maillist: [a@b]\n", "a:1 is named more than once"),
        ("receivers: [a:1]\n", "nobody would be told"),
        (LEAST + "interval: 5s\ntimeout: 6s\n", "timeout must not be longer than interval"),
        (LEAST + "smtp: {user: x, host: mail}\n", "user needs either passwordFile or passwordEnv"),
        (LEAST + "smtp: {user: x, host: mail, passwordEnv: P}\n", "a login needs tls"),
        (LEAST + "canary: {}\n", "a canary job needs a token"),
        (LEAST + "tokenFile: a\ntokenEnv: B\n", "choose either tokenFile or tokenEnv"),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert any(said in one for one in refused(tmp_path, text))


@pytest.mark.parametrize(("interval", "timeout_s"), [("2s", 2.0), ("15s", 15.0), ("1m", 15.0)])
def test_a_short_interval_shortens_the_timeout_that_is_not_given(
    tmp_path: Path, interval: str, timeout_s: float
) -> None:
    assert read(tmp_path, LEAST + f"interval: {interval}\n").settings.timeout == timeout_s


def test_a_password_in_the_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    text = LEAST + "smtp: {host: mail, user: x, tls: tls, password: hunter22}\n"
    found = refused(tmp_path, text)
    assert any("smtp.password: is a secret" in one for one in found)
    assert "hunter22" not in "".join(found)


def test_secrets_come_from_private_files_and_variables(tmp_path: Path) -> None:
    for name, value in (("token", "mst_1"), ("hook", "https://open.example.org/hook/1"), ("sign", "s1")):
        (tmp_path / name).write_text(f"{value}\n")
        (tmp_path / name).chmod(0o600)
    text = (
        LEAST
        + "tokenFile: token\nsmtp: {host: mail, user: x, tls: starttls, passwordEnv: MAIL}\nping: {urlEnv: PING}\n"
        + "notices: [{kind: feishu, urlFile: hook, secretFile: sign}, {kind: webhook, url: https://w.example.org}]\n"
    )
    config = read(tmp_path, text, MAIL="pw", PING="https://ping.example.org/x")
    assert config.secrets.tokens == ("mst_1",)
    assert config.secrets.addresses == ("https://open.example.org/hook/1", "https://w.example.org")
    assert (config.secrets.signing, config.secrets.smtp_password) == (("s1", ""), "pw")
    shown = f"{config!r}{config.settings.model_dump_json()}"
    assert not [one for one in ("mst_1", "hook/1", "s1", "pw", "ping.example") if one in shown]


def test_all_secrets_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "open").write_text("mst_1")
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "words").write_text("not an address\n")
    (tmp_path / "words").chmod(0o600)
    text = (
        LEAST
        + "tokenFile: open\nping: {urlEnv: PING}\nnotices:\n"
        + "- {kind: slack, urlFile: words}\n- {kind: wecom, urlFile: gone}\n"
    )
    found = refused(tmp_path, text)
    assert [one.partition(":")[0] for one in found] == ["line 3", "line 6", "line 7", "line 4"]
    assert "other users can read" in found[0]
    assert "is not an address" in found[1]
    assert "the variable PING is not set" in found[3]


def test_a_token_that_is_none_is_refused_and_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("created token 1 for li: hunter22\n")
    (tmp_path / "token").chmod(0o600)
    found = refused(tmp_path, LEAST + "tokenFile: token\n")
    assert found == ["line 3: tokenFile: what it contains is not a token (see `muster tokens create`)"]


def test_what_cannot_be_read_at_all_is_told(tmp_path: Path) -> None:
    for text in ("", "- a\n", "receivers: [\n"):
        with pytest.raises(Invalid, match="cannot read"):
            read(tmp_path, text)
    with pytest.raises(Invalid, match="cannot read"):
        read_monitor_config(tmp_path / "gone.yaml")


def test_the_state_is_beside_the_file_or_at_home(tmp_path: Path) -> None:
    assert read(tmp_path, LEAST).state_file == tmp_path / "home" / "monitor.json"
    assert read(tmp_path, LEAST + "stateFile: here.json\n").state_file == tmp_path / "here.json"


def test_a_mistake_brings_no_second_one_about_the_default_of_another_key(tmp_path: Path) -> None:
    assert refused(tmp_path, "receivers: [a:99999]\nwarning_maillist: [li@example.org]\n") == [
        "line 1: receivers[0]: must be host:port, or an address such as https://muster.example.org"
    ]


@pytest.mark.parametrize("address", ["http://a..b/x", "http://a:99999/x", "ftp://a/x", "http:///x", "http://[::1/x"])
def test_an_address_that_leads_nowhere_is_refused(tmp_path: Path, address: str) -> None:
    (problem,) = refused(tmp_path, f"{LEAST}notices: [{{kind: webhook, url: '{address}'}}]\n")
    assert "must be an address such as https://" in problem
    file = tmp_path / "url"
    file.write_text(address)
    file.chmod(0o600)
    (problem,) = refused(tmp_path, f"{LEAST}notices: [{{kind: slack, urlFile: url}}]\n")
    assert problem.endswith("notices[0].urlFile: what it contains is not an address that begins with http(s)://")


def test_a_file_of_authorities_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (missing,) = refused(tmp_path, f"{LEAST}smtp: {{tls: starttls, caFile: missing.pem}}\n")
    assert missing.endswith(f"smtp.caFile: cannot read {tmp_path}/missing.pem: No such file or directory")
    (tmp_path / "ca.pem").write_text("not a certificate\n")
    (other,) = refused(tmp_path, f"{LEAST}smtp: {{tls: starttls, caFile: ca.pem}}\n")
    assert other.endswith(f"smtp.caFile: {tmp_path}/ca.pem has no certificates in the format PEM")
