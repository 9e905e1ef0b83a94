"""A pod template as a role of a Muster job, which runs one container a task."""

import re
from collections.abc import Mapping
from typing import Any

from muster.domain import extended_resources
from muster.domain.specs import Priority
from muster.wire.dialects.kubernetes.pod_variables import Given, PodVariables, text
from muster.wire.dialects.kubernetes.references import is_literal, literal
from muster.wire.dialects.kubernetes.task_scripts import with_start
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

HOSTNAME_LABEL = "kubernetes.io/hostname"
_WARNED = {
    "tolerations": "has no effect: Muster's nodes have no taints",
    "ports": "has no effect: tasks get free ports, which their variables name",
    "hostNetwork": "has no effect: tasks reach each other in the way of their cluster",
    "hostname": "has no effect: tasks find each other by the addresses in their variables",
    "subdomain": "has no effect: tasks find each other by the addresses in their variables",
    "runtimeClassName": "has no effect: Muster gives tasks their GPUs itself",
}
_REFUSED = {
    "initContainers": ("Muster runs one container a task and none before it", "do it at the start of the command"),
    "lifecycle": ("Muster runs no hooks beside a container", "do it in the command"),
    "hostAliases": ("Muster adds no names to the hosts of a container", "use addresses"),
}
_READ = ("name", "image", "command", "args", "env", "envFrom", "resources", "volumeMounts", "workingDir")
_GPU_LABELS = ("accelerator", "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator")
_GPU_NOISE = re.compile(r"(nvidia|tesla|geforce|quadro|sxm\d*|pcie|\d+gb)", re.IGNORECASE)
_RESOURCES = {"cpu": "cpu", "memory": "memory", **dict.fromkeys(extended_resources.GPUS, "gpu")}


class PodRole:
    """Translates one pod template; what concerns the whole job (image, mounts, nodes) is left to be asked for."""

    def __init__(
        self, into: Translator, name: str, template: Any, at: Path, *, given: Given | None = None, namespace: str = ""
    ) -> None:
        self.name = name
        self.node_labels: dict[str, tuple[str, Path]] = {}
        """What `nodeSelector` and `nodeName` ask for beside the GPU model, and where."""
        self.starts: list[str] = []
        """Lines of a shell that run before the command."""
        self._into = into
        self._to: Path = ("roles", name)
        self._at = at
        self._template = into.mapping(template, at)
        self.metadata = into.mapping(self._template.get("metadata"), (*at, "metadata"))
        self.pod_at: Path = (*at, "spec")
        self.pod = into.mapping(self._template.get("spec"), self.pod_at)
        self._containers = into.listed(self.pod.get("containers"), (*self.pod_at, "containers"))
        self.at: Path = (*self.pod_at, "containers", 0)
        self.container = into.mapping(self._containers[0], self.at) if self._containers else {}
        self._env = into.listed(self.container.get("env"), (*self.at, "env"))
        self.given = given or Given()
        self.variables = PodVariables(into, name, self.given, namespace or "default")
        self.resources_at: Path = (*self.at, "resources")
        resources = into.mapping(self.container.get("resources"), self.resources_at)
        self._asked = {
            part: into.mapping(resources.get(part), (*self.resources_at, part)) for part in ("limits", "requests")
        }

    @property
    def image(self) -> Any:
        return self.container.get("image")

    @property
    def image_path(self) -> Path:
        return (*self.at, "image")

    @property
    def volumes_path(self) -> Path:
        return (*self.pod_at, "volumes")

    @property
    def has_command(self) -> bool:
        return bool(self.container.get("command"))

    def translate(self) -> None:
        """Everything but the command, which comes last: mounts may have to prepare something before it."""
        self._into.trace(self._to, self._at)
        if self.metadata:
            self._into.warn((*self._at, "metadata"), "has no effect: Muster labels jobs, not tasks")
        self._pod()
        sources = self._into.listed(self.container.get("envFrom"), (*self.at, "envFrom"))
        self.variables.read_from(sources, (*self.at, "envFrom"))
        self.variables.read(self._env, (*self.at, "env"), self.metadata)
        for name, (value, source) in self.variables.literals.items():
            self._into.put((*self._to, "env", name), value, source)
        self._resources()
        for key in self.container:
            if key not in _READ:
                self._left_out(key, (*self.at, key))

    def command(self, otherwise: list[str] | None = None) -> None:
        """Puts the command together with what has to happen before it. `otherwise` is what the original runs in a
        container without one."""
        source, target = (*self.at, "command"), (*self._to, "command")
        self._into.trace(target, source)
        written = self._into.listed(self.container.get("command"), source)
        given = written or otherwise or []
        added = self._into.listed(self.container.get("args"), (*self.at, "args"))
        if not written and otherwise:
            added = []
        words = self.variables.in_words([*given, *added], source)
        exports = {**self.variables.exports, **self.given.exports}
        if given:
            self._into.put(target, with_start(words, exports, self.starts), source)
        elif not self.image:
            self._missing("there is no image with an entry point")
        elif exports or self.starts:
            what = next(iter(exports), "an emptyDir")
            self._missing(f"the entry point of an image cannot be given {what}")
        elif words and all(is_literal(word) for word in words):
            self._into.put((*self._to, "args"), [literal(word) for word in words], (*self.at, "args"))
            self._into.replace((*self._to, "args"), target)
        elif words:
            self._missing("the arguments name variables that only the task knows, and there is no command")

    def _missing(self, why: str) -> None:
        hint = f"--set roles.{self.name}.command='python train.py' names it"
        self._into.refuse((*self.at, "command"), f"is required: {why}", hint, settled_by=(*self._to, "command"))

    def _pod(self) -> None:
        for key, value in self.pod.items():
            source = (*self.pod_at, key)
            match key:
                case "containers" | "volumes" | "imagePullSecrets" | "terminationGracePeriodSeconds":
                    pass
                case "activeDeadlineSeconds" | "restartPolicy":
                    pass  # asked for by what knows the whole job
                case "nodeSelector":
                    self._node_selector(self._into.mapping(value, source), source)
                case "nodeName":
                    self.node_labels[HOSTNAME_LABEL] = (text(value), source)
                case "affinity":
                    self._affinity(self._into.mapping(value, source), source)
                case "priorityClassName" if value in list(Priority):
                    self._into.put(("priority",), value, source)
                case "priorityClassName":
                    self._into.warn(source, f"{value!r} has no effect", f"--set priority= one of {', '.join(Priority)}")
                case "schedulerName" if value not in ("volcano", "default-scheduler"):
                    self._into.warn(source, f"{value!r} has no effect: Muster schedules by itself")
                case "schedulerName":
                    pass  # started as a gang, which Muster does anyway
                case _:
                    self._left_out(key, source)
        for place in range(1, len(self._containers)):
            self._into.refuse((*self.pod_at, "containers", place), "Muster runs one container a task")

    def _affinity(self, given: Mapping[str, Any], at: Path) -> None:
        rules = [rule for kind in given.values() if isinstance(kind, dict) for rule in kind]
        if rules and all(str(rule).startswith("preferred") for rule in rules):
            self._into.warn(at, "has no effect: Muster reads no preferences", "--set where.labels.KEY=VALUE demands it")
            return
        hint = "--set 'where={labels: {KEY: VALUE}, spread: apart}' says which nodes will do, where={} that all will"
        self._into.refuse(at, "Muster reads no affinity", hint, settled_by=("where",))

    def _node_selector(self, selector: Mapping[str, Any], at: Path) -> None:
        has_gpu = any(name in part for part in self._asked.values() for name in extended_resources.GPUS)
        for label, value in selector.items():
            source = (*at, label)
            if label == "kubernetes.io/os" and value == "linux":
                continue
            if label in _GPU_LABELS and has_gpu:
                model = _gpu_model(str(value))
                self._into.put((*self._to, "resources", "gpuType"), model, source)
                self._into.warn(source, f"{value!r} is taken as the GPU model {model}")
            else:
                self.node_labels[label] = (text(value), source)

    def _resources(self) -> None:
        at = self.resources_at
        limits, requests = self._asked["limits"], self._asked["requests"]
        for name in {**requests, **limits}:
            part = "limits" if name in limits else "requests"
            source = (*at, part, name)
            if name in _RESOURCES:
                self._into.put((*self._to, "resources", _RESOURCES[name]), self._asked[part][name], source)
            elif extended_resources.is_name(name):
                self._into.put((*self._to, "resources", "devices", name), self._asked[part][name], source)
            elif name == "ephemeral-storage":
                self._into.warn(source, "has no effect: disk space is not reserved")
            else:
                self._into.refuse(
                    source,
                    "Muster gives cpu, memory, GPUs and extended resources such as xilinx.com/fpga",
                    f"--set roles.{self.name}.resources={{cpu: 1}} says what to ask for instead",
                    settled_by=(*self._to, "resources"),
                )
            if name in _RESOURCES and str(requests.get(name, limits.get(name))) != str(self._asked[part][name]):
                self._into.warn((*at, "requests", name), "has no effect: what is enforced (the limit) is reserved")

    def _left_out(self, key: str, source: Path) -> None:
        if key in _REFUSED:
            self._into.refuse(source, *_REFUSED[key])
        else:
            self._into.warn(source, _WARNED.get(key, "has no effect: Muster does not use it"))


def first_container(role: Mapping[str, Any]) -> dict[str, Any]:
    """The container in the `template` of a role as it is written, and nothing if it is not written well."""
    found: Any = role
    for key in ("template", "spec", "containers"):
        found = found.get(key) if isinstance(found, Mapping) else None
    first = found[0] if isinstance(found, list) and found else None
    return first if isinstance(first, dict) else {}


def _gpu_model(label: str) -> str:
    """`nvidia-tesla-p100` is a P100, as nodes call theirs."""
    words = [word for word in re.split(r"[\s_-]+", label) if word and not _GPU_NOISE.fullmatch(word)]
    return "".join(words).upper() or label
