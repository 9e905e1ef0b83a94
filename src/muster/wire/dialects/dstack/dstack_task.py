"""A dstack task as a Muster spec: the commands run on each node, one after the other, until one fails."""

import re
from collections.abc import Mapping
from typing import Any

from muster.lib.nearest import nearest
from muster.wire.dialects.dstack.dstack_resources import put_resources
from muster.wire.dialects.job_names import put_name
from muster.wire.dialects.kubernetes.task_scripts import own_folder
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document, Path
from muster.wire.spec_schema import VARIABLE_PATTERN

STATES = {
    "Queued": "submitted",
    "Held": "pending",
    "Starting": "provisioning",
    "Running": "running",
    "Stopping": "terminating",
    "Succeeded": "done",
    "Failed": "failed",
    "Cancelled": "terminated",
}
"""What dstack calls the states of a run."""

_RENTED = "Muster rents no machines"
_IDLE = {
    **dict.fromkeys(("backends", "regions", "availability_zones", "instance_types", "spot_policy"), _RENTED),
    **dict.fromkeys(("max_price", "idle_duration", "creation_policy", "reservation", "instances"), _RENTED),
    "fleets": "--cluster NAME chooses where the job runs",
    "ports": "`muster port-forward` reaches a port of a task",
    "priority": "Muster's priorities are low, normal, high and urgent: --set priority=high",
    "nvcc": "the commands run with the programs of the nodes",
    "single_branch": "Muster clones no repository",
    "inactivity_duration": "it is for dev environments",
    "utilization_policy": "Muster does not stop jobs that use their GPUs little; `muster usage` shows them",
    "pool_name": "--cluster NAME chooses where the job runs",
    "termination_policy": _RENTED,
    "home_dir": "the home folder is that of the task",
}
_REFUSED = {
    "docker": ("Muster runs no Docker inside of tasks", "remove it if the commands do without"),
    "privileged": ("Muster gives tasks no rights of the machine", "remove it if the commands do without"),
    "entrypoint": ("the commands run without the entry point of the image", "begin the commands with it"),
    "schedule": ("Muster starts no jobs at given times", "submit it from cron"),
    "startup_order": ("all tasks of a Muster job start together", "remove it if the order does not matter"),
    "registry_auth": ("Muster takes credentials from a secret", "--set runtime.pullSecret=NAME"),
}
_TRANSLATED = (
    *("type", "name", "image", "python", "user", "shell", "env", "commands", "nodes", "resources", "working_dir"),
    *("max_duration", "stop_duration", "retry", "retry_policy", "volumes", "files", "repos", "tags", "stop_criteria"),
)
_KNOWN = (*_TRANSLATED, *_IDLE, *_REFUSED)
_RUN = (
    f"""\
{own_folder("_dstack")}
"""
    + """\
export DSTACK_RUN_NAME="$MUSTER_JOB_NAME" DSTACK_RUN_ID="$MUSTER_JOB_ID" DSTACK_JOB_ID="$MUSTER_TASK_UID"
export DSTACK_NODE_RANK="$MUSTER_ROLE_INDEX" DSTACK_NODES_NUM="$MUSTER_ROLE_COUNT"
export DSTACK_MASTER_NODE_IP="${MUSTER_HOSTS_WORKER%%,*}"
export DSTACK_NODES_IPS="$(printf '%s' "$MUSTER_HOSTS_WORKER" | tr , '\\n')"
export DSTACK_GPUS_NUM=$((DSTACK_GPUS_PER_NODE * DSTACK_NODES_NUM))
export DSTACK_MPI_HOSTFILE="$_dstack/hostfile"
printf '%s\\n' "$DSTACK_NODES_IPS" | sed "s/\\$/ slots=$((DSTACK_GPUS_PER_NODE > 0 ? DSTACK_GPUS_PER_NODE : 1))/" \
>"$DSTACK_MPI_HOSTFILE"
"""
)
_NEEDS_SSH = re.compile(r"(?m)^[^#\n]*\b(?:mpirun|mpiexec|pdsh)\b")
_SECRET = re.compile(r"\$\{\{\s*secrets\.([\w.-]+)\s*\}\}")


def recognizes(data: Mapping[str, Any]) -> bool:
    return data.get("type") == "task" and "protocolVersion" not in data


def translate(document: Document) -> Translation:
    return _Task(document).translation()


class _Task:
    def __init__(self, document: Document) -> None:
        self._into = Translator(document)
        self._task: dict[str, Any] = document.data

    def translation(self) -> Translation:
        self._say_what_is_not_honoured()
        if self._task.get("name") is not None:
            put_name(self._into, str(self._task["name"]), ("name",))
        self._into.put(("framework",), "plain", ())
        nodes = self._task.get("nodes", 1)
        if nodes != 1:
            self._into.put(("replicas",), nodes, ("nodes",))
            self._into.put(("where", "spread"), "apart", ("nodes",), "--set where.spread=pack takes one machine")
        gpus = put_resources(self._into, self._task.get("resources"))
        self._variables(gpus)
        self._image()
        self._files()
        self._volumes()
        self._times()
        self._commands()
        for name, value in self._into.mapping(self._task.get("tags"), ("tags",)).items():
            self._into.put(("labels", name), value, ("tags", name))
        return self._into.translation()

    def _say_what_is_not_honoured(self) -> None:
        for key, value in self._task.items():
            if key in _IDLE and value not in (None, [], False):
                self._into.warn((key,), f"has no effect: {_IDLE[key]}")
            elif key in _REFUSED and value not in (None, [], False, "any"):
                message, hint = _REFUSED[key]
                settled = ("runtime", "pullSecret") if key == "registry_auth" else ()
                self._into.refuse((key,), message, hint, settled_by=settled)
            elif key not in _KNOWN:
                guess = nearest(key, _KNOWN)
                self._into.refuse((key,), "is no key of a dstack task", f"did you mean {guess}?" if guess else "")
        if self._task.get("stop_criteria") == "master-done":
            message = "a Muster job ends when all of its tasks have ended"
            self._into.refuse(("stop_criteria",), message, "let the other nodes end by themselves")
        retry = self._task.get("retry", self._task.get("retry_policy"))
        if retry:
            message = "has no effect: Muster waits for free nodes, and starts a job again whose node is lost"
            self._into.warn(("retry",), message, "--set retry.max=3 does so after errors, too")

    def _variables(self, gpus: int) -> None:
        uses = []
        for name, value, at in self._given_variables():
            if not re.fullmatch(VARIABLE_PATTERN, name):
                self._into.refuse(at, f"{name!r} is not the name of a variable")
            elif value is None:
                message = f"{name} is taken from your shell there, which is not sent here"
                self._into.refuse(at, message, f"--set env.{name}=VALUE", settled_by=("env", name))
            elif secret := _SECRET.fullmatch(str(value).strip()):
                uses.append({"name": secret[1], "env": name})
            elif _has_template(str(value)):
                hint = f"--set env.{name}=VALUE"
                self._into.refuse(at, f"{value!r} is filled in by dstack", hint, settled_by=("env", name))
            else:
                self._into.put(("env", name), value, at)
        self._into.put(
            ("env", "DSTACK_GPUS_PER_NODE"), str(gpus), ("resources",) if self._task.get("resources") else ()
        )
        if uses:
            self._into.put(("secrets",), uses, ("env",))

    def _given_variables(self) -> list[tuple[str, Any, Path]]:
        given = self._task.get("env")
        if isinstance(given, dict):
            return [(name, value, ("env", name)) for name, value in given.items()]
        found: list[tuple[str, Any, Path]] = []
        for place, item in enumerate(self._into.listed(given, ("env",))):
            if isinstance(item, dict):
                found += [(name, value, ("env", place)) for name, value in item.items()]
            else:
                name, has_value, value = str(item).partition("=")
                found.append((name, value if has_value else None, ("env", place)))
        return found

    def _image(self) -> None:
        image, python = self._task.get("image"), self._task.get("python")
        hint = "--set runtime.image=null runs the commands with the nodes' own programs"
        if image is not None:
            self._into.put(("runtime", "image"), image, ("image",), hint)
            if not self._task.get("repos") and not self._task.get("files"):
                self._into.put(("runtime", "workdir"), "image", ("image",))
        elif python is not None:
            message = f"dstack runs the commands in an image of its own with Python {python}"
            hint = f"--set runtime.image=python:{python} takes another; null the programs of the nodes"
            self._into.refuse(("python",), message, hint, settled_by=("runtime", "image"))
        else:
            self._into.warn((), "without an image the commands run with the programs of the nodes")
        if (user := self._task.get("user")) is not None:
            self._into.warn(("user",), f"{user!r} has no effect: tasks have the account that the cluster gives them")

    def _files(self) -> None:
        """The command line sends a folder that is the only one, and this is then settled."""
        for key in ("files", "repos"):
            for place, item in enumerate(self._into.listed(self._task.get(key), (key,))):
                said = (
                    item if isinstance(item, str) else next(iter(item.values()), "") if isinstance(item, dict) else ""
                )
                message = f"{said} has not been sent"
                self._into.refuse((key, place), message, "--set package=DIR sends a folder", settled_by=("package",))

    def _volumes(self) -> None:
        mounts = []
        for place, item in enumerate(self._into.listed(self._task.get("volumes"), ("volumes",))):
            source, target = _volume(item)
            if not source or not target:
                self._into.refuse(("volumes", place), f"is {item!r}"[:200], "NAME:DIR", settled_by=("mounts",))
            else:
                kind = "source" if source.startswith("/") else "storage"
                mounts.append({kind: source, "target": target})
        if mounts:
            hint = "--set 'mounts=[{source: FOLDER, target: DIR}]'"
            self._into.put(("mounts",), mounts, ("volumes",), hint)

    def _times(self) -> None:
        for key, target in (("max_duration", "timeLimit"), ("stop_duration", "grace")):
            value = self._task.get(key)
            if value not in (None, False, "off"):
                self._into.put((target,), value, (key,))

    def _commands(self) -> None:
        commands = self._into.listed(self._task.get("commands"), ("commands",))
        if not commands:
            if self._task.get("image") is None:
                self._into.refuse(("commands",), "is required", settled_by=("command",))
            return
        lines = [_grouped(str(line)) for line in commands]
        for place, line in enumerate(lines):
            if _has_template(line):
                self._into.refuse(("commands", place), "is filled in by dstack", "use a variable of `env`")
        self._between_nodes("\n".join(lines), ("commands",))
        folder = self._task.get("working_dir")
        into_folder = f"cd {_quoted(str(folder))} &&\n" if folder else ""
        shell = str(self._task.get("shell") or ("sh" if self._task.get("image") else "bash"))
        script = _RUN + into_folder + " &&\n".join(lines)
        self._into.put(("command",), [shell, "-c", script], ("commands",))

    def _between_nodes(self, text: str, source: Path) -> None:
        if self._task.get("nodes", 1) != 1 and _NEEDS_SSH.search(text):
            message = "mpirun reaches the other nodes by ssh, which tasks have only if the job asks for it"
            hint = "--set ssh=true, and name the nodes worker-0, worker-1 and so on"
            self._into.refuse(source, message, hint, settled_by=("ssh",))


def _grouped(line: str) -> str:
    """A command of several lines is one, and what goes to the background does not end the chain."""
    plain = line.strip()
    return f"{{ {plain}\n}}" if "\n" in plain or plain.endswith("&") else plain


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _volume(item: Any) -> tuple[str, str]:
    if isinstance(item, dict):
        source = item.get("instance_path") or item.get("name")
        return str(source or ""), str(item.get("path") or "")
    source, _, target = str(item).partition(":")
    return source, target


def _has_template(text: str) -> bool:
    return any("}}" in line.partition("${{")[2] for line in text.split("\n"))
