"""Which login each user of Muster has on the login node, as the cluster file names them.

The name of a user becomes a part of paths and the name of an account, so that only plain names are put there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from muster.backends.logins.options import Login
from muster.backends.slurm.key_folders import PLAIN_NAME, KeyFolder, is_account_name, read_key_folder

EVERYBODY = "*"
"""The entry for all users who have none of their own."""
OWNER = "${owner}"
ACCOUNT = "${user}"
_SUPERUSER = "root"


@dataclass(frozen=True, slots=True)
class LoginPattern:
    """What the file says of a login. `${owner}` is the name of the user in Muster. What is None is as for `login`."""

    user: str | None = None
    key_file: str | None = None
    password_file: str | None = None

    def login(self, owner: str, service: Login) -> Login:
        return replace(
            service,
            user=_filled(self.user, owner) or owner,
            key_file=_filled(self.key_file, owner) or (None if self.password_file else service.key_file),
            password_file=_filled(self.password_file, owner),
        )


@dataclass(frozen=True, slots=True)
class UserLogin:
    login: Login
    root: str
    """Muster's folder there: in the home of the account, or one that the nodes see, too."""


@dataclass(frozen=True, slots=True)
class UserLogins:
    patterns: Mapping[str, LoginPattern] = field(default_factory=dict)
    """The pattern of each user, and with the name `*` that of all others."""

    def of(self, owner: str, service: Login | None, root: str) -> UserLogin | None:
        """Returns None if the user has no login: the file names none, or there is no such key. `root` may contain
        `${owner}` and `${user}`, the account. The superuser is never meant by `*`."""
        pattern = self.patterns.get(owner)
        if pattern is None and owner != _SUPERUSER and is_account_name(owner):
            pattern = self.patterns.get(EVERYBODY)
        if pattern is None or service is None or not PLAIN_NAME.fullmatch(owner):
            return None
        login = pattern.login(owner, service)
        if any(path is not None and _is_absent(path) for path in (login.key_file, login.password_file)):
            return None
        return UserLogin(login, _filled(root, owner, login.user or "") or "")

    def known_owners(self) -> list[str]:
        """Those whom the file names, and those of whom there is a file where `*` looks for it."""
        named = [owner for owner in self.patterns if owner != EVERYBODY]
        found = [owner for _, folder in self._folders() for owner in folder.owners]
        return list(dict.fromkeys([*named, *found]))

    def left_out(self) -> list[tuple[str, tuple[str, ...]]]:
        """The folders in which `*` looks for files of users, with what lies there and is none."""
        return [(name, folder.left_out) for name, folder in self._folders() if folder.left_out]

    def _folders(self) -> Iterator[tuple[str, KeyFolder]]:
        everybody = self.patterns.get(EVERYBODY) or LoginPattern()
        for path, is_key in ((everybody.key_file, True), (everybody.password_file, False)):
            if path:
                yield str(Path(path).parent), read_key_folder(path, OWNER, is_key=is_key, never=_SUPERUSER)


def _filled(text: str | None, owner: str, account: str = "") -> str | None:
    return None if text is None else text.replace(OWNER, owner).replace(ACCOUNT, account)


def _is_absent(path: str) -> bool:
    """A file that may not be looked at is there: logging in says what is wrong."""
    try:
        Path(path).expanduser().stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False
