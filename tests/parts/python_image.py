"""An image with this machine's own Python and busybox, on which other images are built without a registry."""

import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from tests.parts.engines import EngineMissing

PYTHON = Path("/usr/bin/python3")
_LEFT_OUT = re.compile(r"/(test|tests|idlelib|tkinter|turtledemo|lib2to3|config-[^/]*)(/|$)")
_FOR_WHEELS = (
    "libstdc++.so.6",
    "libgcc_s.so.1",
    "librt.so.1",
    "libdl.so.2",
    "libpthread.so.0",
    "libutil.so.1",
    "libresolv.so.2",
)
_PASSWD = b"root:x:0:0:root:/root:/bin/sh\n"


def system_python() -> str:
    """The version of the distribution's Python, such as 3.11. Raises EngineMissing if it cannot make environments."""
    asked = "import sys, ensurepip, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        found = subprocess.run([str(PYTHON), "-c", asked], capture_output=True, text=True, check=False)
    except OSError as error:
        raise EngineMissing(f"there is no {PYTHON}: {error.strerror}") from None
    if found.returncode or tuple(map(int, found.stdout.split("."))) < (3, 11):
        raise EngineMissing(f"{PYTHON} cannot run Muster: {(found.stderr or found.stdout).strip()[-200:]}")
    return found.stdout.strip()


def pack_python_image(archive: Path) -> None:
    version = system_python()
    busybox = shutil.which("busybox")
    if busybox is None:
        raise EngineMissing("busybox is not installed (scripts/install-test-parts.sh)")
    library = Path(f"/usr/lib/python{version}")
    modules = sorted((library / "lib-dynload").glob("*.so"))
    with tarfile.open(archive, "w") as image:
        for folder in ("bin", "dev", "etc", "proc", "root", "sys", "tmp", "usr", "usr/bin", "var", "var/lib"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            image.addfile(entry)
        for path in sorted(_libraries(PYTHON, Path(busybox), *modules)):
            image.add(os.path.realpath(path), path.lstrip("/"))
        image.add(os.path.realpath(busybox), "bin/busybox")
        for name in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
            _link(image, f"bin/{name}", "busybox")
        image.add(os.path.realpath(PYTHON), f"usr/bin/python{version}")
        _link(image, "usr/bin/python3", f"python{version}")
        _link(image, "usr/bin/python", f"python{version}")
        for tree in (library, Path("/usr/share/python-wheels")):
            if tree.exists():
                image.add(tree, str(tree).lstrip("/"), filter=_wanted)
        for name, content in (("etc/passwd", _PASSWD), ("etc/group", b"root:x:0:\n")):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            image.addfile(entry, io.BytesIO(content))


def _libraries(*programs: Path) -> set[str]:
    said = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False).stdout
    found = set(re.findall(r"(/\S+) \(0x", said))
    folder = next(Path(path).parent for path in found if Path(path).name.startswith("libc.so"))
    return found | {str(folder / name) for name in _FOR_WHEELS if (folder / name).exists()}


def _wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if _LEFT_OUT.search(f"/{entry.name}") else entry


def _link(image: tarfile.TarFile, name: str, target: str) -> None:
    if name != "bin/busybox":
        link = tarfile.TarInfo(name)
        link.type, link.linkname = tarfile.SYMTYPE, target
        image.addfile(link)
