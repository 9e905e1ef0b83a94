"""Requests as paddlecloud's Go client makes them: the headers of Go's HTTP client, JSON as its structures encode it,
queries in the order of their keys, and multipart bodies as Go writes them."""

import http.client
import json
import posixpath
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

from tests.parts.server import MusterServer

CHUNK_BOUNDARY = "8d7b0e5709d756e21e971ff4d9ac3b20"
DEFAULTS: dict[str, Any] = {
    "name": "paddle-cluster-job",
    "jobPackage": "",
    "parallelism": 1,
    "cpu": 1,
    "gpu": 0,
    "memory": "1Gi",
    "pservers": 0,
    "pscpu": 1,
    "psmemory": "1Gi",
    "entry": "",
    "topology": "",
    "datacenter": "",
    "passes": 1,
    "image": "",
    "registry": "",
    "faulttolerant": False,
    "minInstance": 1,
    "maxInstance": 1,
}
"""The JSON of `paddlecloud submit` without flags, in the order of the fields of its structure."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        """The client looks at nothing but a status of 200."""
        assert self.status == 200, f"{self.status}: {self.content[:500]!r}"
        return json.loads(self.content)


@dataclass
class GoClient:
    server: MusterServer
    user: str
    password: str
    datacenter: str = "local"
    token: str = field(default="", repr=False)

    def log_in(self) -> "GoClient":
        body = go_json({"password": self.password, "username": self.user})
        self.token = self.send("POST", "/api-token-auth/", body=body).json()["token"]
        return self

    def send(
        self,
        method: str,
        path: str,
        query: dict[str, Any] | list[tuple[str, Any]] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=90)
        try:
            connection.putrequest(method, path + go_query(query), skip_accept_encoding=True)
            connection.putheader("User-Agent", "Go-http-client/1.1")
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            if self.token:
                connection.putheader("Authorization", f"Token {self.token}")
            connection.putheader("Content-Type", content_type)
            connection.putheader("Accept-Encoding", "gzip")
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, /, **query: Any) -> Answer:
        return self.send("GET", path, query or None)

    def post(self, path: str, body: Any) -> Answer:
        return self.send("POST", path, body=go_json(body))

    def delete(self, path: str, body: Any) -> Answer:
        return self.send("DELETE", path, body=go_json(body))

    # What the commands do

    def submit(self, **arguments: Any) -> Any:
        body = {**DEFAULTS, "datacenter": self.datacenter, **arguments}
        if not body["pservers"]:
            body["pservers"] = body["parallelism"]
        return self.post("/api/v1/jobs/", body).json()

    def kill(self, name: str) -> Any:
        return self.send("DELETE", "/api/v1/jobs/", body=f'{{"jobname": "{name}"}}'.encode()).json()

    def logs(self, name: str, lines: int = 10, worker: str = "") -> str:
        return str(self.get("/api/v1/logs", jobname=name, n=lines, w=worker).json()["msg"])

    def put_file(self, data: bytes, path: str, filename: str = "/home/me/train.py") -> Any:
        body, content_type = go_form_file("file", filename, data, secrets.token_hex(30))
        return self.send("POST", "/api/v1/file/", {"path": path}, body, content_type).json()

    def get_file(self, path: str) -> Answer:
        return self.get("/api/v1/file/", path=path)

    def home(self, *names: str) -> str:
        return posixpath.join("/pfs", self.datacenter, "home", self.user, *names)

    def pfs(self, method: str, /, **query: Any) -> Any:
        return self.send("GET", "/api/v1/pfs/files", {"method": method, **query}).json()

    def ls(self, *paths: str, recursive: bool = False) -> Any:
        query = [("arg", path) for path in paths] + [("method", "ls"), ("r", str(recursive).lower())]
        return self.send("GET", "/api/v1/pfs/files", query).json()

    def touch(self, path: str, size: int) -> Any:
        return self.post("/api/v1/pfs/files", {"method": "touch", "filesize": size, "path": path}).json()

    def chunk_meta(self, path: str, offset: int, size: int) -> Any:
        query = {"method": "GetChunkMeta", "path": path, "chunksize": size, "offset": offset}
        return self.send("GET", "/api/v1/pfs/chunks", query).json()

    def post_chunk(self, path: str, offset: int, data: bytes) -> Any:
        named = go_query({"path": path, "offset": offset, "chunksize": len(data)})[1:]
        body, content_type = go_form_file("chunk", named, data, CHUNK_BOUNDARY)
        return self.send("POST", "/api/v1/pfs/storage/chunks", None, body, content_type).json()

    def get_chunk(self, path: str, offset: int, size: int) -> Answer:
        return self.send("GET", "/api/v1/pfs/storage/chunks", {"path": path, "offset": offset, "chunksize": size})


def go_json(body: Any) -> bytes:
    """Go writes no spaces, and some characters as escapes that every reader understands."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()


def go_query(query: dict[str, Any] | list[tuple[str, Any]] | None) -> str:
    """In the order of the keys."""
    if not query:
        return ""
    pairs = sorted(query.items() if isinstance(query, dict) else query, key=lambda pair: pair[0])
    return "?" + "&".join(f"{quote_plus(key)}={quote_plus(str(value))}" for key, value in pairs)


def go_form_file(field_name: str, filename: str, data: bytes, boundary: str) -> tuple[bytes, str]:
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field_name}"; filename="{filename}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode() + data + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def go_chunk(answer: Answer) -> tuple[str, bytes]:
    """The name and the bytes of the part, found as Go finds them: by the boundary that the client knows."""
    assert answer.status == 200, answer.content[:500]
    start, end = f"--{CHUNK_BOUNDARY}\r\n".encode(), f"\r\n--{CHUNK_BOUNDARY}--\r\n".encode()
    assert answer.content.startswith(start)
    assert answer.content.endswith(end)
    header, _, data = answer.content[len(start) : -len(end)].partition(b"\r\n\r\n")
    disposition = next(line for line in header.decode().split("\r\n") if line.startswith("Content-Disposition"))
    assert 'name="chunk"' in disposition
    return disposition.partition('filename="')[2].removesuffix('"'), data
