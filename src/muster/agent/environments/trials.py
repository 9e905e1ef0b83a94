"""Tests an environment: each framework that it has is really imported, alone, and asked which GPUs it sees.

Only the environment's own Python runs, with fixed programs, as a process that is killed after its deadline. It sees the
GPUs that it is given, and no others. Users can make environments in folders, so it runs as their tasks do: isolated,
and under their account.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import stat
import tempfile
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from muster.agent import requests
from muster.agent.environments.scripts import ANSWER, FRAMEWORKS, PACKAGES, TRY, VERSIONS
from muster.agent.errors import BAD_REQUEST, STILL_RUNNING, AgentError
from muster.agent.isolation.accounts import Accounts
from muster.agent.isolation.confined_call import confined_call
from muster.agent.isolation.orders import isolation_order
from muster.agent.isolation.task_confinement import Isolation, isolation_of
from muster.agent.system.removal import remove_tree
from muster.agent.system.short_commands import Called, call
from muster.agent.tasks import cgroups
from muster.agent.tasks.containers import client_environment
from muster.agent.tasks.launch_request import Limits

WITHIN_S = 50.0
_MOST_AT_ONCE = 2
_LEAST_S = 1.0
_OUTPUT_BYTES = 1 << 20
_TAIL = 1500
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Python by either name; the program and its argument stay arguments.
_IN_IMAGE = (
    'p=$(command -v python3 || command -v python) || { echo "the image has no python" >&2; exit 127; }; exec "$p" "$@"'
)


class Trial(NamedTuple):
    """What is tried: the `prefix` of an environment on the node, or an image with the program of its engine."""

    prefix: str
    image: str
    program: str
    words: Tuple[str, ...]
    devices: str
    isolation: Optional[Isolation]
    user: str = ""
    """Who asked for it; empty for the person under whose account this agent runs."""
    before: Tuple[str, ...] = ()
    """The words before its Python that activate it."""


def trial(request: Mapping[str, Any], accounts: Accounts) -> Trial:
    prefix = str(request.get("path") or "")
    words = request.get("words") or []
    devices = request.get("devices") or ""
    if prefix and (not os.path.isabs(prefix) or "\0" in prefix):
        raise AgentError(BAD_REQUEST, "path must be absolute, not {!r}".format(prefix))
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise AgentError(BAD_REQUEST, "words must be a list of texts")
    order = isolation_order(request.get("isolation"))
    isolation, user = isolation_of(order, accounts), "" if order is None else order.owner
    if prefix:
        before = requests.argument_list(request["before"]) if request.get("before") else ()
        return Trial(prefix, "", "", (), str(devices), isolation, user, before)
    image, program = requests.text(request, "image"), requests.text(request, "program")
    return Trial("", image, program, tuple(words), str(devices), isolation, user)


class EnvironmentTests:
    def __init__(self, groups: cgroups.Groups) -> None:
        self._groups = groups
        self._users: List[str] = []
        """The users whose tests are under way."""
        self._turn = threading.Lock()

    def test(self, one: Trial) -> Dict[str, Any]:
        """This may block for up to WITHIN_S."""
        return self._in_turn(one, self._tested)

    def packages(self, one: Trial) -> Dict[str, Any]:
        """What is installed. This may block for up to WITHIN_S."""
        return self._in_turn(one, self._installed)

    def _in_turn(self, one: Trial, ask: Callable[[Trial, float], Dict[str, Any]]) -> Dict[str, Any]:
        self._enter(one.user)
        try:
            return ask(one, time.monotonic() + WITHIN_S)
        finally:
            with self._turn:
                self._users.remove(one.user)

    def _enter(self, user: str) -> None:
        """One user has one test at a time, so that others can test, too."""
        with self._turn:
            if user in self._users:
                raise AgentError(STILL_RUNNING, "an environment is being tested for you here; try again in a minute")
            if len(self._users) >= _MOST_AT_ONCE:
                message = "{} environments are being tested here; try again in a minute".format(_MOST_AT_ONCE)
                raise AgentError(STILL_RUNNING, message)
            self._users.append(user)

    def _tested(self, one: Trial, deadline: float) -> Dict[str, Any]:
        seen = self._ask(one, deadline, VERSIONS, json.dumps(FRAMEWORKS))
        if "error" in seen:
            return {"python": "", "error": seen["error"], "frameworks": []}
        frameworks = [
            {"name": name, "version": version, **self._ask(one, deadline, TRY, name)}
            for name, version in sorted(seen.get("frameworks", {}).items())
        ]
        return {"python": seen.get("python", ""), "error": "", "frameworks": frameworks}

    def _installed(self, one: Trial, deadline: float) -> Dict[str, Any]:
        seen = self._ask(one, deadline, PACKAGES, one.prefix)
        return {"python": seen.get("python", ""), "error": seen.get("error", ""), "packages": seen.get("packages", [])}

    def _ask(self, one: Trial, deadline: float, script: str, argument: str) -> Dict[str, Any]:
        left = deadline - time.monotonic()
        if left < _LEAST_S:
            return {"error": "no time was left to try it: all together may take {:g} s".format(WITHIN_S)}
        try:
            done = self._run(one, left, ["-c", script, argument])
        except OSError as error:
            return {"error": "its Python does not start: {}".format(error.strerror or error)}
        answer = next((line for line in reversed(done.output.splitlines()) if line.startswith(ANSWER)), None)
        if answer is not None:
            return _parsed(answer[len(ANSWER) :])
        if done.late:
            return {"error": "it did not end within {:g} s{}".format(round(left), _tail(done))}
        return {"error": "it ended with exit code {}{}".format(done.code, _tail(done))}

    def _run(self, one: Trial, within_s: float, arguments: Sequence[str]) -> Called:
        if not one.image:
            python = os.path.join(one.prefix, "bin", "python")
            return self._run_here(one, within_s, [*one.before, python, "-I", *arguments])
        if os.path.basename(one.program) == "apptainer":
            inside = [one.image, "sh", "-c", _IN_IMAGE, "sh", *arguments]
            return self._run_here(one, within_s, [one.program, "exec", "--cleanenv", *one.words, *inside])
        return _run_in_container(one, within_s, arguments)

    def _run_here(self, one: Trial, within_s: float, argv: Sequence[str]) -> Called:
        if one.isolation is None or not one.isolation.is_confined:
            if one.isolation is None and (stranger := _stranger(one.prefix)):
                raise OSError(
                    errno.EPERM, "others can change {}, and it would run as the server's account".format(stranger)
                )
            return call(argv, within_s, env=_environment(one), most_bytes=_OUTPUT_BYTES)
        devices = [int(word) for word in one.devices.split(",") if word.isdigit()]
        groups = self._groups.create(
            "test-" + os.urandom(8).hex(), Limits(None, None), one.isolation.closed_devices(devices)
        )
        scratch = tempfile.mkdtemp(prefix="muster-test-")
        try:
            if one.isolation.account is not None:
                os.chown(scratch, one.isolation.account.uid, one.isolation.account.gid)
            return confined_call(
                argv,
                {**_environment(one), **one.isolation.environment({}, scratch)},
                within_s,
                one.isolation.confinement(scratch, [(scratch, False)], [], devices),
                scratch=scratch,
                groups=cgroups.join_files(groups),
                most_bytes=_OUTPUT_BYTES,
            )
        finally:
            cgroups.kill(groups)
            cgroups.remove(groups)
            remove_tree(scratch)


def _run_in_container(one: Trial, within_s: float, arguments: Sequence[str]) -> Called:
    name = "muster-test.{}".format(os.urandom(8).hex())
    variables = [word for variable in sorted(_quiet(one.devices)) for word in ("--env", variable)]
    harmless = ["--network", "none", "--pull", "never", "--cap-drop", "all", "--security-opt", "no-new-privileges"]
    head = [one.program, "run", "--rm", "--name", name, *harmless, *variables, *one.words]
    tail = ["--entrypoint", "", one.image, "sh", "-c", _IN_IMAGE, "sh", *arguments]
    env = _environment(one)
    done: Optional[Called] = None
    try:
        done = call([*head, *tail], within_s, env=env, most_bytes=_OUTPUT_BYTES)
        return done
    finally:
        if done is None or done.late:
            call([one.program, "rm", "--force", name], 10.0, env=env)


def _stranger(prefix: str) -> Optional[str]:
    """The first file or folder of the environment that another account than root or ours can change: what runs there
    may be theirs. Of what Python imports, the folders for packages are looked at, and what lies directly in them."""
    return next((path for path in _parts_of(os.path.realpath(prefix)) if _is_changeable(path)), None)


def _parts_of(prefix: str) -> Iterator[str]:
    python = os.path.realpath(os.path.join(prefix, "bin", "python"))
    for path in (os.path.join(prefix, "bin"), python):
        parts = path.strip("/").split("/")
        yield from ("/" + "/".join(parts[:count]) for count in range(1, len(parts) + 1))
    yield os.path.join(prefix, "pyvenv.cfg")
    for name in ("etc", "etc/conda", "etc/conda/env_vars.d", "etc/conda/activate.d", "conda-meta", "conda-meta/state"):
        yield os.path.join(prefix, name)
    yield from glob.glob(os.path.join(glob.escape(prefix), "etc", "conda", "activate.d", "*"))
    for base in (prefix, os.path.dirname(os.path.dirname(python))):
        yield os.path.join(base, "lib")
        for library in glob.glob(os.path.join(glob.escape(base), "lib", "python3*")):
            packages = os.path.join(library, "site-packages")
            yield library
            yield packages
            yield from glob.glob(os.path.join(glob.escape(packages), "*"))


def _is_changeable(path: str) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False  # there is nothing to run
    if found.st_uid not in (0, os.getuid()):
        return True
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return False
    by_group = found.st_mode & stat.S_IWGRP and found.st_gid not in (0, os.getgid())
    return bool(by_group or found.st_mode & stat.S_IWOTH)


def _environment(one: Trial) -> Dict[str, str]:
    own = {name: os.environ[name] for name in ("HOME", "LANG", "USER", "TMPDIR") if name in os.environ}
    path = os.environ.get("PATH", _PATH)
    if one.image:
        own.update(client_environment(os.environ))
        inside = {"APPTAINERENV_" + name: value for name, value in _quiet(one.devices).items()}
        return {**own, **_quiet(one.devices), **inside, "PATH": path}
    return {**own, **_quiet(one.devices), "PATH": "{}/bin:{}".format(one.prefix, path), "CONDA_PREFIX": one.prefix}


def _quiet(devices: str) -> Dict[str, str]:
    """A framework that is only tested should use as little of a GPU, and print as little, as possible."""
    return {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": devices,
        "NVIDIA_VISIBLE_DEVICES": devices or "void",
        "ROCR_VISIBLE_DEVICES": devices,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }


def _parsed(text: str) -> Dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"error": "its answer cannot be read"}


def _tail(done: Called) -> str:
    lines: List[str] = (done.errors.strip() or done.output.strip())[-_TAIL:].splitlines()
    return ": " + "\n".join(lines[-10:]) if lines else ""
