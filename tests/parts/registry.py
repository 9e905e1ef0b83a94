"""A private registry on this machine with one image, which gives it to one user only."""

import base64
import gzip
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

USER, PASSWORD = "ada", "a long password"
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


@dataclass(frozen=True)
class Registry:
    address: str
    """127.0.0.1:PORT, from which docker and a podman that was told so pull without TLS."""
    image: str
    """The name of its image."""

    @property
    def login(self) -> bytes:
        """A config.json with the credentials."""
        auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return json.dumps({"auths": {self.address: {"auth": auth}}}).encode()


@contextmanager
def private_registry(archive: Path) -> Iterator[Registry]:
    """`archive` has the files of the image."""
    contents, manifest = _image(archive)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            given = self.headers.get("Authorization", "")
            wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            if given != f"Basic {wanted}":
                self._answer(401, b"{}", "application/json", {"WWW-Authenticate": 'Basic realm="private"'})
            elif self.path == "/v2/":
                self._answer(200, b"{}", "application/json")
            elif "/manifests/" in self.path:
                digest = f"sha256:{hashlib.sha256(manifest).hexdigest()}"
                self._answer(200, manifest, _MANIFEST, {"Docker-Content-Digest": digest})
            elif (found := contents.get(self.path.rpartition("/")[2])) is not None:
                self._answer(200, found, "application/octet-stream")
            else:
                self._answer(404, b"{}", "application/json")

        do_HEAD = do_GET

        def _answer(self, status: int, body: bytes, kind: str, more: dict[str, str] | None = None) -> None:
            self.send_response(status)
            headers = {"Content-Type": kind, "Content-Length": str(len(body)), **(more or {})}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *words: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"127.0.0.1:{server.server_port}"
    try:
        yield Registry(address, f"{address}/lab/private:1")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _image(archive: Path) -> tuple[dict[str, bytes], bytes]:
    files = archive.read_bytes()
    layer = gzip.compress(files, mtime=0)
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"WorkingDir": "/etc"},
            "rootfs": {"type": "layers", "diff_ids": [_digest(files)]},
        }
    ).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": {"mediaType": _CONFIG, "size": len(config), "digest": _digest(config)},
        "layers": [{"mediaType": _LAYER, "size": len(layer), "digest": _digest(layer)}],
    }
    return {_digest(one): one for one in (layer, config)}, json.dumps(manifest).encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
