"""A private InfluxDB for tests: its own folder, free ports, gone at the end. The machine's own is left alone."""

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.parts.ports import free_port
from tests.parts.server import polls

MISSING = "InfluxDB is not installed: apt-get install influxdb"
ADMIN = ("root", "secret of the admin")
_START_S = 60.0

_CONFIG = """
reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
[monitor]
  store-enabled = false
[http]
  bind-address = "127.0.0.1:{port}"
  auth-enabled = {auth}
  log-enabled = false
"""


class InfluxMissing(Exception):
    """There is no InfluxDB on this machine."""


@dataclass
class Influx:
    folder: Path
    port: int
    account: tuple[str, str] | None = None
    """Who asks."""
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        with (self.folder / "influxd.log").open("ab") as log:
            self.process = subprocess.Popen(
                ["influxd", "-config", str(self.folder / "influxdb.conf")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            )
        for _ in polls(_START_S):
            if self._answers():
                return
        raise AssertionError(f"InfluxDB did not start:\n{(self.folder / 'influxd.log').read_text()[-4000:]}")

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def ask(self, query: str, database: str = "") -> list[dict[str, Any]]:
        """The series of the answer."""
        answer = self._call({"db": database, "q": query})
        (result,) = answer["results"]
        assert "error" not in result, result
        return list(result.get("series", ()))

    def databases(self) -> list[str]:
        (series,) = self.ask("SHOW DATABASES")
        return [str(row[0]) for row in series.get("values", ())]

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "influxd.log").read_text()[-4000:]
        try:
            with urllib.request.urlopen(f"{self.url}/ping", timeout=5) as answer:
                return bool(answer.status == 204)
        except (OSError, http.client.HTTPException):
            return False

    def _call(self, arguments: dict[str, str]) -> Any:
        request = urllib.request.Request(f"{self.url}/query", urlencode(arguments).encode(), method="POST")
        if self.account:
            request.add_header("Authorization", "Basic " + b64encode(":".join(self.account).encode()).decode())
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{arguments['q']}: {error.code} {error.read().decode()}") from None


@contextlib.contextmanager
def running_influx(folder: Path, *, with_accounts: bool = False) -> Iterator[Influx]:
    if shutil.which("influxd") is None:
        raise InfluxMissing(MISSING)
    folder.mkdir(parents=True, exist_ok=True)
    port, rpc = free_port(), free_port()
    auth = str(with_accounts).lower()
    (folder / "influxdb.conf").write_text(_CONFIG.format(folder=folder, port=port, rpc=rpc, auth=auth))
    influx = Influx(folder, port)
    influx.start()
    try:
        if with_accounts:
            influx.ask(f"CREATE USER {ADMIN[0]} WITH PASSWORD '{ADMIN[1]}' WITH ALL PRIVILEGES")
            influx.account = ADMIN
        yield influx
    finally:
        influx.stop()
