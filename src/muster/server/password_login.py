"""Logs people in with a name and a password, which Muster or a directory checks."""

from muster.domain.accounts import Token, User
from muster.domain.errors import Forbidden
from muster.server.services import Services


async def log_in_by_password(
    parts: Services, name: str, password: str, label: str, address: str, *, most_s: float | None = None
) -> tuple[Token, str, User]:
    """Returns the session's token, its secret and the user. The session lasts `most_s` at most."""
    if parts.directory is not None and await parts.directory.is_asked(name):
        return await parts.directory.log_in(name, password, label, address, most_s=most_s)
    if not parts.has_password_login:
        raise Forbidden("this server takes no passwords", hint="muster login --sso, or log in with a token")
    return await parts.accounts.log_in(name, password, label, address, most_s=most_s)
