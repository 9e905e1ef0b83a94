"""An OpenPAI job, protocol version 2, as a Muster spec.

A role that has fully succeeded ends the job, as OpenPAI has it, unless its completion says otherwise. Values of secrets
are never repeated in a message.
"""

import re
from typing import Any

from muster.domain.specs import IMAGE_WORKDIR, Framework
from muster.wire.dialects.openpai import pai_environment
from muster.wire.dialects.openpai.pai_commands import STRICT, task_command
from muster.wire.dialects.openpai.pai_environment import Labels
from muster.wire.dialects.openpai.pai_extras import extras
from muster.wire.dialects.openpai.pai_plugins import Plugins
from muster.wire.dialects.openpai.pai_prerequisites import Prerequisites
from muster.wire.dialects.openpai.pai_secrets import PaiSecrets
from muster.wire.dialects.openpai.pai_templates import Templates
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document, Path

NO_VIRTUAL_CLUSTER = "default"
NO_IMAGE_HINT = "--set runtime.image=null keeps everything else and runs the commands with the nodes' own programs"
_LONGEST_DESCRIPTION = 4096
_JOB_NAME = "$MUSTER_OWNER~$MUSTER_JOB_NAME"
STATES = {
    "Queued": "WAITING",
    "Held": "WAITING",
    "Starting": "WAITING",
    "Running": "RUNNING",
    "Stopping": "RUNNING",
    "Succeeded": "SUCCEEDED",
    "Failed": "FAILED",
    "Cancelled": "STOPPED",
}
"""What OpenPAI calls the states of a job. One that somebody stops is STOPPING meanwhile."""
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
        given = self._into.mapping(self._job.get("taskRoles"), ("taskRoles",))
        self._roles = {name: self._into.mapping(role, ("taskRoles", name)) for name, role in given.items()}
        self._extras = self._into.mapping(self._job.get("extras"), ("extras",))
        self._secrets = PaiSecrets(self._into, self._job.get("secrets"))
        self._templates = Templates(self._into, self._job.get("parameters"), self._secrets)
        self._prerequisites = Prerequisites(self._into, self._job.get("prerequisites"))
        instances = (role.get("instances", 1) for role in self._roles.values())
        task_count = sum(count for count in instances if isinstance(count, int))
        self._plugins = Plugins(self._into, self._extras, task_count)
        self._deployment = self._chosen_deployment()
        self._labels: dict[str, Labels] = {}

    def translation(self) -> Translation:
        self._into.refuse_unknown(self._job, (), _TOP_KEYS)
        self._top()
        if not self._roles:
            self._into.refuse(("taskRoles",), "is required", "at least one role", settled_by=("command",))
        for name, role in self._roles.items():
            self._role(name, role)
        for name in self._labels:
            self._commands(name, self._roles[name])
        self._image()
        self._plugins.of_job(list(self._labels))
        pai_environment.of_job(self._into, list(self._labels), ("taskRoles",))
        extras(self._into, self._extras)
        return self._into.translation()

    def _top(self) -> None:
        self._into.trace(("name",), ("name",))
        for key, target in (("name", ("name",)), ("jobRetryCount", ("retry", "max"))):
            if self._job.get(key) is not None:
                self._into.put(target, self._job[key], (key,))
        self._description(self._job.get("description"))
        # Programs take the variables of a framework for a launcher, and OpenPAI sets none.
        self._into.put(("framework",), str(Framework.NONE), ())
        if self._job.get("type") != "job":
            self._into.refuse(("type",), f"is {self._job.get('type')!r}", "a job has `type: job`")
        defaults = self._into.mapping(self._job.get("defaults"), ("defaults",))
        cluster = defaults.get("virtualCluster")
        if cluster not in (None, NO_VIRTUAL_CLUSTER):
            self._into.put(("cluster",), cluster, ("defaults", "virtualCluster"), "--cluster NAME chooses another")

    def _description(self, given: Any) -> None:
        if given is None:
            return
        if isinstance(given, str) and len(given) > _LONGEST_DESCRIPTION:
            self._into.warn(("description",), f"is cut after {_LONGEST_DESCRIPTION} characters")
            given = given[:_LONGEST_DESCRIPTION]
        self._into.put(("description",), given, ("description",))

    def _image(self) -> None:
        """One image for the job: Muster's runtime is the same for all roles."""
        chosen: dict[str, tuple[str, Any]] = {}
        for name, role in self._roles.items():
            found = self._prerequisites.image(role, ("taskRoles", name))
            if found is None:
                continue
            uri = str(found.given.get("uri"))
            if chosen and uri not in chosen:
                message = f"differs from that of {next(iter(chosen.values()))[0]}, and a Muster job has one image"
                hint = "choose one with --set runtime.image=NAME"
                source: Path = ("taskRoles", name, "dockerImage")
                self._into.refuse(source, message, hint, settled_by=("runtime", "image"))
            chosen.setdefault(uri, (name, found))
        for uri, (_, found) in list(chosen.items())[:1]:
            self._into.put(("runtime", "image"), uri, (*found.at, "uri"), NO_IMAGE_HINT)
            self._into.put(("runtime", "workdir"), IMAGE_WORKDIR, (*found.at, "uri"))
            if found.given.get("auth") is not None:
                self._secrets.registry(found.given["auth"], (*found.at, "auth"))

    def _chosen_deployment(self) -> dict[str, Any]:
        """What the chosen deployment adds, by role."""
        name = self._into.mapping(self._job.get("defaults"), ("defaults",)).get("deployment")
        found: dict[str, Path] = {}
        roles: dict[str, Any] = {}
        for place, given in enumerate(self._into.listed(self._job.get("deployments"), ("deployments",))):
            at: Path = ("deployments", place)
            deployment = self._into.mapping(given, at)
            own = str(deployment.get("name"))
            if own in found:
                self._into.refuse(at, f"there are two deployments {own!r}", "give each a name of its own")
            elif own == name:
                roles = self._into.mapping(deployment.get("taskRoles"), (*at, "taskRoles"))
            found[own] = at
        if name is not None and str(name) not in found:
            self._into.refuse(("defaults", "deployment"), f"there is no deployment {name!r}")
        return roles

    def _role(self, name: str, role: dict[str, Any]) -> None:
        at: Path = ("taskRoles", name)
        to: Path = ("roles", name)
        self._into.refuse_unknown(role, at, _ROLE_KEYS)
        self._into.trace(to, at)
        if not _WORD.fullmatch(name):
            self._into.refuse(at, f"{name!r} is not a valid role name", "letters, digits and '_', no digit first")
            return
        twin = next((other for other in self._labels if other.upper() == name.upper()), None)
        if twin is not None:
            self._into.refuse(at, f"differs from {twin!r} only in its case", "rename one of the roles")
        self._into.put((*to, "replicas"), role.get("instances", 1), (*at, "instances"))
        self._completion(role.get("completion"), at, to)
        self._labels[name] = self._resources(role, at, to)
        if role.get("taskRetryCount"):
            self._into.warn(
                (*at, "taskRetryCount"), "has no effect: a job is tried again as a whole", "--set retry.max=3"
            )
        for key in self._into.mapping(role.get("extraContainerOptions"), (*at, "extraContainerOptions")):
            self._into.warn((*at, "extraContainerOptions", key), "has no effect: Muster does not use it")

    def _completion(self, given: Any, at: Path, to: Path) -> None:
        """0 and null mean the default there as here; the default of successes is all instances there."""
        completion = self._into.mapping(given, (*at, "completion"))
        self._into.refuse_unknown(completion, (*at, "completion"), list(_COMPLETION_KEYS))
        self._into.put((*to, "minFailed"), 1, at)
        for key, target in _COMPLETION_KEYS.items():
            if completion.get(key):
                self._into.put((*to, target), completion[key], (*at, "completion", key))
        if not completion.get("minSucceededInstances"):
            self._into.copy((*to, "minSucceeded"), (*to, "replicas"))

    def _resources(self, role: dict[str, Any], at: Path, to: Path) -> Labels:
        """Translates the resources; answers how many ports each label wants: `http` and `ssh` are always given."""
        options = role.get("extraContainerOptions")
        at = (*at, "resourcePerInstance")
        resources = self._into.mapping(role.get("resourcePerInstance"), at)
        self._into.refuse_unknown(resources, at, _RESOURCE_KEYS)
        for key in ("cpu", "memoryMB", "gpu"):
            target = (*to, "resources", key.removesuffix("MB"))
            if resources.get(key) is None:
                hint = f"--set {'.'.join(map(str, target))}=VALUE"
                self._into.refuse((*at, key), "is required", hint, settled_by=target)
            else:
                value = f"{resources[key]}Mi" if key == "memoryMB" else resources[key]
                self._into.put(target, value, (*at, key))
        shm = options.get("shmMB", 0) if isinstance(options, dict) else 0
        shown = ",".join(str(resources.get(key, 0)) for key in ("gpu", "cpu", "memoryMB"))
        self._into.put(("env", f"PAI_RESOURCE_{to[1]}"), f"{shown},{shm}", at)
        asked = self._into.mapping(resources.get("ports"), (*at, "ports"))
        wrong = [k for k, count in asked.items() if not (_WORD.fullmatch(k) and isinstance(count, int) and count > 0)]
        for label in wrong:
            self._into.refuse(
                (*at, "ports", label), f"is {asked[label]!r}"[:200], "a plain label and a number of ports"
            )
        good = {label: count for label, count in asked.items() if label not in wrong}
        labels = pai_environment.bounded(self._into, {**pai_environment.ALWAYS, **good}, (*at, "ports"))
        self._into.put((*to, "ports"), sum(labels.values()), (*at, "ports"))
        return labels

    def _commands(self, name: str, role: dict[str, Any]) -> None:
        at: Path = ("taskRoles", name)
        templates = self._templates.of_role(self._prerequisites.templates(role, at))
        around = self._plugins.around(name, self._prerequisites.with_plugins(role, at), templates)
        at = (*at, "commands")
        own = self._into.listed(role.get("commands"), at)
        if not own:
            self._into.refuse(at, "is required", settled_by=("roles", name, "command"))
            return
        added = self._deployment.get(name)
        before, after = (
            self._into.listed(added.get(key) if isinstance(added, dict) else None, ("deployments",))
            for key in ("preCommands", "postCommands")
        )
        lines = [*before, *own, *after]
        for line in lines:
            if not isinstance(line, str):
                self._into.refuse(at, f"{line!r} is not text"[:200], "put it in quotation marks")
        script = "\n".join(templates.filled(str(line).strip(), at) for line in lines)
        preamble = pai_environment.of_task(_JOB_NAME, self._labels, name)
        self._into.spend(sum(map(len, preamble)), at)
        command = task_command(preamble, script, STRICT, around, templates.secrets)
        self._into.put(("roles", name, "command"), command, at)
