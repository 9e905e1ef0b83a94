"""Which server, and with which token: nothing secret is readable by others or sent elsewhere."""

import stat
from pathlib import Path

import pytest

from muster.client import MusterError, contexts
from muster.client.contexts import DEFAULT_SERVER, Context, Contexts

pytestmark = pytest.mark.fast

LAB = Context("http://lab:7070", "lab-token", "li")
HOME = Context("http://home:7070", "home-token", "root")


def known() -> None:
    contexts.save(Contexts("lab", {"lab": LAB, "home": HOME}))


def test_nothing_known_is_this_machine() -> None:
    assert contexts.resolve() == Context(DEFAULT_SERVER, None, None)


def test_current_context_is_used() -> None:
    known()
    assert contexts.resolve() == LAB


def test_named_context_is_used() -> None:
    known()
    assert contexts.resolve(context="home") == HOME


def test_environment_overrides_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    known()
    monkeypatch.setenv("MUSTER_SERVER", "http://elsewhere:1/")
    monkeypatch.setenv("MUSTER_TOKEN", "from-environment")
    assert contexts.resolve() == Context("http://elsewhere:1", "from-environment", None)


def test_argument_overrides_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_SERVER", "http://elsewhere:1")
    assert contexts.resolve("http://here:2", "mine") == Context("http://here:2", "mine", None)


def test_token_of_one_server_never_goes_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    known()
    assert contexts.resolve("http://stranger:7070").token is None
    monkeypatch.setenv("MUSTER_SERVER", "http://stranger:7070")
    assert contexts.resolve().token is None


def test_known_server_named_by_address_gets_its_own_token() -> None:
    known()
    assert contexts.resolve("http://home:7070/").token == "home-token"


def test_unknown_context_is_refused_with_the_known_ones() -> None:
    known()
    with pytest.raises(MusterError) as caught:
        contexts.resolve(context="labb")
    assert "home, lab" in caught.value.hint


def test_file_is_readable_by_its_owner_only(home: Path) -> None:
    known()
    assert stat.S_IMODE((home / "context.json").stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir()] == ["context.json"]


def test_what_is_saved_is_read_back() -> None:
    known()
    assert contexts.load() == Contexts("lab", {"lab": LAB, "home": HOME})


def test_removing_the_current_context_leaves_another_current() -> None:
    assert Contexts("lab", {"lab": LAB, "home": HOME}).without("lab").current == "home"
    assert Contexts("lab", {"lab": LAB}).without("lab").current is None


@pytest.mark.parametrize("text", ["", "[]", '{"contexts": {"a": {}}}', '{"contexts": 3}', "\x00"])
def test_broken_file_is_told_by_name(home: Path, text: str) -> None:
    home.mkdir()
    (home / "context.json").write_text(text)
    with pytest.raises(MusterError, match=r"context\.json"):
        contexts.load()


def test_token_is_not_shown_in_reprs() -> None:
    assert "lab-token" not in repr(LAB)
