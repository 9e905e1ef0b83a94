"""A podman without root of a test's own: its user exists, and has numbers for containers, in a mount namespace only."""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

from tests.parts.engines import IMAGE, EngineMissing, EnginePart, pack_image, users_of
from tests.parts.podman import settings_to_try

USER = "grace"
ID = 4322
_SOURCES = Path(__file__).parents[2] / "src"
_ACCOUNTS = {
    "passwd": f"{USER}:x:{ID}:{ID}::/nonexistent:/bin/sh\n",
    "group": f"{USER}:x:{ID}:\n",
    "subuid": f"{USER}:300000:65536\n",
    "subgid": f"{USER}:300000:65536\n",
}
# Arguments: our folder, where the sources and this interpreter are, then the command. An interpreter in a closed home
# is shown to the user, and nothing else of that home. Podman wants the message queues of the machine, which not every
# sandbox has.
_BECOME = f"""
set -e
base=$1 sources=$2 prefix=$3
shift 3
become="setpriv --reuid {ID} --regid {ID} --clear-groups"
for file in {" ".join(_ACCOUNTS)}; do mount --bind "$base/etc/$file" "/etc/$file"; done
mount --bind "$sources" "$base/src"
if ! $become test -x "$prefix/bin/python3"; then
  home=/$(echo "$prefix" | cut -d/ -f2) shown=$(echo "$prefix" | cut -d/ -f-3)
  mount --bind "$shown" "$base/python"
  mount -t tmpfs -o mode=755 home "$home"
  mkdir "$shown"
  mount --bind "$base/python" "$shown"
fi
if [ ! -d /dev/mqueue ]; then
  mount -t tmpfs -o mode=755 dev "$base/dev"
  for node in null zero full random urandom tty; do cp -a "/dev/$node" "$base/dev/"; done
  ln -s /proc/self/fd "$base/dev/fd"
  mkdir "$base/dev/shm" "$base/dev/pts" "$base/dev/mqueue"
  mount --bind /dev/shm "$base/dev/shm"
  mount --bind /dev/pts "$base/dev/pts"
  mount -t mqueue mqueue "$base/dev/mqueue"
  mount --rbind "$base/dev" /dev
fi
exec $become "$@"
"""


def rootless_podman(base: Path) -> EnginePart:
    """Raises EngineMissing with the reason."""
    program = shutil.which("podman")
    missing = [tool for tool in ("podman", "newuidmap", "setpriv", "unshare") if shutil.which(tool) is None]
    if program is None or missing:
        raise EngineMissing(f"{', '.join(missing)} is not installed (scripts/install-test-parts.sh)")
    if os.geteuid() != 0:
        raise EngineMissing("another user is made in a mount namespace, which needs root")
    _furnish(base)
    unshare = ("unshare", "--mount", "--propagation", "private")
    around = (*unshare, "sh", "-c", _BECOME, "sh", str(base), str(_SOURCES), sys.base_prefix)
    env = {
        "HOME": f"{base}/home",
        "PYTHONPATH": f"{base}/src",
        "XDG_RUNTIME_DIR": f"{base}/run",
        "CONTAINERS_STORAGE_CONF": f"{base}/storage.conf",
        "CONTAINERS_CONF": f"{base}/containers.conf",
    }
    podman = EnginePart("podman", program, env, around, ID, base / "ground")
    complaints = []
    for settings in settings_to_try():
        (base / "containers.conf").write_text(settings)
        made = podman.call("import", "--quiet", str(base / "image.tar"), IMAGE)
        tried = podman.call("run", "--rm", "--network", "host", "--log-driver", "none", IMAGE, "true")
        if made.returncode == 0 and tried.returncode == 0:
            return podman
        complaints.append((made.stderr if made.returncode else tried.stderr).strip()[-300:])
    remove(base)
    raise EngineMissing(f"containers cannot run here without root: {'; '.join(complaints)}")


def remove(base: Path) -> None:
    """With the process by which podman holds its namespaces."""
    deadline = time.monotonic() + 20
    while (pids := users_of(base)) and time.monotonic() < deadline:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)
    shutil.rmtree(base, ignore_errors=True)


def _furnish(base: Path) -> None:
    base.chmod(0o755)
    for name in ("etc", "src", "dev", "python"):
        (base / name).mkdir()
    for name in ("home", "run", "ground"):
        (base / name).mkdir(mode=0o700)
        os.chown(base / name, ID, ID)
    for name, line in _ACCOUNTS.items():
        there = Path("/etc") / name
        if not there.exists():
            raise EngineMissing(f"there is no {there}")
        kept = there.read_text() if name in ("passwd", "group") else ""
        (base / "etc" / name).write_text(kept + line)
    (base / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{base}/home/graph"\nrunroot = "{base}/run/containers"\n'
    )
    pack_image(base / "image.tar")
