"""Job templates that users share: files with a job among them, in versions."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muster.domain.accounts import User
from muster.domain.errors import Problem
from muster.domain.specs import JobSpec

JOB_FILE = "job.yaml"
MAX_FILES = 100
MAX_BYTES = 1 << 20
"""All files of one version together."""
MAX_PER_USER = 100
MAX_VERSIONS = 20
"""The most versions of one template. The oldest is removed when another is published."""

_SECRET_NAME = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(_|$)", re.IGNORECASE)
_HARMLESS = re.compile(r"|\d+(\.\d+)?|true|false|none|null", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{?\w|/|\./")
_SECRET_TEXT = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{30,}"
    r"|\bsk-[A-Za-z0-9_-]{32,}|\bxox[abprs]-[A-Za-z0-9-]{10,}"
)
_SECRET_FILE = re.compile(r"(^|/)(\.env(\..*)?|\.netrc|id_(rsa|dsa|ecdsa|ed25519)|[^/]*\.(pem|p12|pfx))$")
_HIDDEN_ALLOWED = frozenset({".gitignore", ".dockerignore", ".musterignore"})


@dataclass(frozen=True, slots=True)
class Template:
    """One version of a template. Who may see the newest version may see all."""

    name: str
    version: int
    author_id: str
    author: str
    created_at: float
    description: str = ""
    group: str = ""
    """Whose members may use it; with `everyone`, everybody may; with neither, only its author and admins."""
    everyone: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    size_bytes: int = 0

    def may_use(self, user: User) -> bool:
        is_member = bool(self.group) and self.group in user.groups
        return self.everyone or is_member or self.may_replace(user)

    def may_replace(self, user: User) -> bool:
        return user.is_admin or user.id == self.author_id


def wrong_files(files: Mapping[str, str]) -> Iterator[Problem]:
    """Yields what is wrong with the paths and sizes of a template's files."""
    if JOB_FILE not in files:
        yield Problem("files", f"there is no {JOB_FILE} among them", "a template is a job file and what it needs")
    if len(files) > MAX_FILES:
        yield Problem("files", f"there are {len(files)} files", f"a template has at most {MAX_FILES}")
    size = sum(len(text.encode()) for text in files.values())
    if size > MAX_BYTES:
        yield Problem("files", f"they have {size} bytes", f"a template has at most {MAX_BYTES >> 10} KiB")
    for path in files:
        parts = path.split("/")
        if path.startswith("/") or not path.isprintable() or len(path) > 255 or {"", ".", ".."} & set(parts):
            yield Problem("files", f"{path[:100]!r} is not a path in the template")
        elif is_hidden(path):
            yield Problem("files", f"{path[:100]} is hidden, which a template's files cannot be", _WHY_NOT_HIDDEN)


def is_hidden(path: str) -> bool:
    """Whether a part of the path begins with a dot. Git, shells, editors and others run what such files say, without
    being asked to, in the folder of whoever uses the template."""
    *folders, name = path.split("/")
    return any(part.startswith(".") for part in folders) or (name.startswith(".") and name not in _HIDDEN_ALLOWED)


def secrets_in(spec: JobSpec, files: Mapping[str, str]) -> Iterator[Problem]:
    """Yields what looks like a secret, which everybody who may use the template could read."""
    variables = {f"env.{name}": value for name, value in spec.env.items()}
    variables |= {f"params.{name}": str(value) for name, value in spec.params.items()}
    for role in spec.roles:
        variables |= {f"roles.{role.name}.env.{name}": value for name, value in role.env.items()}
    for path, value in variables.items():
        if _SECRET_NAME.search(path.rpartition(".")[2]) and not _is_harmless(value):
            yield Problem(path, "looks like a secret, which others could read", _INSTEAD)
    for path, text in files.items():
        if _SECRET_FILE.search(path) or _SECRET_TEXT.search(text):
            yield Problem("files", f"{path} has what looks like a secret, which others could read", _INSTEAD)


_WHY_NOT_HIDDEN = "programs obey such files unasked: name it in .musterignore, or give it a name without a dot"
_INSTEAD = "store it with `muster secret set NAME`, and use `secrets` in the job file"


def _is_harmless(value: str) -> bool:
    return _HARMLESS.fullmatch(value) is not None or _REFERENCE.match(value) is not None
