"""Which login a user has on a Slurm cluster, by its file."""

from pathlib import Path

import pytest

from muster.backends.logins.options import Login
from muster.backends.slurm.cluster_file import SLURM_CLUSTERS
from muster.backends.slurm.kind import unused_files
from muster.backends.slurm.login.login_register import LoginRegister
from muster.backends.slurm.login.place_changes import is_same_account
from muster.backends.slurm.options import SlurmOptions
from muster.backends.slurm.user_logins import LoginPattern, UserLogins
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Invalid
from muster.settings.cluster_kinds import ClusterKinds
from muster.wire.documents import read_document

pytestmark = pytest.mark.fast
_PRIVATE = "PRIVATE"
SERVICE = Login("login", 2222, "muster", "/etc/muster/key")


def read(text: str) -> SlurmOptions:
    cluster = ClusterKinds((SLURM_CLUSTERS,)).described(read_document(f"backend: slurm\n{text}"), "hpc").cluster
    assert isinstance(cluster.options, SlurmOptions)
    return cluster.options


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    for name in ("amy", "bob", "root", "bob.bak", "bob~"):
        (tmp_path / name).write_text(f"-----BEGIN OPENSSH {_PRIVATE} KEY-----\n…\n")
    (tmp_path / "bob.pub").write_text("ssh-ed25519 AAAA bob\n")
    (tmp_path / "README").write_text("Each file is the key of a user.\n")
    (tmp_path / "carl").mkdir()
    return tmp_path


def test_pattern_is_filled_with_the_name_of_the_owner(keys: Path) -> None:
    logins = UserLogins({"*": LoginPattern("${owner}", f"{keys}/${{owner}}")})

    found = logins.of("amy", SERVICE, "/home/${user}/of-${owner}")

    assert found is not None
    assert (found.login.user, found.login.key_file) == ("amy", f"{keys}/amy")
    assert (found.login.host, found.login.port) == ("login", 2222)
    assert found.root == "/home/amy/of-amy"


def test_entry_of_a_user_comes_before_the_one_for_everybody(keys: Path) -> None:
    logins = UserLogins(
        {"*": LoginPattern("${owner}", f"{keys}/${{owner}}"), "carl": LoginPattern("c2", f"{keys}/bob")}
    )

    found = logins.of("carl", SERVICE, "/home/${user}")

    assert found is not None
    assert (found.login.user, found.login.key_file, found.root) == ("c2", f"{keys}/bob", "/home/c2")


@pytest.mark.parametrize(
    "owner", ["dora", "root", "bob.pub", "bob.bak", "../amy", "a/b", ".", "", "-amy", "a b", "amy\n"]
)
def test_others_have_none(keys: Path, owner: str) -> None:
    assert UserLogins({"*": LoginPattern("${owner}", f"{keys}/${{owner}}")}).of(owner, SERVICE, "") is None


def test_users_whose_keys_are_there_are_known(keys: Path) -> None:
    logins = UserLogins({"*": LoginPattern("${owner}", f"{keys}/${{owner}}"), "root": LoginPattern("admin")})

    assert logins.known_owners() == ["root", "amy", "bob"]
    ((folder, files),) = logins.left_out()
    assert folder == str(keys)
    assert files == (
        "README (no private key)",
        "bob.bak (not the name of an account)",
        "bob.pub (not the name of an account)",
        "bob~ (not the name of an account)",
        "carl (not a file)",
    )


def test_passwords_of_users_are_in_files_of_any_content(tmp_path: Path) -> None:
    for name in ("amy.password", "amy.password.bak", "README"):
        (tmp_path / name).write_text("secret\n")
    logins = UserLogins({"*": LoginPattern("${owner}", None, f"{tmp_path}/${{owner}}.password")})

    assert logins.known_owners() == ["amy"]
    assert logins.left_out() == []


def test_check_says_what_is_left_out(keys: Path) -> None:
    options = read(f"{_LOGIN}logins: {{'*': {{keyFile: '{keys}/${{owner}}'}}}}\n")
    (told,) = unused_files(PhysicalCluster("hpc", "slurm", options=options))
    assert told.startswith(f"not taken for logins in {keys}: README (no private key), bob.bak")


def test_another_key_leads_to_the_same_account(keys: Path) -> None:
    text = "login: {host: login, user: muster}\nsubmitAs: login\nlogins: {amy: {user: %s, keyFile: %s}}\n"
    first = read(text % ("amy", keys / "amy")).for_owner("amy")
    rotated = read(text % ("amy", keys / "bob")).for_owner("amy")
    other = read(text % ("amelia", keys / "amy")).for_owner("amy")
    assert first is not None
    assert rotated is not None
    assert other is not None
    assert first != rotated
    assert is_same_account(first, rotated)
    assert not is_same_account(first, other)


_LOGIN = "login: {host: login, user: muster}\nsubmitAs: login\n"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("submitAs: login\nlogins: {'*': {}}\n", "login"),
        (_LOGIN, "logins"),
        (_LOGIN + "logins: {'*': {}}\nsharedFolder: /mnt/muster\n", "sharedFolder"),
        (_LOGIN + "logins: {'*': {}}\nrelayAddress: login:7071\n", "relayAddress"),
        (_LOGIN + "logins: {'*': {user: all}}\n", "logins.*.user"),
        (_LOGIN + "logins: {amy: {user: 'a b'}}\n", "logins.amy.user"),
        ("logins: {'*': {}}\n", "logins"),
        ("sharedFolder: /mnt/${user}\n", "sharedFolder"),
        ("sharedFolder: /mnt/$HOME\n", "sharedFolder"),
    ],
)
def test_mistakes_in_the_file_are_named(text: str, key: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)

    assert [problem.path for problem in refused.value.problems] == [key]


def test_register_keeps_whose_logins_are_used(tmp_path: Path) -> None:
    register = LoginRegister(tmp_path / "new" / "logins.json")
    register.add("amy")
    register.add("bob")
    register.add("amy")
    register.remove("amy")

    assert LoginRegister(tmp_path / "new" / "logins.json").owners == ("bob",)
