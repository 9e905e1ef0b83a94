"""Which files of a folder are the keys or passwords of users, where the cluster file names them by `${owner}`.

People keep other files there, too: public keys, copies, a README. None of them is a login.
"""

import re
from dataclasses import dataclass
from pathlib import Path

PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,254}")
_COPY = re.compile(r".*(~|\.(pub|bak|backup|old|orig|save|swp|tmp|new|dpkg-\w+|rpm\w+))", re.IGNORECASE)
_PRIVATE_KEY = re.compile(rb"^-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----\s*$", re.MULTILINE)
_READ_BYTES = 1 << 14


@dataclass(frozen=True, slots=True)
class KeyFolder:
    owners: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Each file that is no login, and why: `README (no private key)`."""


def read_key_folder(pattern: str, owner: str, *, is_key: bool, never: str) -> KeyFolder:
    """The folder of `pattern`, in whose last part `owner` stands for the user. `is_key` says that the files are private
    keys, and `never` is a user who is not meant."""
    path = Path(pattern).expanduser()
    if path.name.count(owner) != 1 or owner in str(path.parent):
        return KeyFolder()
    before, after = path.name.split(owner)
    try:
        files = sorted(path.parent.iterdir())
    except OSError:
        return KeyFolder()
    owners: list[str] = []
    left_out: list[str] = []
    for file in files:
        name = file.name[len(before) : len(file.name) - len(after)]
        if file.name != before + name + after or name == never:
            continue
        if why := _why_not(name, file, is_key=is_key):
            left_out.append(f"{file.name} ({why})")
        else:
            owners.append(name)
    return KeyFolder(tuple(owners), tuple(left_out))


def is_account_name(name: str) -> bool:
    return PLAIN_NAME.fullmatch(name) is not None and _COPY.fullmatch(name) is None


def _why_not(name: str, file: Path, *, is_key: bool) -> str:
    """A file that may not be looked at counts: logging in says what is wrong."""
    if not is_account_name(name):
        return "not the name of an account"
    try:
        if not file.is_file():
            return "not a file"
        if is_key and not _is_private_key(file):
            return "no private key"
    except OSError:
        return ""
    return ""


def _is_private_key(file: Path) -> bool:
    with file.open("rb") as opened:
        return _PRIVATE_KEY.search(opened.read(_READ_BYTES)) is not None
