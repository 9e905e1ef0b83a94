"""What a launch request says about the setup of a task, and where the folder for its result is."""

from __future__ import annotations

import os
import re
from typing import Any, Mapping, NamedTuple, Optional

from muster.agent.requests import bad_request, is_clean, seconds, text, whole_number

FOLDER = "setups"
"""The folder of the agent in which users have one each, with an entry for each of their setups."""
CONTENT, TASKS = "content", "tasks"
STATE = "state"
READY = b"ready"
_NAME = re.compile(r"[0-9a-f]{16,64}\Z")
_STATE_BYTES = 16


class SetupOrder(NamedTuple):
    entry: str
    is_kept: bool
    """Whether it stays for later tasks. Else it is removed with the last task that uses it."""
    most_bytes: int
    """How large all entries of this node may be together."""
    most_age_s: float
    """How long one stays that nobody uses."""

    def is_ready(self, uid: str) -> bool:
        """Whether the setup of this task is over, and its command runs."""
        try:
            path = os.path.join(self.entry, TASKS, uid, STATE)
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return os.read(fd, _STATE_BYTES).strip() == READY
        except OSError:
            return False
        finally:
            os.close(fd)


def setup_order(value: Any) -> Optional[SetupOrder]:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise bad_request("setup must be null or an object with an entry")
    entry = text(value, "entry")
    if not os.path.isabs(entry) or os.path.normpath(entry) != entry or not is_clean(entry):
        raise bad_request("the entry of a setup must be an absolute path, not {!r}".format(entry))
    return SetupOrder(
        entry=entry,
        is_kept=bool(value.get("kept")),
        most_bytes=whole_number(value, "most_bytes", 0, 1 << 60),
        most_age_s=seconds(value, "most_age_s"),
    )


def remembered(value: Any) -> Optional[SetupOrder]:
    """What the facts of a task say, which are a request that was accepted before."""
    if not isinstance(value, list) or len(value) != len(SetupOrder._fields):
        return None
    return SetupOrder(str(value[0]), bool(value[1]), int(value[2]), float(value[3]))


def entry_name(request: Mapping[str, Any]) -> str:
    """The path below the folder of all setups: that of one entry, or of one user, or of all."""
    names = [request.get(key) for key in ("owner", "key")]
    given = [name for name in names if name is not None]
    if not all(isinstance(name, str) and _NAME.match(name) for name in given) or given != names[: len(given)]:
        raise bad_request("owner, and with it key, must be 16 to 64 hexadecimal digits")
    return os.path.join("", *given)
