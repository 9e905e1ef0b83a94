"""An OpenPAI job, protocol version 2, as a Muster spec.

A role that has fully succeeded ends the job, as OpenPAI has it, unless its completion says otherwise. Values of secrets
are never repeated in a message.
"""

import re
from typing import Any

from muster.lib.nearest import nearest
from muster.wire.dialects import pai_environment
from muster.wire.dialects.pai_extras import extras
from muster.wire.dialects.pai_templates import Templates
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document, Path

_NO_VIRTUAL_CLUSTER = "default"
_TOP_KEYS = [
    "protocolVersion",
    "name",
    "type",
    "version",
    "contributor",
    "description",
    "prerequisites",
    "parameters",
    "secrets",
    "jobRetryCount",
    "taskRoles",
    "deployments",
    "defaults",
    "extras",
]
_ROLE_KEYS = [
    "instances",
    "completion",
    "taskRetryCount",
    "dockerImage",
    "data",
    "output",
    "script",
    "prerequisites",
    "extraContainerOptions",
    "resourcePerInstance",
    "commands",
]
_RESOURCE_KEYS = ("cpu", "memoryMB", "gpu", "ports")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_COMPLETION_KEYS = {"minFailedInstances": "minFailed", "minSucceededInstances": "minSucceeded"}


def translate(document: Document) -> Translation:
    return _Job(document).translation()


class _Job:
    def __init__(self, document: Document) -> None:
        self._into = Translator(document)
        self._job: dict[str, Any] = document.data
        self._roles = self._into.mapping(self._job.get("taskRoles"), ("taskRoles",))
        self._templates = Templates(self._into, self._job.get("parameters"))
        self._images = self._prerequisites()

    def translation(self) -> Translation:
        self._unknown(self._job, (), _TOP_KEYS)
        self._top()
        if not self._roles:
            self._into.refuse(("taskRoles",), "is required", "at least one role", settled_by=("command",))
        deployment = self._deployment()
        for name, role in self._roles.items():
            at: Path = ("taskRoles", name)
            self._role(name, self._into.mapping(role, at), deployment)
        self._image()
        pai_environment.of_job(self._into, self._role_names())
        extras(self._into, self._job.get("extras"))
        return self._into.translation()

    def _top(self) -> None:
        self._into.trace(("name",), ("name",))
        for key, target in (
            ("name", ("name",)),
            ("description", ("description",)),
            ("jobRetryCount", ("retry", "max")),
        ):
            if self._job.get(key) is not None:
                self._into.put(target, self._job[key], (key,))
        if self._job.get("type") != "job":
            self._into.refuse(("type",), f"is {self._job.get('type')!r}", "a job has `type: job`")
        if self._job.get("secrets"):
            self._into.refuse(("secrets",), "Muster keeps no secrets yet", "read them from a file on the nodes")
        defaults = self._into.mapping(self._job.get("defaults"), ("defaults",))
        cluster = defaults.get("virtualCluster")
        if cluster not in (None, _NO_VIRTUAL_CLUSTER):
            self._into.put(("cluster",), cluster, ("defaults", "virtualCluster"), "--cluster NAME chooses another")

    def _prerequisites(self) -> dict[str, tuple[str, Path]]:
        """Images by name. Everything else that OpenPAI prepares before a task is refused, each by itself."""
        images: dict[str, tuple[str, Path]] = {}
        for place, given in enumerate(self._into.listed(self._job.get("prerequisites"), ("prerequisites",))):
            source: Path = ("prerequisites", place)
            prerequisite = self._into.mapping(given, source)
            kind, name = prerequisite.get("type"), str(prerequisite.get("name"))
            if kind != "dockerimage":
                self._into.refuse(source, f"Muster does not prepare the {kind} {name!r}", "do it in the commands")
                continue
            images[name] = (str(prerequisite.get("uri")), (*source, "uri"))
            if prerequisite.get("auth") is not None:
                hint = "let the nodes log in to the registry, and say --set runtime.image=NAME"
                at = (*source, "auth")
                self._into.refuse(at, "Muster keeps no credentials", hint, settled_by=("runtime", "image"))
            if prerequisite.get("callbacks"):
                self._into.refuse((*source, "callbacks"), "Muster runs no callbacks", "put them in the commands")
        return images

    def _image(self) -> None:
        """One image for the job: Muster's runtime is the same for all roles."""
        chosen: dict[str, tuple[str, Path]] = {}
        for name, role in self._roles.items():
            wanted = role.get("dockerImage") if isinstance(role, dict) else None
            source: Path = ("taskRoles", name, "dockerImage")
            if wanted is None:
                continue
            if str(wanted) not in self._images:
                message = f"there is no dockerimage {wanted!r} among the prerequisites"
                self._into.refuse(source, message, settled_by=("runtime", "image"))
                continue
            uri, at = self._images[str(wanted)]
            if chosen and uri not in chosen:
                message = f"differs from that of {next(iter(chosen.values()))[0]}, and a Muster job has one image"
                hint = "choose one with --set runtime.image=NAME"
                self._into.refuse(source, message, hint, settled_by=("runtime", "image"))
            chosen.setdefault(uri, (name, at))
        for uri, (_, at) in list(chosen.items())[:1]:
            hint = "--set runtime.image=null keeps everything else and runs the commands with the nodes' own programs"
            self._into.put(("runtime", "image"), uri, at, hint)

    def _deployment(self) -> dict[str, Any]:
        """What the chosen deployment adds, by role."""
        name = self._into.mapping(self._job.get("defaults"), ("defaults",)).get("deployment")
        if name is None:
            return {}
        for place, given in enumerate(self._into.listed(self._job.get("deployments"), ("deployments",))):
            if isinstance(given, dict) and given.get("name") == name:
                return self._into.mapping(given.get("taskRoles"), ("deployments", place, "taskRoles"))
        self._into.refuse(("defaults", "deployment"), f"there is no deployment {name!r}")
        return {}

    def _role(self, name: str, role: dict[str, Any], deployment: dict[str, Any]) -> None:
        at: Path = ("taskRoles", name)
        to: Path = ("roles", name)
        self._unknown(role, at, _ROLE_KEYS)
        self._into.trace(to, at)
        if not _WORD.fullmatch(name):
            self._into.refuse(at, f"{name!r} is not a valid role name", "letters, digits and '_', no digit first")
        self._into.put((*to, "replicas"), role.get("instances", 1), (*at, "instances"))
        self._completion(role.get("completion"), at, to)
        labels = self._resources(role.get("resourcePerInstance"), at, to)
        self._commands(name, role, deployment.get(name), labels)
        if role.get("taskRetryCount"):
            self._into.warn(
                (*at, "taskRetryCount"), "has no effect: a job is tried again as a whole", "--set retry.max=3"
            )
        for key in self._into.mapping(role.get("extraContainerOptions"), (*at, "extraContainerOptions")):
            self._into.warn((*at, "extraContainerOptions", key), "has no effect: Muster does not use it")

    def _completion(self, given: Any, at: Path, to: Path) -> None:
        """0 and null mean the default there as here; the default of successes is all instances there."""
        completion = self._into.mapping(given, (*at, "completion"))
        self._unknown(completion, (*at, "completion"), list(_COMPLETION_KEYS))
        for key, target in _COMPLETION_KEYS.items():
            if completion.get(key):
                self._into.put((*to, target), completion[key], (*at, "completion", key))
        if not completion.get("minSucceededInstances"):
            self._into.copy((*to, "minSucceeded"), (*to, "replicas"))

    def _resources(self, given: Any, at: Path, to: Path) -> dict[str, int]:
        """Translates the resources; answers how many ports each label wants, `http` first as it is always given."""
        at = (*at, "resourcePerInstance")
        resources = self._into.mapping(given, at)
        self._unknown(resources, at, _RESOURCE_KEYS)
        for key in ("cpu", "memoryMB", "gpu"):
            target = (*to, "resources", key.removesuffix("MB"))
            if resources.get(key) is None:
                hint = f"--set {'.'.join(map(str, target))}=VALUE"
                self._into.refuse((*at, key), "is required", hint, settled_by=target)
            else:
                value = f"{resources[key]}Mi" if key == "memoryMB" else resources[key]
                self._into.put(target, value, (*at, key))
        asked = self._into.mapping(resources.get("ports"), (*at, "ports"))
        wrong = [k for k, count in asked.items() if not (_WORD.fullmatch(k) and isinstance(count, int) and count > 0)]
        for label in wrong:
            self._into.refuse((*at, "ports", label), f"is {asked[label]!r}", "a plain label and a number of ports")
        labels = {"http": 1} | {label: count for label, count in asked.items() if label not in wrong}
        self._into.put((*to, "ports"), sum(labels.values()), (*at, "ports"))
        return labels

    def _commands(self, name: str, role: dict[str, Any], added: Any, labels: dict[str, int]) -> None:
        at: Path = ("taskRoles", name, "commands")
        own = self._into.listed(role.get("commands"), at)
        if not own:
            self._into.refuse(at, "is required", settled_by=("roles", name, "command"))
            return
        around = added if isinstance(added, dict) else {}
        before, after = (
            self._into.listed(around.get(key), ("deployments",)) for key in ("preCommands", "postCommands")
        )
        lines = [*before, *own, *after]
        script = "\n".join(self._templates.filled(str(line).strip(), at) for line in lines)
        exports = pai_environment.of_task(self._role_names(), labels)
        self._into.put(("roles", name, "command"), ["bash", "-c", f"{exports}\n{script}"], at)
        self._into.put(("roles", name, "env", "PAI_CURRENT_TASK_ROLE_NAME"), name, at)

    def _role_names(self) -> list[str]:
        return [name for name in self._roles if _WORD.fullmatch(name)]

    def _unknown(self, given: dict[str, Any], at: Path, known: Any) -> None:
        for key in given:
            if key not in known:
                guess = nearest(key, known)
                hint = f"did you mean {guess}?" if guess else f"known keys: {', '.join(known)}"
                self._into.refuse((*at, key), "unknown key", hint)
