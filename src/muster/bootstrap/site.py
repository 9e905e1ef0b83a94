"""The installation that all servers on one database share: its identity, and the home folder with its data.

The first server decides both. Another server on the same machine, or one that mounts the same folder, uses the
packages, logs and node folder of that home instead of its own. Otherwise it would not find the tasks that run. A server
whose database is in its own home folder uses that folder, also when it was copied, unless another server runs on it.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import structlog

from muster.bootstrap.home_folder import identity
from muster.domain.errors import Problem
from muster.ports.lease import Term

_log = structlog.get_logger("server.site")


@dataclass(frozen=True, slots=True)
class SharedSite:
    identity: str
    home: Path
    is_own: bool
    """Whether the shared home is the one that this server was started with."""

    def problems(self, own_home: Path) -> tuple[Problem, ...]:
        """What admins should know: the server uses another home folder than the one it was started with."""
        if self.home == own_home:
            return ()
        hint = "that is right for servers that share a database; otherwise give this one a database of its own"
        return (Problem("home", f"this server uses the home folder {self.home} instead of {own_home}", hint),)


def shared_site(term: Term, own_home: Path, *, has_own_database: bool) -> SharedSite:
    own = identity(own_home)
    is_alone = has_own_database and not term.is_held
    if not term.identity or is_alone or (term.identity, term.home) == (own, str(own_home)):
        return SharedSite(own, own_home, is_own=True)
    shared = Path(term.home)
    if _identity_at(shared) == term.identity and os.access(shared, os.W_OK):
        if shared != own_home:
            _log.warning(
                "this server uses the home folder of the other servers on its database instead of its own",
                used=term.home,
                own=str(own_home),
            )
        return SharedSite(term.identity, shared, is_own=shared == own_home)
    if own != term.identity:
        _log.warning(
            "the home folder of the other server cannot be used here: its packages and logs are not available",
            theirs=term.home,
            ours=str(own_home),
        )
    return SharedSite(term.identity, own_home, is_own=own == term.identity)


def _identity_at(home: Path) -> str:
    try:
        return (home / "identity").read_text().strip()
    except OSError:
        return ""
