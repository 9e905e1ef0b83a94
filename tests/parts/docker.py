"""A private docker for a test: a service with its own socket, storage and containerd, and without networks."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Self

from tests.parts.engines import IMAGE, EngineMissing, EnginePart, end_users_of, pack_image, unmount_below

_WITHIN_S = 60.0
_ALONE = ("--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false", "--bridge=none")


class Docker:
    """`base` must be short, because the path of a socket may have at most 107 characters."""

    def __init__(self, base: Path) -> None:
        program, service = shutil.which("docker"), shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if program is None or service is None:
            raise EngineMissing("docker or dockerd is not installed (scripts/install-test-parts.sh)")
        if os.geteuid() != 0:
            raise EngineMissing("dockerd needs root")
        self._base = base
        self._service = service
        self._process: subprocess.Popen[bytes] | None = None
        self.engine = EnginePart("docker", program, {"DOCKER_HOST": f"unix://{base}/socket"})

    @classmethod
    def started(cls, base: Path) -> Self:
        """Raises EngineMissing with the reason."""
        docker = cls(base)
        pack_image(base / "image.tar")
        try:
            docker.start()
            made = docker.engine.call("import", str(base / "image.tar"), IMAGE)
            tried = docker.engine.call("run", "--rm", "--network", "host", "--log-driver", "none", IMAGE, "true")
        except EngineMissing:
            docker.remove()
            raise
        if made.returncode or tried.returncode:
            docker.remove()
            raise EngineMissing(f"containers cannot run here: {(made.stderr + tried.stderr).strip()[-300:]}")
        return docker

    def start(self) -> None:
        """Starts the service again after `kill`, on the same storage."""
        base = self._base
        for stale in (base / "pid", base / "exec/containerd/containerd.pid"):
            stale.unlink(missing_ok=True)  # a zombie that is not reaped looks like a running process
        with (base / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._service,
                    *("--host", f"unix://{base}/socket", "--pidfile", str(base / "pid")),
                    *("--data-root", str(base / "data"), "--exec-root", str(base / "exec")),
                    *("--storage-driver", "vfs"),
                    *_ALONE,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _WITHIN_S
        while self.engine.call("version").returncode != 0:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise EngineMissing(f"dockerd does not start here: {(base / 'log').read_text()[-500:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kills the service and its containerd without warning; containers continue."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(_WITHIN_S)

    def remove(self) -> None:
        if self._process is not None and self._process.poll() is None:
            left = self.engine.call("ps", "--all", "--quiet").stdout.split()
            if left:
                self.engine.call("rm", "--force", *left)
            self._process.terminate()
            self._process.wait(_WITHIN_S)
        self._end_others()
        unmount_below(self._base)
        shutil.rmtree(self._base, ignore_errors=True)

    def _end_others(self) -> None:
        """The remaining processes of a killed service, which have the test's folder among their arguments."""
        end_users_of(self._base)
