"""A real Muster server in its own process, for tests that need all of it."""

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from muster.domain.jobs import ELSEWHERE
from tests.parts.ports import free_port

START_WITHIN_S = 180.0
PATIENCE = 3
"""Times as long as a machine that is not busy needs at the very most. Only a test that fails waits for it."""
_BIN = Path(sys.executable).parent


class MusterServer:
    """One home folder; the process may be stopped, killed and started again on it."""

    def __init__(self, home: Path, env: Mapping[str, str] | None = None, port: int = 0) -> None:
        self.home = home
        self.port = port or free_port()
        self._env = _clean_environment(home) | dict(env or {})
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None

    def start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self._errors = (self.home / "stderr.log").open("a")
        self._process = subprocess.Popen(
            [str(_BIN / "muster"), "up", "--port", str(self.port)],
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        line = first_line(self._process)
        if "://" not in line:
            self.kill()
            raise AssertionError(
                f"the server did not start: {line!r}\n{(self.home / 'stderr.log').read_text()[-4000:]}"
            )
        self.port = int(line.strip().rsplit(":", 1)[1])

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kills the server without warning, like a power failure."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(PATIENCE * 30)
        assert self._process.stdout is not None
        self._process.stdout.close()
        assert self._errors is not None
        self._errors.close()
        self._process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Meanwhile it does and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        context = json.loads((self.home / "context.json").read_text())
        return str(context["contexts"]["local"]["token"])

    @property
    def environment(self) -> dict[str, str]:
        """The variables of whoever uses this server on this machine."""
        return dict(self._env)

    def command(self, *args: str) -> list[str]:
        return [str(_BIN / "muster"), *args]

    def run(
        self, *args: str, check: bool = False, timeout_s: float = 120.0, **options: Any
    ) -> "subprocess.CompletedProcess[str]":
        """Runs the muster command as the user of this machine."""
        done = subprocess.run(
            [str(_BIN / "muster"), *args],
            env=self._env,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            **options,
        )
        if check and done.returncode:
            raise AssertionError(f"muster {' '.join(args)} exited {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def popen(self, *args: str) -> "subprocess.Popen[str]":
        """Starts the muster command; the caller must end it."""
        command, pipe = [str(_BIN / "muster"), *args], subprocess.PIPE
        return subprocess.Popen(command, env=self._env, stdout=pipe, stderr=pipe, text=True)

    def json(self, *args: str) -> Any:
        return json.loads(self.run(*args, "-o", "json", check=True).stdout)

    def call(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> tuple[int, Any]:
        """Makes one API call and returns the status and the JSON or text."""
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return answer.status, _content(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, _content(error.read())

    def submit(self, spec: Mapping[str, Any]) -> Any:
        status, job = self.call("POST", "/api/v1/jobs", {"spec": spec})
        assert status == 201, job
        return job

    def wait(self, ref: str, timeout_s: float = 60.0) -> Any:
        """Waits until the job has ended and returns it."""
        deadline = time.monotonic() + PATIENCE * timeout_s
        while time.monotonic() < deadline:
            _, job = self.call("GET", f"/api/v1/jobs/{ref}/wait?timeout=10")
            if job["state"] in ("Succeeded", "Failed", "Cancelled"):
                return job
        raise AssertionError(f"job {ref} has not ended in {PATIENCE * timeout_s} s: {job}")

    def wait_for_state(self, ref: str, *states: str, timeout_s: float = 60.0) -> Any:
        job: Any = None
        for _ in polls(timeout_s):
            _, job = self.call("GET", f"/api/v1/jobs/{ref}")
            if job["state"] in states:
                return job
        raise AssertionError(f"job {ref} is not {states} after {PATIENCE * timeout_s} s: {job}")


def first_line(process: "subprocess.Popen[str]") -> str:
    """What a program says when it has started; empty if it ends without a word, or says nothing in time."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_WITHIN_S)
    return process.stdout.readline() if ready else ""


@contextmanager
def running_server(home: Path, env: Mapping[str, str] | None = None) -> Iterator[MusterServer]:
    server = MusterServer(home, env)
    server.start()
    try:
        yield server
    finally:
        end_all_jobs(server)
        server.stop()


def end_all_jobs(server: MusterServer) -> None:
    """Stops all jobs, so that a failed test leaves no process behind."""
    try:
        _, page = server.call("GET", "/api/v1/jobs?state=Queued,Held,Starting,Running,Stopping&limit=1000")
        jobs = [
            job["id"] for job in page["items"] if job["cluster"] != ELSEWHERE
        ]  # those run where nobody can end them
        for job in jobs:
            server.call("POST", f"/api/v1/jobs/{job}/kill", {"grace": "0s"})
        for job in jobs:
            server.wait(job, 20)
    except (OSError, AssertionError, KeyError):
        return  # the server no longer runs


def polls(timeout_s: float, every_s: float = 0.05) -> Iterator[None]:
    """For conditions without a notification: poll until a deadline that suits a busy machine."""
    deadline = time.monotonic() + PATIENCE * timeout_s
    while time.monotonic() < deadline:
        yield
        time.sleep(every_s)


def _clean_environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    path = os.pathsep.join([str(_BIN), kept.get("PATH", "")])
    return kept | {"MUSTER_HOME": str(home), "PATH": path, "NO_COLOR": "1"}


def _content(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data.decode("utf-8", "replace")
