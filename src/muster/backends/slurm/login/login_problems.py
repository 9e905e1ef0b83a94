"""What does not fit together in what the file of a Slurm cluster says about the logins of users."""

from collections.abc import Iterator, Mapping

from muster.backends.slurm.options import SubmitAs
from muster.backends.slurm.user_logins import ACCOUNT, EVERYBODY, OWNER, LoginPattern
from muster.domain.errors import Problem


def login_problems(
    submit_as: SubmitAs,
    logins: Mapping[str, LoginPattern],
    *,
    has_login_node: bool,
    shared_folder: str,
    relay_port: int | None,
) -> Iterator[Problem]:
    is_of_each = OWNER in shared_folder or ACCOUNT in shared_folder
    if submit_as is not SubmitAs.LOGIN:
        yield from _unused(logins, is_of_each)
        return
    if not has_login_node:
        yield Problem("login", "users log in to a login node, and this file names none", "write its host and user")
    if not logins:
        hint = f"for example {{'{EVERYBODY}': {{keyFile: /etc/muster/keys/{OWNER}}}}}"
        yield Problem("logins", "with `submitAs: login`, the file has to say which logins users have", hint)
    if shared_folder and not is_of_each:
        message = "each account needs a folder of its own, because files in one would have to be readable by all"
        yield Problem("sharedFolder", message, f"such as {shared_folder}/{ACCOUNT}, or leave it out")
    if relay_port is not None:
        yield Problem("relayAddress", "each login listens at a port of its own", "name the host without a port")
    if (everybody := logins.get(EVERYBODY)) is not None and OWNER not in (everybody.user or ""):
        message = "all users would have the same account"
        yield Problem(f"logins.{EVERYBODY}.user", message, f"write {OWNER}, or `submitAs: service`")


def _unused(logins: Mapping[str, LoginPattern], is_of_each: bool) -> Iterator[Problem]:
    if logins:
        yield Problem("logins", "logins of users are used with `submitAs: login` only", "add it, or remove them")
    if is_of_each:
        message = "a folder for each user is used with `submitAs: login` only"
        yield Problem("sharedFolder", message, "name one folder")
