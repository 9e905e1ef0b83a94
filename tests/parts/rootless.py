"""A podman without root of a test's own: its user exists, and has numbers for containers, in a mount namespace only."""

import os
import shutil
import sys
from pathlib import Path

from tests.parts.engines import EngineMissing, EnginePart, end_users_of, pack_image
from tests.parts.podman import furnish

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
    try:
        furnish(podman, base)
    except EngineMissing:
        remove(base)
        raise
    return podman


def remove(base: Path) -> None:
    """With the process by which podman holds its namespaces."""
    end_users_of(base)
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
