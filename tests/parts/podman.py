"""A private podman for a test."""

import resource
import shutil
import time
from pathlib import Path

from tests.parts.engines import IMAGE, EngineMissing, EnginePart, pack_image, unmount_below, users_of


def private_podman(base: Path) -> EnginePart:
    """Raises EngineMissing with the reason. Tries podman as it is set up here, then with runc and low limits: some
    sandboxes allow no more."""
    program = shutil.which("podman")
    if program is None:
        raise EngineMissing("podman is not installed (scripts/install-test-parts.sh)")
    pack_image(base / "image.tar")
    (base / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{base}/graph"\nrunroot = "{base}/run"\n'
    )
    env = {"CONTAINERS_STORAGE_CONF": f"{base}/storage.conf", "CONTAINERS_CONF": f"{base}/containers.conf"}
    podman = EnginePart("podman", program, env)
    furnish(podman, base)
    return podman


def furnish(podman: EnginePart, base: Path) -> None:
    """Find settings with which it runs, and give it the image. Raises EngineMissing with what it said to each."""
    complaints = []
    for settings in settings_to_try():
        (base / "containers.conf").write_text(settings)
        made = podman.call("import", "--quiet", str(base / "image.tar"), IMAGE)
        tried = podman.call("run", "--rm", "--network", "host", "--log-driver", "none", IMAGE, "true")
        if made.returncode == 0 and tried.returncode == 0:
            return
        complaints.append((made.stderr if made.returncode else tried.stderr).strip()[-300:])
    raise EngineMissing(f"containers cannot run here: {'; '.join(complaints)}")


def remove(podman: EnginePart, base: Path) -> None:
    podman.call("rm", "--all", "--force")
    unmount_below(base)
    deadline = time.monotonic() + 20
    while users_of(base) and time.monotonic() < deadline:  # clean-ups that were begun make what they miss anew
        time.sleep(0.05)
    shutil.rmtree(base, ignore_errors=True)


def settings_to_try() -> list[str]:
    """What `containers.conf` may say."""
    files = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 10_000)
    limits = f'[containers]\ndefault_ulimits = ["nofile={files}:{files}", "nproc=4000:4000"]\n'
    return ["", limits, f'{limits}[engine]\nruntime = "runc"\n']
