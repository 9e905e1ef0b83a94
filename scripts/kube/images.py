"""The images on every node of a test cluster, made from this machine's own programs without a registry.

`local/python:1` has Python 3, a shell and busybox's tools. `local/pause:1` holds a pod's namespaces open; it is the
same files with another command, so it takes no room of its own.
"""

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

from tests.parts.python_image import pack_python_image

PYTHON_IMAGE = "local/python:1"
PAUSE_IMAGE = "local/pause:1"
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The shell reaps the orphans of a pod with one process namespace, as Kubernetes' own pause program does.
_PAUSE = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 2147483647 & wait $!; done"]
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def image_archive(cache: Path) -> Path:
    """An archive with both images, packed once."""
    folder = cache / "images"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "python-2.tar"
    if not archive.exists():
        layer, draft = folder / ".layer.tar", folder / ".draft.tar"
        pack_python_image(layer)
        pack_image(draft, layer, {PYTHON_IMAGE: {"Cmd": ["/bin/sh"]}, PAUSE_IMAGE: {"Entrypoint": _PAUSE}})
        draft.rename(archive)
        layer.unlink()
    return archive


def pack_image(archive: Path, layer: Path, configs: dict[str, dict[str, object]]) -> None:
    """Pack an archive that `ctr images import` reads: images (name -> settings) that all consist of this one layer."""
    with layer.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    manifest = []
    with tarfile.open(archive, "w") as image:
        image.add(layer, "layer.tar")
        for name, settings in configs.items():
            config = {
                "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
                "os": "linux",
                "config": {"Env": [_PATH], **settings},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            }
            data = json.dumps(config).encode()
            config_name = f"{hashlib.sha256(data).hexdigest()}.json"
            _add(image, config_name, data)
            manifest.append({"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]})
        _add(image, "manifest.json", json.dumps(manifest).encode())


def _add(image: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    image.addfile(entry, io.BytesIO(data))
