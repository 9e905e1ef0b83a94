"""Runs the commands of the batch system on a login node, each with a deadline and an environment of its own."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from muster.agent import requests
from muster.agent.errors import AgentError

UNREACHABLE = "batch-unreachable"
REJECTED = "batch-rejected"
FULL = "batch-full"
"""The batch system takes no more jobs of this kind now, and has not taken this one."""
ASK_WITHIN_S = 40.0
_PING_AFTER_S = 2.0
"""Commands try for a while to reach a controller that is down, and say nothing meanwhile."""
_PING_WITHIN_S = 8.0
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR")
DOWN = "Slurm's controller does not answer"
_AWAY = (
    DOWN.lower(),
    "unable to contact slurm controller",
    "unable to connect",
    "connection refused",
    "connection timed out",
    "socket timed out",
    "zero bytes were transmitted",
    "slurm backup controller in standby mode",
    "unable to establish controller machine",
    "transport endpoint is not connected",
    "communications connection failure",
    "slurm controller is not responding",
    "backing up",
    "resource temporarily unavailable",
    "message receive failure",
    "protocol authentication error",
    "munge encode failed",
)

TIMES = {"SLURM_TIME_FORMAT": "%s"}
"""Makes squeue, sacct and scontrol write seconds since 1970, which mean the same in every time zone."""
NO_CONFIGURATION = (
    "Slurm's configuration is not found on the login node: "
    "write the path of its slurm.conf there as `conf` in the cluster file"
)
_NO_SOURCE = "could not establish a configuration source"
_WAITER = ("/bin/sh", "-c", '"$@"; exit "$?"', "muster-waiter")
"""Waits for the command that follows. It is no `exec`: the process stays, with all descriptors that it inherited."""


class Finished(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def is_away(self) -> bool:
        """Whether nobody answered, so that the same command may work later."""
        said = self.err.lower()
        return self.code != 0 and any(words in said for words in _AWAY)

    @property
    def is_unconfigured(self) -> bool:
        return self.code != 0 and _NO_SOURCE in self.err.lower()


class Programs:
    def __init__(self, folder: str, env: Mapping[str, str]) -> None:
        """`folder` is where the commands are; if it is empty, PATH says. `env` is added to their environment."""
        self._folder = folder
        own = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self.env: Dict[str, str] = {"PATH": os.defpath, **own, **env}

    def asking(self) -> "Programs":
        """The same programs, for questions: they write points in time as seconds since 1970."""
        return Programs(self._folder, {**self.env, **TIMES})

    def argv(self, command: Sequence[str], user: str = "") -> List[str]:
        program = os.path.join(self._folder, command[0]) if self._folder else command[0]
        as_user = ["sudo", "-n", "-u", user, "--preserve-env=SLURM_CONF", "--"] if user else []
        return [*as_user, program, *command[1:]]

    def run(
        self,
        command: Sequence[str],
        *,
        data: bytes = b"",
        user: str = "",
        held: Tuple[int, ...] = (),
        within_s: float = ASK_WITHIN_S,
    ) -> Finished:
        """The descriptors `held` are open for as long as the command runs, also without this agent. A command that
        takes too long goes on by itself, as it may have done its work already."""
        process = self._begun(self.argv(command, user), data, held, is_by_sudo=bool(user))
        return _finished(process, command[0], within_s)

    def ask(self, command: Sequence[str]) -> Finished:
        """Runs a command that changes nothing. If it takes long because no controller is there, its answer is what
        `scontrol ping` says."""
        process = self._begun(self.argv(command), b"", (), is_by_sudo=False)
        try:
            return _finished(process, command[0], _PING_AFTER_S)
        except AgentError:
            down = self._is_down()
        if not down:
            return _finished(process, command[0], ASK_WITHIN_S - _PING_AFTER_S)
        process.kill()
        process.communicate()
        return Finished(1, "", "{}: {}".format(DOWN, down))

    def _is_down(self) -> str:
        """What Slurm says if none of its controllers answers; nothing if one does, or if nobody can tell."""
        try:
            said = self.run(["scontrol", "ping"], within_s=_PING_WITHIN_S).out
        except AgentError:
            return ""
        lines = [" ".join(line.split()) for line in said.splitlines() if " is " in line]
        is_down = bool(lines) and all(line.upper().endswith("DOWN") for line in lines)
        return ", ".join(lines) if is_down else ""

    def _begun(
        self, argv: List[str], data: bytes, held: Tuple[int, ...], *, is_by_sudo: bool
    ) -> "subprocess.Popen[bytes]":
        try:
            return self._started(argv, data, held, is_by_sudo=is_by_sudo)
        except OSError as error:
            words = "{} cannot be run on the login node: {}; name the folder of Slurm's commands in the cluster file"
            raise AgentError(UNREACHABLE, words.format(argv[0], error.strerror)) from None

    def _started(
        self, argv: List[str], data: bytes, held: Tuple[int, ...], *, is_by_sudo: bool
    ) -> "subprocess.Popen[bytes]":
        """sudo may close what it inherits, so somebody who waits for it holds that. The data are a file, so that
        the command reads all of them also if this agent is killed."""
        if is_by_sudo and held:
            if shutil.which(argv[0], path=self.env["PATH"]) is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            argv = [*_WAITER, *argv]
        with tempfile.TemporaryFile() if data else open(os.devnull, "rb") as given:
            if data:
                given.write(data)
                given.seek(0)
            return subprocess.Popen(
                argv,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.env,
                cwd="/",
                pass_fds=held,
                start_new_session=True,
            )


def _finished(process: "subprocess.Popen[bytes]", program: str, within_s: float) -> Finished:
    """May be called again if it has not finished."""
    try:
        out, err = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        raise AgentError(UNREACHABLE, "{} has not answered for {:g} s".format(program, within_s)) from None
    return Finished(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def programs_of(request: Mapping[str, Any]) -> Programs:
    folder, env = request.get("commands"), request.get("env")
    if not isinstance(folder, str) or (folder and not folder.startswith("/")):
        raise requests.bad_request("commands must be an absolute path or empty")
    if not isinstance(env, dict) or not all(isinstance(one, str) for pair in env.items() for one in pair):
        raise requests.bad_request("env must be an object of texts")
    conf = env.get("SLURM_CONF")
    if conf and not os.access(conf, os.R_OK):  # Slurm's commands would wait a minute for it
        words = "{} cannot be read on the login node: `conf` in the cluster file has to name slurm.conf there"
        raise AgentError(UNREACHABLE, words.format(conf))
    return Programs(folder, env)


def failure(finished: Finished, what: str) -> AgentError:
    if finished.is_unconfigured:
        return AgentError(UNREACHABLE, NO_CONFIGURATION)
    said = " ".join(finished.err.split()) or "it ended with code {}".format(finished.code)
    return AgentError(UNREACHABLE if finished.is_away else REJECTED, "{}: {}".format(what, _short(said)))


def _short(text: str, most: int = 1000) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def optional_user(request: Mapping[str, Any]) -> str:
    """The account that a command runs as. Its name becomes an argument of sudo."""
    value: Optional[Any] = request.get("user") or ""
    if not isinstance(value, str) or value.startswith("-") or not all(ch.isalnum() or ch in "._-@+$" for ch in value):
        raise requests.bad_request("user must be the name of an account, not {!r}".format(value))
    return value
