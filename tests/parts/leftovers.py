"""Finds what still runs on this machine for a Muster home, in /proc and without asking Muster."""

import os
from collections.abc import Iterator
from pathlib import Path

from tests.parts.server import MusterServer, polls


def task_processes(home: Path) -> dict[int, str]:
    """The running processes that belong to a task of this home, whatever their session or parent is now."""
    mark = f"MUSTER_TASK_DIR={os.path.realpath(home)}/".encode()
    return {pid: command for pid, command in _living() if any(v.startswith(mark) for v in _strings(pid, "environ"))}


def agent_processes(home: Path) -> list[int]:
    """Without their children, which look the same until they become another program."""
    root = os.path.realpath(home / "node").encode()
    found = {pid for pid, _ in _living() if b"muster.agent" in (words := _strings(pid, "cmdline")) and root in words}
    return [pid for pid in found if _parent(pid) not in found]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def wait_until_nothing_runs(home: Path, timeout_s: float = 30.0) -> None:
    left: dict[int, str] = {}
    for _ in polls(timeout_s):
        left = task_processes(home)
        if not left:
            return
    raise AssertionError(f"processes of ended tasks still run: {left}")


def wait_until_agents_left(home: Path, timeout_s: float = 30.0) -> None:
    left: list[int] = []
    for _ in polls(timeout_s):
        left = agent_processes(home)
        if not left:
            return
    raise AssertionError(f"agents outlive their server: {left}")


def wait_until_all_is_free(server: MusterServer, timeout_s: float = 30.0) -> None:
    """The node as the API shows it: no CPU used, no device held, no task."""
    node: dict[str, object] = {}
    for _ in polls(timeout_s):
        _, page = server.call("GET", "/api/v1/nodes")
        (node,) = page["items"]
        if node["tasks"] == 0 and node["cpu"]["used"] == "0" and not any(g["job"] for g in node["gpus"]):  # type: ignore[index,attr-defined]
            return
    raise AssertionError(f"the node still holds something: {node}")


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def _living() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except (OSError, UnicodeDecodeError):
                continue
            if stat.rpartition(")")[2].split()[0] not in "ZX":
                yield int(entry.name), _short(_strings(int(entry.name), "cmdline"))


def _strings(pid: int, what: str) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes().split(b"\0")
    except OSError:
        return []


def _short(words: list[bytes]) -> str:
    """The start of the command line, because that of a shell may contain its whole script."""
    return " ".join(word.decode(errors="replace").strip()[:40] for word in words[:6])
