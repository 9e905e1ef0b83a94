"""What a test cluster needs of the machine: root, Debian's packages, and the programs that build.sh makes."""

import os
import shutil
import subprocess
from pathlib import Path

from scripts.kube.layout import cache_folder
from scripts.kube.processes import CommandFailed, run, system_environment

_SCRIPTS = Path(__file__).resolve().parent.parent
_PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "nft": "nftables",
    "conntrack": "conntrack",
    "ipset": "ipset",
    "busybox": "busybox",
    "modprobe": "kmod",
    "ip": "iproute2",
    "openssl": "openssl",
    "nsenter": "util-linux",
}
"""Program -> the package that has it."""
_CNI = "containernetworking-plugins"


class ClusterUnavailable(RuntimeError):
    """A test cluster cannot run on this machine; the message says why."""


def install_requirements() -> None:
    """Install and build what is missing. Raises ClusterUnavailable if that is impossible here."""
    if os.geteuid() != 0:
        raise ClusterUnavailable("a test cluster needs root: its nodes are namespaces of this machine")
    missing = _missing_packages()
    try:
        if missing:
            run(_SCRIPTS / "apt-install.sh", *missing)
    except (CommandFailed, OSError) as error:
        raise ClusterUnavailable(
            f"packages are missing ({', '.join(missing)}) and could not be installed: {error}"
        ) from None
    built = subprocess.run([_SCRIPTS / "kube" / "build.sh"], check=False)
    if built.returncode:
        raise ClusterUnavailable(f"Kubernetes could not be built into {cache_folder()} (scripts/kube/build.sh)")


def _missing_packages() -> list[str]:
    path = system_environment()["PATH"]
    missing = [package for program, package in _PACKAGES.items() if shutil.which(program, path=path) is None]
    if not any((Path(folder) / "bridge").exists() for folder in ("/usr/lib/cni", "/opt/cni/bin")):
        missing.append(_CNI)
    return missing
