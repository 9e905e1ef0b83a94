"""A private Prometheus and Alertmanager for tests: their own folders, free ports, gone at the end."""

import contextlib
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from tests.parts.ports import free_port
from tests.parts.server import polls

PROGRAMS = ("prometheus", "promtool", "prometheus-alertmanager", "amtool")
MISSING = "Prometheus is not installed: apt-get install prometheus prometheus-alertmanager"
SHIPPED = Path(__file__).parents[2] / "deploy"
_START_S = 60.0
_ANSWER_S = 60.0


class PrometheusMissing(Exception):
    """There is no Prometheus or no Alertmanager on this machine."""


@dataclass
class Program:
    """One of the two, as a process."""

    folder: Path
    port: int
    arguments: list[str]
    process: "subprocess.Popen[bytes] | None" = field(default=None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            )
        for _ in polls(_START_S):
            assert self.process.poll() is None, self.said()
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/-/ready", timeout=5):
                return
        raise AssertionError(f"{self.arguments[0]} did not start:\n{self.said()}")

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def said(self) -> str:
        return (self.folder / "log").read_text()[-4000:]

    def get(self, path: str, arguments: Mapping[str, str] | None = None) -> Any:
        query = f"?{urlencode(arguments)}" if arguments else ""
        try:
            with urllib.request.urlopen(f"{self.url}{path}{query}", timeout=_ANSWER_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path} {arguments}: {error.code} {error.read().decode()}") from None


@dataclass
class Prometheus:
    program: Program

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What an expression is now. Refused expressions are AssertionErrors."""
        found: list[dict[str, Any]] = self.program.get("/api/v1/query", {"query": expression})["data"]["result"]
        return found

    def series(self, selector: str) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.program.get("/api/v1/series", {"match[]": selector})["data"]
        return found

    def firing(self) -> set[str]:
        alerts = self.program.get("/api/v1/alerts")["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


@contextlib.contextmanager
def running_alertmanager(folder: Path, config: Mapping[str, Any]) -> Iterator[Program]:
    _require()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(dict(config)))
    port = free_port()
    arguments = [
        "prometheus-alertmanager",
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    with _running(Program(folder, port, arguments)) as program:
        yield program


@contextlib.contextmanager
def running_prometheus(folder: Path, config: Mapping[str, Any]) -> Iterator[Prometheus]:
    """With the shipped rules beside its configuration."""
    _require()
    folder.mkdir(parents=True, exist_ok=True)
    for rules in (SHIPPED / "prometheus").glob("muster-*.yml"):
        shutil.copy(rules, folder)
    (folder / "prometheus.yml").write_text(yaml.safe_dump(dict(config)))
    port = free_port()
    arguments = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with _running(Program(folder, port, arguments)) as program:
        yield Prometheus(program)


@contextlib.contextmanager
def _running(program: Program) -> Iterator[Program]:
    try:
        program.start()
        yield program
    finally:
        program.stop()


def _require() -> None:
    if any(shutil.which(name) is None for name in PROGRAMS):
        raise PrometheusMissing(MISSING)
