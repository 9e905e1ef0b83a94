"""A machine for one agent that can lose its power: processes, /run and the id of its boot are its own."""

import os
import subprocess
import uuid
from pathlib import Path

from tests.parts.engines import EnginePart
from tests.parts.server import polls

_WITHIN_S = 30.0
# Arguments: the folder of the engine, a file with the id of this boot, then the agent's command, which becomes the
# first process: with it all others end.
_BOOT = """
set -e
mount -t proc proc /proc
mount --bind "$2" /proc/sys/kernel/random/boot_id
mount -t tmpfs run /run
mount -t tmpfs run "$1/run"
shift 2
exec "$@"
"""


def a_boot(base: Path) -> list[str]:
    """What to put in front of the agent's command; each call is a new boot."""
    boot_id = base / f"boot-{uuid.uuid4()}"
    boot_id.write_text(f"{uuid.uuid4()}\n")
    namespaces = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
    return [*namespaces, "sh", "-c", _BOOT, "sh", str(base), str(boot_id)]


def calls_there(unshare: int, engine: EnginePart, *arguments: str) -> str:
    """What the engine's client says on that machine."""
    (first,) = Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()
    enter = ["nsenter", f"--target={first}", "--mount", "--pid"]
    done = subprocess.run(
        [*enter, "env", *(f"{name}={value}" for name, value in engine.env.items()), engine.program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


def remove_groups(container: str) -> None:
    """Control groups do not end with what made them, as they do when a real machine falls."""
    assert container, "an empty name would be everybody's"
    # Not by glob, which fails if somebody else's group is removed while it looks.
    groups = [Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup") if container in folder]
    for group in reversed(groups):
        for _ in polls(_WITHIN_S):
            try:
                group.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                continue  # its last process is still ending
            break
