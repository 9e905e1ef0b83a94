"""An OpenPAI job, protocol version 1, as a Muster spec: the JSON that versions before 1.0 take.

Its tasks read the same PAI_* variables as those of protocol 2. Its commands run in a plain bash, without errexit.
"""

import re
from collections.abc import Mapping
from typing import Any

from muster.domain.specs import IMAGE_WORKDIR, Framework
from muster.wire.dialects.openpai import pai_environment
from muster.wire.dialects.openpai.pai_commands import Around, task_command
from muster.wire.dialects.openpai.pai_environment import Labels
from muster.wire.dialects.openpai.protocol import NO_IMAGE_HINT, NO_VIRTUAL_CLUSTER
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document, Path

_TOP_KEYS = (
    *("jobName", "image", "authFile", "dataDir", "outputDir", "codeDir", "virtualCluster", "taskRoles", "gpuType"),
    *("retryCount", "killAllOnCompletedTaskNumber", "jobEnvs", "extras"),
)
_ROLE_KEYS = (
    *("name", "taskNumber", "cpuNumber", "memoryMB", "shmMB", "gpuNumber", "portList", "command"),
    *("minFailedTaskCount", "minSucceededTaskCount"),
)
_FOLDERS = {"dataDir": "PAI_DATA_DIR", "outputDir": "PAI_OUTPUT_DIR", "codeDir": "PAI_CODE_DIR"}
_FILE_SYSTEM = "$PAI_DEFAULT_FS_URI"
"""What OpenPAI itself replaces in the addresses of folders."""
_DEFAULT_CPUS, _DEFAULT_MEMORY_MB, _DEFAULT_SHM_MB = 1, 100, 64
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def recognizes(data: Mapping[str, Any]) -> bool:
    return "protocolVersion" not in data and "jobName" in data and "taskRoles" in data


def translate(document: Document) -> Translation:
    return _Job(document).translation()


class _Job:
    def __init__(self, document: Document) -> None:
        self._into = Translator(document)
        self._job: dict[str, Any] = document.data
        given = enumerate(self._into.listed(self._job["taskRoles"], ("taskRoles",)))
        roles = [(self._into.mapping(item, ("taskRoles", place)), ("taskRoles", place)) for place, item in given]
        self._roles: list[tuple[dict[str, Any], Path]] = [(role, at) for role, at in roles if role]
        self._labels: dict[str, Labels] = {}

    def translation(self) -> Translation:
        self._into.refuse_unknown(self._job, (), _TOP_KEYS)
        self._top()
        self._folders()
        if not self._roles:
            self._into.refuse(("taskRoles",), "is empty", "at least one role", settled_by=("command",))
        named = [(role, at) for role, at in self._roles if self._is_named(role, at)]
        for role, at in named:
            self._labels[role["name"]] = self._ports(role, at)
        for role, at in named:
            self._role(role["name"], role, at)
        pai_environment.of_job(self._into, list(self._labels), ("taskRoles",))
        return self._into.translation()

    def _top(self) -> None:
        self._into.trace(("name",), ("jobName",))
        self._into.put(("name",), self._job.get("jobName"), ("jobName",))
        self._into.put(("framework",), str(Framework.NONE), ())
        retries = self._job.get("retryCount")
        if retries in (-1, -2):
            self._into.refuse(("retryCount",), f"is {retries}: retried without end", settled_by=("retry", "max"))
        elif retries:
            self._into.put(("retry", "max"), retries, ("retryCount",))
        if self._job.get("virtualCluster") not in (None, NO_VIRTUAL_CLUSTER):
            hint = "--cluster NAME chooses another"
            self._into.put(("cluster",), self._job["virtualCluster"], ("virtualCluster",), hint)
        if self._job.get("image") is None:
            self._into.refuse(("image",), "is required", settled_by=("runtime", "image"))
        else:
            self._into.put(("runtime", "image"), self._job["image"], ("image",), NO_IMAGE_HINT)
        if self._job.get("authFile"):
            hint = (
                "store docker's config.json as a secret, and say --set runtime.pullSecret=NAME, or null to pull without"
            )
            message = "Muster does not read credentials from a file system of OpenPAI"
            self._into.refuse(("authFile",), message, hint, settled_by=("runtime", "pullSecret"))
        if self._job.get("killAllOnCompletedTaskNumber") is not None:
            self._into.warn(("killAllOnCompletedTaskNumber",), "has no effect, in OpenPAI either")
        for key in self._into.mapping(self._job.get("jobEnvs"), ("jobEnvs",)):
            self._into.warn(("jobEnvs", key), "has no effect: it asks the platform for something that Muster has not")

    def _folders(self) -> None:
        """Folders are addresses that the commands read. The code is copied to where they start, as a package is."""
        for key, variable in _FOLDERS.items():
            given = self._job.get(key)
            if isinstance(given, str) and _FILE_SYSTEM in given:
                message = f"{_FILE_SYSTEM} is the file system of OpenPAI, which Muster does not have"
                self._into.refuse((key,), message, f"--set env.{variable}=ADDRESS", settled_by=("env", variable))
            if given:
                self._into.put(("env", variable), given, (key,))
        if self._job.get("codeDir"):
            message = "Muster does not fetch the code from a file system of OpenPAI"
            self._into.refuse(
                ("codeDir",), message, "--set package=DIR sends a folder of yours", settled_by=("package",)
            )
        elif self._job.get("image") is not None:
            self._into.put(("runtime", "workdir"), IMAGE_WORKDIR, ("image",))

    def _is_named(self, role: dict[str, Any], at: Path) -> bool:
        name, taken = role.get("name"), {other.upper() for other in self._labels}
        self._into.refuse_unknown(role, at, _ROLE_KEYS)
        if not isinstance(name, str) or not _WORD.fullmatch(name):
            hint = "letters, digits and '_', no digit first; others cannot be in the name of a variable"
            self._into.refuse((*at, "name"), f"{name!r} is not a name of a role that Muster can give"[:200], hint)
            return False
        if name.upper() in taken:
            self._into.refuse((*at, "name"), f"there are two roles {name!r}", "give each a name of its own")
            return False
        self._labels[name] = {}
        return True

    def _role(self, name: str, role: dict[str, Any], at: Path) -> None:
        to: Path = ("roles", name)
        self._into.trace(to, at)
        self._into.put((*to, "replicas"), role.get("taskNumber", 1), (*at, "taskNumber"))
        cpus, memory = role.get("cpuNumber", _DEFAULT_CPUS), role.get("memoryMB", _DEFAULT_MEMORY_MB)
        gpus, shm = role.get("gpuNumber", 0), role.get("shmMB", _DEFAULT_SHM_MB)
        self._into.put((*to, "resources", "cpu"), cpus, (*at, "cpuNumber"))
        self._into.put((*to, "resources", "memory"), f"{memory}Mi", (*at, "memoryMB"))
        self._into.put((*to, "resources", "gpu"), gpus, (*at, "gpuNumber"))
        if self._job.get("gpuType") and gpus:
            self._into.put((*to, "resources", "gpuType"), self._job["gpuType"], ("gpuType",))
        if "shmMB" in role:
            self._into.warn((*at, "shmMB"), "has no effect: Muster does not use it")
        self._into.put(("env", f"PAI_RESOURCE_{name}"), f"{gpus},{cpus},{memory},{shm}", at)
        self._completion(role, at, to)
        self._into.put((*to, "ports"), sum(self._labels[name].values()), (*at, "portList"))
        self._command(name, role, at)

    def _completion(self, role: dict[str, Any], at: Path, to: Path) -> None:
        """Null means never here, and the absence of a number of successes, that all tasks have to end."""
        failed = role.get("minFailedTaskCount", 1)
        self._into.put((*to, "minFailed"), -1 if failed is None else failed, (*at, "minFailedTaskCount"))
        succeeded = role.get("minSucceededTaskCount")
        self._into.put((*to, "minSucceeded"), -1 if succeeded is None else succeeded, (*at, "minSucceededTaskCount"))

    def _ports(self, role: dict[str, Any], at: Path) -> Labels:
        labels = dict(pai_environment.ALWAYS)
        at = (*at, "portList")
        for place, item in enumerate(self._into.listed(role.get("portList"), at)):
            port = self._into.mapping(item, (*at, place))
            label, count = port.get("label"), port.get("portNumber", 1)
            if not (isinstance(label, str) and _WORD.fullmatch(label) and isinstance(count, int) and count > 0):
                self._into.refuse((*at, place), f"is {port!r}"[:200], "a plain label and a number of ports")
                continue
            if port.get("beginAt"):
                self._into.warn((*at, place, "beginAt"), "has no effect: the ports are free ones, which PAI_* names")
            labels[label] = count
        return pai_environment.bounded(self._into, labels, at)

    def _command(self, name: str, role: dict[str, Any], at: Path) -> None:
        given = role.get("command")
        if not isinstance(given, str) or not given.strip():
            self._into.refuse((*at, "command"), "is required", settled_by=("roles", name, "command"))
            return
        preamble = pai_environment.of_task("$MUSTER_JOB_NAME", self._labels, name)
        self._into.spend(sum(map(len, preamble)), at)
        command = task_command(preamble, given, "", Around(), {})
        self._into.put(("roles", name, "command"), command, (*at, "command"))
