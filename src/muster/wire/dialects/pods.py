"""A role of a PaddleJob: its replicas and the pod template, of which Muster can run one container a task."""

import re
from collections.abc import Mapping
from typing import Any

from muster.domain import extended_resources
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

_WARNED = {
    "tolerations": "has no effect: Muster's nodes have no taints",
    "ports": "has no effect: tasks get free ports, which PADDLE_PORT names",
}
_REFUSED = {
    "initContainers": ("Muster runs one container a task and none before it", "do it at the start of the command"),
    "affinity": ("Muster reads no affinity", "remove it, and say --set where.labels.KEY=VALUE or where.spread=apart"),
    "envFrom": ("Muster reads no ConfigMaps and Secrets", "write the variables in env"),
    "workingDir": ("Muster's tasks start in their package", "begin the command with cd"),
}
_GPU_LABELS = ("accelerator", "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator")
_GPU_NOISE = re.compile(r"(nvidia|tesla|geforce|quadro|sxm\d*|pcie|\d+gb)", re.IGNORECASE)
ROLE_BOUNDS = {"requests": "min", "limits": "max"}
"""How few and how many replicas will do, beside `replicas`."""
_RESOURCES = {"cpu": "cpu", "memory": "memory", **dict.fromkeys(extended_resources.GPUS, "gpu")}
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_GIVEN = re.compile(r"PADDLE_\w+|TRAINING_ROLE|TRAINER_PORTS_NUM|POD_IP")
"""Variables that paddle-operator, and Muster, give every task."""


class PodRole:
    """Translates one role; what concerns the whole job (image, mounts, nodes, bounds) is left to be asked for."""

    def __init__(self, into: Translator, name: str, role: Mapping[str, Any]) -> None:
        self.name = name
        self._into = into
        self._role = role
        self.node_labels: dict[str, tuple[str, Path]] = {}
        """What `nodeSelector` asks for beside the GPU model, and where."""
        self._at: Path = ("spec", name)
        self._to: Path = ("roles", name)
        template = into.mapping(role.get("template"), (*self._at, "template"))
        self._template = template
        self._pod_at: Path = (*self._at, "template", "spec")
        self.pod = into.mapping(template.get("spec"), self._pod_at)
        self._containers = into.listed(self.pod.get("containers"), (*self._pod_at, "containers"))
        self.at: Path = (*self._pod_at, "containers", 0)
        self.container = into.mapping(self._containers[0], self.at) if self._containers else {}
        self._env = into.listed(self.container.get("env"), (*self.at, "env"))
        resources = into.mapping(self.container.get("resources"), (*self.at, "resources"))
        self._asked = {
            part: into.mapping(resources.get(part), (*self.at, "resources", part)) for part in ("limits", "requests")
        }

    @property
    def replicas(self) -> int:
        value = self._role.get("replicas")
        return value if isinstance(value, int) else 0

    @property
    def bounds(self) -> dict[str, Any]:
        return {key: self._role[key] for key in ROLE_BOUNDS if self._role.get(key) is not None}

    @property
    def image(self) -> Any:
        return self.container.get("image")

    @property
    def image_path(self) -> Path:
        return (*self.at, "image")

    @property
    def volumes_path(self) -> Path:
        return (*self._pod_at, "volumes")

    def translate(self) -> None:
        self._into.put(self._to, {}, self._at)
        self._replicas()
        self._pod()
        self._command()
        self._variables()
        self._resources()
        self._container_rest()

    def _replicas(self) -> None:
        for key, value in self._role.items():
            if key == "replicas":
                self._into.put((*self._to, key), value, (*self._at, key))
            elif key not in ("template", *ROLE_BOUNDS):
                self._into.warn((*self._at, key), "has no effect, as in paddle-operator")
        if self._role.get("replicas") is None:
            path = ".".join((*map(str, self._to), "replicas"))
            hint = f"--set {path}=1"
            self._into.refuse((*self._at, "replicas"), "is required", hint, settled_by=(*self._to, "replicas"))
        if self._template.get("metadata"):
            self._into.warn((*self._at, "template", "metadata"), "has no effect: Muster labels jobs, not tasks")

    def _pod(self) -> None:
        for key, value in self.pod.items():
            source = (*self._pod_at, key)
            match key:
                case "containers" | "volumes":
                    pass
                case "nodeSelector":
                    self._node_selector(self._into.mapping(value, source), source)
                case "restartPolicy" if value in ("OnFailure", "Always"):
                    self._into.warn(source, f"{value} has no effect: tasks end together", "--set retry.max=3")
                case "schedulerName" if value != "volcano":
                    self._into.warn(source, f"{value!r} has no effect: Muster schedules by itself")
                case "restartPolicy" | "schedulerName":
                    pass  # never restarted and started as a gang: what Muster does anyway
                case _:
                    self._left_out(key, source)
        for place in range(1, len(self._containers)):
            self._into.refuse((*self._pod_at, "containers", place), "Muster runs one container a task")

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
                self.node_labels[label] = (str(_text(value)), source)

    def _command(self) -> None:
        source, target = (*self.at, "command"), (*self._to, "command")
        words: list[Any] = []
        for key in ("command", "args"):
            given = self._into.listed(self.container.get(key), (*self.at, key))
            self._references(given, (*self.at, key))
            words += given
        self._into.trace(target, source)
        if self.container.get("command"):
            self._into.put(target, [_text(word) for word in words], source)
        elif words or not self.image:
            hint = f"--set roles.{self.name}.command='python train.py' names it"
            why = "arguments alone need a command to be added to" if words else "there is no image with an entry point"
            self._into.refuse(source, f"is required: {why}", hint, settled_by=target)

    def _variables(self) -> None:
        for place, variable in enumerate(self._env):
            source: Path = (*self.at, "env", place)
            given = self._into.mapping(variable, source)
            name = str(given.get("name", ""))
            target = (*self._to, "env", name)
            if given.get("valueFrom") is not None:
                hint = f"--set {'.'.join(map(str, target))}=VALUE gives it one"
                self._into.refuse(
                    (*source, "valueFrom"), f"Muster cannot look up the value of {name}", hint, settled_by=target
                )
                continue
            self._into.put(target, _text(given.get("value", "")), (*source, "value"))
            self._references([given.get("value", "")], (*source, "value"))

    def _references(self, words: list[Any], source: Path) -> None:
        own = {str(item.get("name")) for item in self._env if isinstance(item, Mapping)}
        names = [name for word in words if isinstance(word, str) for name in _REFERENCE.findall(word)]
        meant = [name for name in dict.fromkeys(names) if name in own or _GIVEN.fullmatch(name)]
        if meant:
            shown = ", ".join(f"$({name})" for name in meant)
            self._into.warn(source, f"{shown} is left as it is: Muster expands nothing", "use a shell and $NAME")

    def _resources(self) -> None:
        at: Path = (*self.at, "resources")
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

    def _container_rest(self) -> None:
        for key in self.container:
            if key not in ("name", "image", "command", "args", "env", "resources", "volumeMounts"):
                self._left_out(key, (*self.at, key))

    def _left_out(self, key: str, source: Path) -> None:
        if key in _REFUSED:
            self._into.refuse(source, *_REFUSED[key])
        else:
            self._into.warn(source, _WARNED.get(key, "has no effect: Muster does not use it"))


def _gpu_model(label: str) -> str:
    """`nvidia-tesla-p100` is a P100, as nodes call theirs."""
    words = [word for word in re.split(r"[\s_-]+", label) if word and not _GPU_NOISE.fullmatch(word)]
    return "".join(words).upper() or label


def _text(value: Any) -> Any:
    """Kubernetes wants text; a number in the YAML is what people forget to quote."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
