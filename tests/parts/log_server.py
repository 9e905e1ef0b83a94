"""A real log server in its own process, which may be killed and started again on its file."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.parts.ports import free_port
from tests.parts.server import first_line

_BIN = Path(sys.executable).parent
_WITHIN_S = 90.0
TOKEN = "a-token-of-tests"
Body = Mapping[str, Any]


def record(seq: int, receiver: str = "r1", **more: Any) -> dict[str, Any]:
    """A record as a server sends it."""
    common = {"kind": "job.running", "at": "2026-01-02T03:04:05.000Z", "jobId": f"job{seq // 10}", "owner": "li"}
    return {"receiver": receiver, "seq": seq, **common, **more}


class LogServer:
    def __init__(self, file: Path, *options: str, token: str = TOKEN) -> None:
        self.file = file
        self.port = free_port()
        self._options = options
        self._token = token
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        with self.errors.open("a") as errors:
            self._process = subprocess.Popen(
                [str(_BIN / "muster"), "logserver", "-p", str(self.port), "-f", str(self.file), *self._options],
                env={**kept, "MUSTER_LOGSERVER_TOKEN": self._token},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        line = first_line(self._process)
        assert "://" in line, f"the log server did not start: {line!r} {self.errors.read_text()[-2000:]}"
        self.port = int(line.strip().rsplit(":", 1)[1])

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    @property
    def errors(self) -> Path:
        return self.file.with_name("stderr")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(self, records: Sequence[Body]) -> dict[str, Any]:
        status, answer = self.call("POST", "/v1/records", json.dumps({"records": list(records)}).encode())
        assert status == 200, answer
        return dict(answer)

    def call(self, method: str, path: str, body: bytes | None = None, token: str = TOKEN) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def lines(self) -> list[dict[str, Any]]:
        """What all files have, oldest first."""
        full = sorted(path for path in self.file.parent.glob(f"{self.file.name}.*") if path.suffix[1:].isdigit())
        files = [*full, self.file]
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def exit_code(self) -> int:
        """Waits for its end."""
        assert self._process is not None
        return self._process.wait(_WITHIN_S)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(_WITHIN_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None


@contextmanager
def running_log_server(folder: Path, *options: str, token: str = TOKEN) -> Iterator[LogServer]:
    folder.mkdir(parents=True, exist_ok=True)
    server = LogServer(folder / "jobs.log", *options, token=token)
    server.start()
    try:
        yield server
    finally:
        server.stop()
