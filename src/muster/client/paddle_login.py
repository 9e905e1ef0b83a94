"""Logs in to the server that `~/.paddle/config` selects, and keeps the token as a context.

The token is asked for again when the user or the server in the file has changed, or when the token has expired.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass

from muster.client import contexts
from muster.client.client import Client
from muster.client.contexts import Context, Contexts
from muster.client.errors import BAD_INPUT, MusterError
from muster.client.paddle_config import Datacenter

_NOT_AUTHENTICATED = 401


@dataclass(frozen=True, slots=True)
class LoggedIn:
    client: Client
    user: str


def log_in(datacenter: Datacenter, say: Callable[[str], None]) -> LoggedIn:
    """Uses the token that is known for this server and user, if it is still good, and the password otherwise."""
    known = _known(contexts.load(), datacenter)
    client = Client(datacenter.endpoint, known.token if known and known.token else "")
    client.transport.fingerprint = known.fingerprint if known else None
    if known is not None and known.token:
        try:
            return LoggedIn(client, client.whoami()["user"])
        except MusterError as error:
            if error.status != _NOT_AUTHENTICATED:
                raise
    require_login(datacenter)
    say(f"logging in to {datacenter.endpoint} as {datacenter.username}")
    session = client.login(datacenter.username, datacenter.password, name=f"paddlecloud from {socket.gethostname()}")
    context = Context(datacenter.endpoint, session["token"], session["user"], client.transport.fingerprint)
    contexts.save(contexts.load().remembering(f"paddlecloud-{datacenter.name}", context))
    return LoggedIn(client, session["user"])


def require_login(datacenter: Datacenter) -> None:
    if not datacenter.username or not datacenter.password:
        raise MusterError(
            f"the datacenter {datacenter.name!r} has no username or no password",
            code=BAD_INPUT,
            hint=f"add it to the file, or run `muster login {datacenter.endpoint}`",
        )


def _known(known: Contexts, datacenter: Datacenter) -> Context | None:
    return next(
        (
            context
            for context in known.known.values()
            if context.server.rstrip("/") == datacenter.endpoint and context.user == datacenter.username
        ),
        None,
    )
