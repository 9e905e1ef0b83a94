"""What a cluster file says of a login."""

from dataclasses import dataclass
from enum import StrEnum


class HostKeys(StrEnum):
    """How the identity of a host is verified if the cluster file does not contain its key."""

    KNOWN = "known"
    """The key must be in the known_hosts of the account that runs the server, or of the machine."""
    FIRST_USE = "first-use"
    """The first key that the host presents is stored, and any other key is refused afterwards."""


@dataclass(frozen=True, slots=True)
class Login:
    """How to log in to a machine. `~/.ssh/config`, then SSH's own defaults, provide what is absent here."""

    host: str
    port: int | None = None
    user: str | None = None
    key_file: str | None = None
    password_file: str | None = None
    """A file that only its owner can read. Its first line is the password, which is never stored here itself."""
    jump: str | None = None
    """One or more jump hosts, written `[user@]host[:port]`, separated by commas, in the order of the hops."""
    host_keys: HostKeys = HostKeys.KNOWN
    host_key: str | None = None
    """The key itself, as `ssh-keyscan` prints it without the host: `ssh-ed25519 AAAA…`."""
