"""Which pools of hosts exist on this machine: a number for each, and removal of all that bears the number.

A pool's number gives its addresses and the names of its links and namespaces, so that one which was killed with its
test run is found and removed by the next one. A claim is a file that says who owns the number.
"""

import contextlib
import fcntl
import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.parts.server import polls

_CLAIMS = Path("/tmp/muster-test-hosts")
_NUMBERS = range(256)
# Who is root without a login shell may not have the system's folders on the path.
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])


class NoPlaceForHosts(RuntimeError):
    """No number is free here."""


class CommandFailed(RuntimeError):
    """It says which command, and what it said."""


@dataclass(frozen=True)
class Claim:
    number: int
    folder: Path

    @property
    def prefix(self) -> str:
        """Links have at most 15 characters: this takes at most 7 of them."""
        return f"mst{self.number}-"

    @property
    def front(self) -> ipaddress.IPv4Network:
        return _front(self.number)

    @property
    def back(self) -> ipaddress.IPv4Network:
        return _back(self.number)


def claim_number(parent: Path) -> Claim:
    """A number of our own, with an empty folder below `parent`. What dead owners left is removed first."""
    with _locked():
        for claim, owner in list(_claims()):
            if not _lives(owner):
                _try_to_remove(claim)
        taken = {claim.number for claim, _ in _claims()}
        links, routes = _links(), _routes()
        for number in _NUMBERS:
            claim = Claim(number, parent / str(number))
            if number in taken or any(link.startswith(claim.prefix) for link in links):
                continue
            if any(route.overlaps(ours) for route in routes for ours in (claim.front, claim.back)):
                continue
            if mounts_below(claim.folder):
                continue
            _write(claim)
            shutil.rmtree(claim.folder, ignore_errors=True)  # claims do not outlive a restart of the machine; this may
            claim.folder.mkdir(parents=True)
            return claim
    raise NoPlaceForHosts(f"{len(_NUMBERS)} pools of hosts exist already; see {_CLAIMS}")


def remove(claim: Claim) -> None:
    """All of the pool: processes, mounts, files, namespaces, links, and the claim last."""
    with _locked():
        _remove(claim)


def command(*argv: str | Path, given: str | None = None) -> str:
    """Run it and return what it printed; a failure shows what it said."""
    words = [str(word) for word in argv]
    env = os.environ | {"PATH": PATH}
    done = subprocess.run(words, input=given, capture_output=True, text=True, timeout=60, env=env, check=False)
    if done.returncode:
        raise CommandFailed(f"{' '.join(words)} exited {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def start_ticks(pid: int) -> int | None:
    """When the process started; None when there is none."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError):
        return None


def _try_to_remove(claim: Claim) -> None:
    try:
        _remove(claim)
    except RuntimeError as error:  # its number stays taken, and the next pool tries again
        warnings.warn(f"the pool of hosts in {claim.folder}, of a test run that is gone, stays: {error}", stacklevel=2)


def _remove(claim: Claim) -> None:
    namespaces = [name for name in _namespaces() if name.startswith(claim.prefix)]
    for name in namespaces:
        _end_processes(name)
    for mount in reversed(mounts_below(claim.folder)):
        command("umount", "--lazy", mount)
    if mounts_below(claim.folder):
        raise RuntimeError(f"something is still mounted below {claim.folder}; removing it would remove what is mounted")
    shutil.rmtree(claim.folder, ignore_errors=True)
    for name in namespaces:
        command("ip", "netns", "delete", name)
    for link in _links():
        if link.startswith(claim.prefix):
            # A link's other end may just be going with its namespace.
            with contextlib.suppress(CommandFailed):
                command("ip", "link", "delete", link)
    with contextlib.suppress(CommandFailed):  # most pools have nothing behind a jump host
        command("ip", "route", "delete", "unreachable", str(claim.back))
    _file(claim.number).unlink(missing_ok=True)


def mounts_below(folder: Path) -> list[str]:
    """In the order in which they were mounted."""
    # A space is written there as a backslash and 040.
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = (re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split()[4]) for line in lines)
    return [point for point in points if point.startswith(f"{folder}/")]


def _end_processes(namespace: str) -> None:
    for _ in polls(30):
        pids = command("ip", "netns", "pids", namespace).split()
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(int(pid), signal.SIGKILL)
                os.waitpid(int(pid), os.WNOHANG)  # some are our own children
    raise RuntimeError(f"processes of {namespace} do not end: {pids}")


def _namespaces() -> list[str]:
    return [line.split()[0] for line in command("ip", "netns", "list").splitlines() if line.strip()]


def _links() -> list[str]:
    return [str(link["ifname"]) for link in json.loads(command("ip", "-json", "link", "show"))]


def _routes() -> list[ipaddress.IPv4Network]:
    destinations = (route["dst"] for route in json.loads(command("ip", "-4", "-json", "route", "show")))
    return [ipaddress.IPv4Network(dst) for dst in destinations if dst != "default"]


def _front(number: int) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network(f"10.213.{number}.0/24")


def _back(number: int) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network(f"10.214.{number}.0/24")


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    _CLAIMS.mkdir(exist_ok=True)
    with (_CLAIMS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _file(number: int) -> Path:
    return _CLAIMS / f"{number}.json"


def _write(claim: Claim) -> None:
    content = {"pid": os.getpid(), "start_ticks": start_ticks(os.getpid()), "folder": str(claim.folder)}
    unfinished = _file(claim.number).with_suffix(".new")
    unfinished.write_text(json.dumps(content))
    unfinished.rename(_file(claim.number))


def _claims() -> Iterator[tuple[Claim, tuple[int, int]]]:
    for path in _CLAIMS.glob("*.json"):
        content = json.loads(path.read_text())
        yield Claim(int(path.stem), Path(content["folder"])), (content["pid"], content["start_ticks"])


def _lives(owner: tuple[int, int]) -> bool:
    pid, started = owner
    return start_ticks(pid) == started
