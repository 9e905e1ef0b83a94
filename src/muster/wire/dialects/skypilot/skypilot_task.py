"""A SkyPilot task as a Muster spec: `setup` once on each node, then `run` on each node, in its workdir."""

import re
from collections.abc import Mapping
from typing import Any

from muster.lib.nearest import nearest
from muster.wire.dialects.job_names import put_name
from muster.wire.dialects.skypilot.skypilot_resources import RESOURCE_KEYS, Hardware
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document, Path
from muster.wire.key_hints import meant
from muster.wire.spec_problems import keys_at
from muster.wire.spec_schema import VARIABLE_PATTERN

STATES = {
    "Queued": "PENDING",
    "Held": "PENDING",
    "Starting": "STARTING",
    "Running": "RUNNING",
    "Stopping": "RUNNING",
    "Succeeded": "SUCCEEDED",
    "Failed": "FAILED",
    "Cancelled": "CANCELLED",
}
"""What SkyPilot calls the states of a managed job."""

_KEYS = (
    *("name", "workdir", "num_nodes", "resources", "envs", "secrets", "file_mounts", "volumes", "setup", "run"),
    *("service", "inputs", "outputs", "config", "experimental", "event_callback", "pool"),
)
_IDLE = {
    "inputs": "it only helps SkyPilot to choose a cloud",
    "outputs": "it only helps SkyPilot to choose a cloud",
    "config": "it configures SkyPilot itself",
    "experimental": "it configures SkyPilot itself",
    "pool": "--cluster NAME chooses where the job runs",
}
_RANKED = """\
export SKYPILOT_NODE_RANK="$MUSTER_ROLE_INDEX" SKYPILOT_NUM_NODES="$MUSTER_ROLE_COUNT"
export SKYPILOT_NODE_IPS="${MUSTER_HOSTS_WORKER//,/$'\\n'}"
export SKYPILOT_TASK_ID="sky-$MUSTER_JOB_ID-$MUSTER_JOB_NAME" SKYPILOT_USER="$MUSTER_OWNER"
"""
_SETUP_RANKED = """\
export SKYPILOT_SETUP_NODE_RANK="$MUSTER_ROLE_INDEX" SKYPILOT_SETUP_NODE_IPS="${MUSTER_HOSTS_WORKER//,/$'\\n'}"
export SKYPILOT_SETUP_NUM_NODES="$MUSTER_ROLE_COUNT" SKYPILOT_USER="$MUSTER_OWNER"
"""
_CONDA = 'if command -v conda >/dev/null 2>&1; then . "$(conda info --base)/etc/profile.d/conda.sh"; fi\n'
_OF_MUSTER = ("replicas", "env", "params", "package", "runtime", "mounts", "timeLimit", "framework", "cluster", "where")
_ONLY_OF_SKYPILOT = (
    *("workdir", "num_nodes", "envs", "file_mounts", "volumes", "config", "experimental", "event_callback", "pool"),
)
_BECAUSE_OF_RUN = "the file is read as one because of `run`; the key of Muster's own specs is `command`"
_NEEDS_SSH = re.compile(r"(?m)^[^#\n]*\b(?:mpirun|mpiexec|pdsh)\b")
_BUCKET = re.compile(r"[a-z0-9]+://", re.IGNORECASE)


def recognizes(data: Mapping[str, Any]) -> bool:
    if any(key in data for key in ("type", "apiVersion", "jobs", "service", "protocolVersion", "$schema")):
        return False
    if any(key in data for key in _OF_MUSTER):
        return False  # a Muster spec with a word of SkyPilot in it, whose author is told the right one
    resources = data.get("resources")
    asks = isinstance(resources, dict) and any(key in RESOURCE_KEYS for key in resources)
    if not asks and not any(key in data for key in _ONLY_OF_SKYPILOT) and _seems_own(data):
        return False
    return isinstance(data.get("run"), str) or asks or "file_mounts" in data or {"num_nodes", "setup"} <= data.keys()


def translate(document: Document) -> Translation:
    return _Task(document).translation()


def _seems_own(data: Mapping[str, Any]) -> bool:
    """Whether keys that SkyPilot does not have resemble keys of a Muster spec."""
    resources = data.get("resources")
    inner = [key for key in resources if key != "memory"] if isinstance(resources, dict) else []
    return any(
        meant(path, [key for key in keys_at(path[:-1]) if key not in _KEYS])
        for path in (*((key,) for key in data if key not in _KEYS), *(("resources", key) for key in inner))
    )


class _Task:
    def __init__(self, document: Document) -> None:
        self._into = Translator(document)
        self._task: dict[str, Any] = document.data

    def translation(self) -> Translation:
        self._unknown()
        if self._task.get("name") is not None:
            put_name(self._into, str(self._task["name"]), ("name",))
        self._into.put(("framework",), "plain", ())
        nodes = self._nodes()
        gpus = Hardware(self._into, self._task.get("resources")).put()
        self._variables(gpus)
        self._folder()
        self._files()
        self._commands()
        if nodes > 1:
            self._into.put(("where", "spread"), "apart", ("num_nodes",), "--set where.spread=pack takes one machine")
        return self._into.translation()

    def _unknown(self) -> None:
        for key in self._task:
            if key in _IDLE and self._task[key]:
                self._into.warn((key,), f"has no effect: {_IDLE[key]}")
            elif key not in _KEYS:
                guess = nearest(key, _KEYS)
                why = _BECAUSE_OF_RUN if "run" in self._task else ""
                self._into.refuse((key,), "is no key of a SkyPilot task", f"did you mean {guess}?" if guess else why)
        if self._task.get("event_callback"):
            self._into.refuse(
                ("event_callback",), "Muster calls nothing when a job changes", "`muster events` shows it"
            )

    def _nodes(self) -> int:
        nodes = self._task.get("num_nodes", 1)
        if nodes != 1:
            self._into.put(("replicas",), nodes, ("num_nodes",))
        return nodes if isinstance(nodes, int) else 1

    def _variables(self, gpus: int | float) -> None:
        for name, value in self._into.mapping(self._task.get("envs"), ("envs",)).items():
            at: Path = ("envs", name)
            if value is None:
                message = "has no value: `sky launch --env` gives it one there"
                self._into.refuse(at, message, f"--set env.{name}=VALUE", settled_by=("env", name))
            else:
                self._into.put(("env", name), value, at)
        self._into.put(
            ("env", "SKYPILOT_NUM_GPUS_PER_NODE"), str(gpus), ("resources",) if self._task.get("resources") else ()
        )
        uses = []
        for name, value in self._into.mapping(self._task.get("secrets"), ("secrets",)).items():
            if not re.fullmatch(VARIABLE_PATTERN, name):
                self._into.refuse(("secrets", name), "is not the name of a variable")
                continue
            uses.append({"name": name, "env": name})
            if value not in (None, ""):
                message = f"the value in the file is not used: your secret {name} is"
                self._into.warn(("secrets", name), message, f"muster secret set {name}")
        if uses:
            self._into.put(("secrets",), uses, ("secrets",))

    def _folder(self) -> None:
        workdir = self._task.get("workdir")
        if isinstance(workdir, str):
            message = f"the folder {workdir} has not been sent"
            self._into.refuse(("workdir",), message, "--set package=DIR sends one", settled_by=("package",))
        elif workdir is not None:
            hint = "clone it in `setup`, and --set package=null"
            self._into.refuse(("workdir",), "Muster clones no repository", hint, settled_by=("package",))

    def _files(self) -> None:
        for target, source in self._into.mapping(self._task.get("file_mounts"), ("file_mounts",)).items():
            at: Path = ("file_mounts", target)
            if isinstance(source, str) and not _BUCKET.match(source):
                hint = f"--set 'inputs=[{{source: {source}, target: NAME}}]' puts it into the working directory"
                message = f"{source} is to be copied to {target}, and tasks find their files in the working directory"
                self._into.refuse(at, message, hint, settled_by=("inputs",))
            else:
                hint = f"--set 'mounts=[{{source: FOLDER, target: {target}}}]' mounts a folder of the cluster"
                self._into.refuse(at, "Muster mounts no buckets", hint, settled_by=("mounts",))
        mounts = []
        for target, volume in self._into.mapping(self._task.get("volumes"), ("volumes",)).items():
            name = volume.get("name") if isinstance(volume, dict) else volume
            mounts.append({"storage": str(name), "target": target})
        if mounts:
            hint = "--set 'mounts=[{source: FOLDER, target: DIR}]'"
            self._into.put(("mounts",), mounts, ("volumes",), hint)

    def _commands(self) -> None:
        run, setup = self._task.get("run"), self._task.get("setup")
        for key, text in (("run", run), ("setup", setup)):
            if text is not None and not isinstance(text, str):
                self._into.refuse((key,), f"is {text!r}"[:200], "text with commands")
        if not run:
            message = "is required: a task without it only makes a cluster of SkyPilot"
            self._into.refuse(("run",), message, settled_by=("command",))
        elif isinstance(run, str):
            self._said_of_home("run", run)
            self._between_nodes(run, ("run",))
            self._into.put(("command",), ["bash", "-c", f"{_RANKED}{_conda(run)}{run}"], ("run",))
        if isinstance(setup, str) and setup.strip():
            self._said_of_home("setup", setup)
            asks = "SKYPILOT_SETUP_" in setup
            command = ["bash", "-c", f"{_SETUP_RANKED if asks else ''}{_conda(setup)}{setup}"]
            value = {"command": command, "cache": False} if asks else {"command": command}
            self._into.put(("setup",), value, ("setup",))

    def _between_nodes(self, text: str, source: Path) -> None:
        if self._task.get("num_nodes", 1) != 1 and _NEEDS_SSH.search(text):
            message = "mpirun reaches the other nodes by ssh, which tasks have only if the job asks for it"
            hint = "--set ssh=true, and name the nodes worker-0, worker-1 and so on"
            self._into.refuse(source, message, hint, settled_by=("ssh",))

    def _said_of_home(self, key: str, text: str) -> None:
        if "sky_workdir" in text:
            self._into.warn((key,), "there is no ~/sky_workdir here: the commands begin in the folder of the workdir")


def _conda(text: str) -> str:
    return _CONDA if re.search(r"\bconda\s+activate\b", text) else ""
