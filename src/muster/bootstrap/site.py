"""The installation that all servers on one database share: its identity, and the home folder with its data.

The first server decides both. Another server on the same machine, or one that mounts the same folder, uses the
packages, logs and node folder of that home instead of its own. Otherwise it would not find the tasks that run.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import structlog

from muster.bootstrap.home_folder import identity
from muster.ports.lease import Term

_log = structlog.get_logger("server.site")


@dataclass(frozen=True, slots=True)
class SharedSite:
    identity: str
    home: Path
    is_own: bool
    """Whether the shared home is the one that this server was started with."""


def shared_site(term: Term, own_home: Path) -> SharedSite:
    own = identity(own_home)
    if not term.identity or (term.identity, term.home) == (own, str(own_home)):
        return SharedSite(own, own_home, is_own=True)
    shared = Path(term.home)
    if _identity_at(shared) == term.identity and os.access(shared, os.W_OK):
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
