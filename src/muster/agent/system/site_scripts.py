"""Programs that an admin has listed for the node: they run under the agent's account, with a clean environment, for a
bounded time. Nothing of a user's environment or folders reaches them.
"""

from __future__ import annotations

import os
import pwd
from typing import Dict, Mapping, NamedTuple, Sequence

from muster.agent.system.short_commands import call

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MOST_BYTES = 64 * 1024


def account_environment() -> Dict[str, str]:
    account = pwd.getpwuid(os.getuid())
    return {
        "HOME": account.pw_dir,
        "USER": account.pw_name,
        "LOGNAME": account.pw_name,
        "SHELL": account.pw_shell or "/bin/sh",
        "PATH": os.environ.get("PATH", _PATH),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
    }


class ScriptEnd(NamedTuple):
    problem: str
    """Why it failed, in its own words; empty if it succeeded."""
    output: str = ""
    """What it has printed, first on its standard output and then on its standard error."""


def run_script(argv: Sequence[str], timeout_s: float, variables: Mapping[str, str]) -> ScriptEnd:
    """It must not be called on the loop."""
    try:
        called = call(argv, timeout_s, env={**account_environment(), **variables}, most_bytes=_MOST_BYTES)
    except OSError as error:
        return ScriptEnd("{} cannot be run: {}".format(argv[0], error.strerror))
    output = called.output + called.errors
    if called.late:
        return ScriptEnd("{} did not end within {:g} s".format(argv[0], timeout_s), output)
    return ScriptEnd("" if called.code == 0 else called.complaint, output)
