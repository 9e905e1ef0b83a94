"""Opens an SSH connection for a Login: keys, ssh-agent, password, jump hosts, `~/.ssh/config`, and host keys.

No connection is made to a host whose key is not trusted. A password is read from its file at the moment it is needed
and is kept nowhere; no error of this module holds one.
"""

import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncssh

from muster.backends.logins.host_keys import HostKeyStore, KeptKey
from muster.backends.logins.options import Login
from muster.domain.errors import BackendError, Rejected

CONNECT_WITHIN_S = 10.0
LOG_IN_WITHIN_S = 20.0
_CHEAP = "-gcm@"
_SSH_PORT = 22
_KNOWN_HOSTS = ("~/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts")


@asynccontextmanager
async def logged_in(login: Login, keys: HostKeyStore) -> AsyncIterator[asyncssh.SSHClientConnection]:
    """Yields the connection. Raises a BackendError that says what to do."""
    async with AsyncExitStack() as stack:
        through: asyncssh.SSHClientConnection | None = None
        for hop in _hops(login):
            shown = shown_login(hop) if hop is login else f"the jump host {shown_login(hop)}"
            through = await stack.enter_async_context(await _connect(hop, shown, through, keys))
        assert through is not None
        yield through


async def _connect(
    login: Login, shown: str, through: asyncssh.SSHClientConnection | None, keys: HostKeyStore
) -> asyncssh.SSHClientConnection:
    kept = keys.of(login)
    try:
        options = _options(login, kept)
        meant = await asyncssh.SSHClientConnectionOptions.construct(**options)
        if kept is None and not meant.known_hosts:
            # A config that names no file of known hosts would mean to asyncssh that no host is checked.
            options["known_hosts"] = _own_known_hosts()
        if meant.config.get("Ciphers") is None:
            options["encryption_algs"] = _cheapest_first(meant.encryption_algs)
        return await asyncssh.connect(**options, tunnel=through or ())
    except asyncssh.HostKeyNotVerifiable as error:
        hint = kept.complaint() if kept is not None else _known_hosts_hint(login, meant, options, error)
        raise BackendError(f"the host key of {shown} is not trusted: {hint}") from None
    except asyncssh.PermissionDenied:
        is_hopeless = login.password_file is not None
        raise (Rejected if is_hopeless else BackendError)(f"{shown} refuses the login: {_login_hint(login)}") from None
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
        hint = "a key with a passphrase has to be given to ssh-agent, and keyFile to be left out"
        raise BackendError(f"the key {login.key_file or 'for ' + shown} cannot be used: {error}; {hint}") from None
    except (asyncssh.ConfigParseError, asyncssh.Error, TimeoutError, OSError) as error:
        raise BackendError(f"cannot connect to {shown}: {_words(error)}") from None


def _options(login: Login, kept: KeptKey | None) -> dict[str, Any]:
    options: dict[str, Any] = {
        "host": login.host,
        "connect_timeout": CONNECT_WITHIN_S,
        "login_timeout": LOG_IN_WITHIN_S,
        "compression_algs": ("none",),
        "request_pty": False,
    }
    if login.port is not None:
        options["port"] = login.port
    if login.user is not None:
        options["username"] = login.user
    if login.key_file is not None:
        options["client_keys"] = [str(Path(login.key_file).expanduser())]
        options["agent_path"] = None
    if login.password_file is not None:
        options["password"] = _password(Path(login.password_file))
        if login.key_file is None:
            options["client_keys"] = None
    if kept is not None:
        options["known_hosts"] = kept.trusted
        options["client_factory"] = kept.client_factory
    return options


def _cheapest_first(ciphers: Sequence[bytes]) -> list[str]:
    """AES-GCM takes a fifth of the CPU time of asyncssh's first choice."""
    return sorted((cipher.decode("ascii") for cipher in ciphers), key=lambda cipher: _CHEAP not in cipher)


def _password(path: Path) -> str:
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise BackendError(f"others may read the password file {path}: chmod 600 it")
        return path.read_text(encoding="utf-8").split("\n", 1)[0]
    except (OSError, UnicodeDecodeError) as error:
        raise BackendError(f"cannot read the password file {path}: {_words(error)}") from None


def _own_known_hosts() -> list[str] | bytes:
    found = [str(path) for name in _KNOWN_HOSTS if (path := Path(name).expanduser()).is_file()]
    return found or b"# nothing is known\n"


def _hops(login: Login) -> list[Login]:
    """The jump hosts, then the host itself. They are entered with the same key or password."""
    return [_jump(login, hop.strip()) for hop in (login.jump or "").split(",") if hop.strip()] + [login]


def _jump(login: Login, text: str) -> Login:
    user, _, rest = text.rpartition("@")
    host, port = _host_and_port(rest)
    return replace(login, host=host, port=port, user=user or login.user, jump=None, host_key=None)


def _host_and_port(text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, int(rest[1:]) if rest.startswith(":") else None
    host, colon, port = text.rpartition(":")
    return (host, int(port)) if colon and ":" not in host else (text, None)


def shown_login(login: Login) -> str:
    user = f"{login.user}@" if login.user else ""
    port = f":{login.port}" if login.port else ""
    return f"{user}{login.host}{port}"


def _known_hosts_hint(
    login: Login, meant: asyncssh.SSHClientConnectionOptions, options: dict[str, Any], error: Exception
) -> str:
    host, port = meant.host_key_alias or meant.host, meant.port if meant.port != _SSH_PORT else None
    if any(asyncssh.match_known_hosts(options.get("known_hosts", meant.known_hosts), host, "", port)[:2]):
        known_as = f"[{host}]:{port}" if port else host
        return (
            "it differs from the one in known_hosts, so this may be another machine; if it was set up anew, replace "
            f"its line there (`ssh-keygen -R {known_as}` removes the old one)"
        )
    scan = f"ssh-keyscan {'-p ' + str(login.port) + ' ' if login.port else ''}{login.host}"
    return (
        f"add it to known_hosts (`{scan}` shows it), write it as hostKey in the cluster file, or allow "
        f"hostKeys: first-use ({_words(error)})"
    )


def _login_hint(login: Login) -> str:
    if login.password_file is not None and login.key_file is None:
        return (
            f"the password in {login.password_file} was not accepted; so that the account is not locked, it is tried "
            "again only after 10 minutes, or at once by `muster node reconnect` when the file has the right one"
        )
    if login.key_file is not None:
        return f"it does not accept the key {login.key_file}; see its authorized_keys"
    return (
        "it accepts no key of the server; give keyFile or passwordFile in the cluster file, or add a key to ssh-agent"
    )


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
